package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"agentgateway-lock/cmd/mockupstream/upstream"
	"agentgateway-lock/e2e/approved"
	"agentgateway-lock/e2e/gatewaydouble"
	"agentgateway-lock/pkg/crawl"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/serve"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// patience is how long a test waits for what has to happen soon.
const patience = 20 * time.Second

// stage is a mock upstream that was locked, approved and sealed, a processor that
// serves from the tag, and a gateway in front of both.
type stage struct {
	t        *testing.T
	upstream *upstream.Server
	repo     *approved.Repository
	daemon   *serve.Daemon
	gateway  gatewaydouble.Front
	config   gatewaydouble.Config
	socket   string
	state    string
	log      *syncBuffer // the decision log
	admin    string
	stop     func()
	tags     int
}

// setting changes how a stage is built.
type setting struct {
	unsigned bool
	daemon   func(*serve.DaemonConfig)
	gateway  func(*gatewaydouble.Config)
	upstream upstream.Options
	probe    time.Duration // 0 for no probes
	later    bool          // do not start the processor
}

const mock = "mock"

// newStage builds a stage: everything the mock upstream shows is approved.
func newStage(t *testing.T, s setting) *stage {
	t.Helper()
	ctx := t.Context()
	st := &stage{t: t, upstream: upstream.New(s.upstream), log: &syncBuffer{}, stop: func() {}}
	t.Cleanup(func() { _ = st.upstream.Close() })
	url, err := st.upstream.Start(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if st.repo, err = approved.New(ctx, t.TempDir(), s.unsigned); err != nil {
		t.Fatal(err)
	}
	st.lock(mock, url)
	if !s.unsigned {
		st.decide(trust.Approve)
	}
	st.seal()
	folder := shortDir(t)
	st.socket, st.state = filepath.Join(folder, "p.sock"), filepath.Join(folder, "state")
	if !s.later {
		st.serve(s)
	}
	st.config = gatewaydouble.Config{
		Targets:    []gatewaydouble.Target{{Name: mock, URL: url}},
		Processors: []gatewaydouble.Processor{{Host: "unix:" + st.socket, Methods: hookMethods(), DisallowedHeaders: []string{"authorization", "cookie"}}},
	}
	if s.gateway != nil {
		s.gateway(&st.config)
	}
	if st.gateway, err = gatewaydouble.Start(ctx, st.config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.gateway.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// shortDir is a folder whose name leaves room for a socket's.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agw") //nolint:usetesting // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// hookMethods is how the documented configuration hooks the gateway.
func hookMethods() map[string]gatewaydouble.Phase {
	methods := map[string]gatewaydouble.Phase{}
	for _, h := range processor.Hooks() {
		methods[h.Method] = gatewaydouble.Phase(h.Phase)
	}
	return methods
}

func (st *stage) lock(name, url string) {
	st.t.Helper()
	if err := st.repo.Lock(st.t.Context(), name, url); err != nil {
		st.t.Fatal(err)
	}
}

func (st *stage) decide(action trust.Action, keys ...surface.Key) {
	st.t.Helper()
	if err := st.repo.Decide(st.t.Context(), action, keys...); err != nil {
		st.t.Fatal(err)
	}
}

// seal commits what stands, and seals it with the next tag.
func (st *stage) seal() {
	st.t.Helper()
	st.tags++
	name := fmt.Sprintf("lock/v%d", st.tags)
	var err error
	if st.repo.Chain != nil {
		err = st.repo.Tag(st.t.Context(), name)
	} else if _, err = st.repo.Commit(st.t.Context(), name); err == nil {
		_, err = st.repo.Git(st.t.Context(), "tag", name)
	}
	if err != nil {
		st.t.Fatal(err)
	}
}

// serve starts a processor and waits until it is ready.
func (st *stage) serve(s setting) {
	st.t.Helper()
	st.start(s)
	st.until("the processor is ready", func() bool { ready, _ := st.daemon.Ready(); return ready })
}

// start starts a processor.
func (st *stage) start(s setting) {
	st.t.Helper()
	config := serve.DaemonConfig{
		Origin:   serve.Origin{Repo: st.repo.Dir, Ref: "lock/v*", TrustRoot: st.repo.Root(), Unsigned: s.unsigned},
		StateDir: st.state, Refresh: 50 * time.Millisecond, WatchEvery: 20 * time.Millisecond,
		Options:  processor.Options{MaxEvidenceAge: 24 * time.Hour},
		Listener: serve.Listener{Address: "unix:" + st.socket}, Admin: "127.0.0.1:0",
		VerdictLog: st.log, Log: slog.New(slog.NewTextHandler(st.log, nil)),
	}
	if s.unsigned {
		config.Origin.Require = seal.RequireNone
	}
	if s.probe > 0 {
		config.Prober = serve.NewProber(serve.ProbeOptions{
			Lister: crawl.New(crawl.Options{}), Every: s.probe, First: 10 * time.Second,
			Lookup: func(string) (string, bool) { return "", false }, Log: config.Log,
		})
	}
	if s.daemon != nil {
		s.daemon(&config)
	}
	daemon, err := serve.NewDaemon(st.t.Context(), config)
	if err != nil {
		st.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- daemon.Run(ctx, nil) }()
	st.daemon, st.admin = daemon, daemon.AdminAddress()
	st.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			st.t.Error(err)
		}
	})
	st.t.Cleanup(st.stop)
}

// until waits for a condition.
func (st *stage) until(what string, ok func() bool) {
	st.t.Helper()
	waitUntil(st.t, what, ok)
}

func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// reloaded seals what stands and waits until the processor serves it.
func (st *stage) reloaded() {
	st.t.Helper()
	st.seal()
	tag := fmt.Sprintf("lock/v%d", st.tags)
	st.until("the processor serves from "+tag, func() bool {
		l := st.daemon.Refresher().Loaded()
		return l != nil && l.Tag == tag
	})
}

// reasons are the codes that /readyz gives.
func (st *stage) reasons() map[string]string {
	st.t.Helper()
	var body struct {
		Ready   bool
		Reasons []serve.Reason
	}
	st.get("/readyz", &body)
	codes := map[string]string{}
	for _, r := range body.Reasons {
		codes[r.Code] = r.Detail
	}
	return codes
}

func (st *stage) get(path string, into any) {
	st.t.Helper()
	response, err := http.Get("http://" + st.admin + path)
	if err != nil {
		st.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		st.t.Fatal(err)
	}
	if text, ok := into.(*string); ok {
		*text = string(data)
		return
	}
	if err := json.Unmarshal(data, into); err != nil {
		st.t.Fatal(err)
	}
}

// agent is an MCP client behind the gateway.
type agent struct {
	t       testing.TB
	session *mcp.ClientSession
}

func (st *stage) agent() *agent { return newAgent(st.t, st.gateway.URL(), nil) }

// newAgent connects the official client; header is added to what it sends.
func newAgent(t testing.TB, url string, header http.Header) *agent {
	t.Helper()
	web := &http.Client{Transport: &dressed{&http.Transport{}, header}}
	t.Cleanup(web.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: web}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &agent{t, session}
}

// dressed adds headers to requests.
type dressed struct {
	http.RoundTripper
	header http.Header
}

func (d *dressed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, d.header)
	return d.RoundTripper.RoundTrip(r)
}

// tools are the names that the agent sees, sorted.
func (a *agent) tools() []string {
	a.t.Helper()
	list, err := a.session.ListTools(a.t.Context(), nil)
	if err != nil {
		a.t.Fatal(err)
	}
	names := []string{}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// refusal is what a denied request is told.
type refusal struct {
	Code, Server, Kind, Name, Approved, Seen, Hint string

	reason string
}

// call calls a tool and returns why it was denied; nil where it was answered.
func (a *agent) call(tool string, arguments map[string]any) *refusal {
	a.t.Helper()
	_, err := a.session.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	return refused(a.t, err)
}

func refused(t testing.TB, err error) *refusal {
	t.Helper()
	if err == nil {
		return nil
	}
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) {
		t.Fatalf("not a JSON-RPC error: %v", err)
	}
	r := &refusal{reason: rpc.Message}
	if json.Unmarshal(rpc.Data, r) != nil {
		t.Fatalf("%#v with the data %s", rpc, rpc.Data)
	}
	return r
}

func (a *agent) echo() *refusal {
	a.t.Helper()
	return a.call("echo", map[string]any{"message": "hello"})
}

// wantTools holds what an agent sees.
func (a *agent) wantTools(names ...string) {
	a.t.Helper()
	slices.Sort(names)
	if got := a.tools(); !slices.Equal(got, names) {
		a.t.Errorf("the agent sees %q, want %q", got, names)
	}
}

// wantDenied holds that something was denied with a code.
func wantDenied(t testing.TB, r *refusal, code processor.Code) {
	t.Helper()
	switch {
	case r == nil:
		t.Errorf("it was answered, want a denial with the code %s", code)
	case r.Code != string(code):
		t.Errorf("it was denied with the code %s, want %s: %s", r.Code, code, r.reason)
	}
}

func wantAllowed(t testing.TB, r *refusal) {
	t.Helper()
	if r != nil {
		t.Errorf("it was denied with the code %s: %s", r.Code, r.reason)
	}
}

// syncBuffer is a buffer that several goroutines write to.
type syncBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

func (b *syncBuffer) holds(text string) bool { return strings.Contains(b.String(), text) }
