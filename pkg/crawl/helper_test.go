package crawl

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agentgateway-lock/cmd/mockupstream/upstream"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if mockDir != "" {
		_ = os.RemoveAll(mockDir)
	}
	if err := goleak.Find(); code == 0 && err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		code = 1
	}
	os.Exit(code)
}

var mockDir string

// mockCommand builds the mock server once and returns its path.
var mockCommand = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "crawl")
	if err != nil {
		return "", err
	}
	mockDir = dir
	path := filepath.Join(dir, "mockupstream")
	out, err := exec.Command("go", "build", "-o", path, "agentgateway-lock/cmd/mockupstream").CombinedOutput()
	if err != nil {
		_, _ = os.Stderr.Write(out)
	}
	return path, err
})

// stdioEndpoint is the mock server over stdio.
func stdioEndpoint(t testing.TB, flags ...string) Endpoint {
	t.Helper()
	path, err := mockCommand()
	if err != nil {
		t.Fatal(err)
	}
	return Endpoint{Name: "mock", Transport: source.Stdio, Command: path, Args: append([]string{"--stdio"}, flags...)}
}

// inProcess is a Starter that serves stdio from this process.
func inProcess(s *upstream.Server) Starter {
	return func(ProcessSpec) (*Process, error) {
		ctx, cancel := context.WithCancel(context.Background())
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.ServeStdio(ctx, inR, outW)
			_ = outW.Close()
		}()
		return &Process{
			Stdin: inW, Stdout: outR, Stderr: io.NopCloser(strings.NewReader("")), Done: done,
			Status: func() string { return "exit status 0" },
			Stop: func(bool) {
				_ = inW.Close()
				_ = outR.Close()
				cancel()
				<-done
			},
		}, nil
	}
}

// everyTransport runs a test over each transport and both ways of answering.
func everyTransport(t *testing.T, test func(t *testing.T, s *upstream.Server, l *Lister, endpoint Endpoint)) {
	for name, opts := range map[string]upstream.Options{
		"http": {}, "stream": {Stream: true}, "legacy": {NoDiscover: true}, "sse": {SSEOnly: true}, "stdio": {},
	} {
		t.Run(name, func(t *testing.T) {
			s, endpoint := serve(t, opts)
			l := lister()
			switch name {
			case "sse":
				endpoint.Transport, endpoint.URL = source.SSE, s.SSEURL()
			case "stdio":
				endpoint = Endpoint{Name: "mock", Transport: source.Stdio, Command: "mock"}
				l = lister(func(o *Options) { o.Start = inProcess(s) })
			}
			test(t, s, l, endpoint)
		})
	}
}

// serve starts a mock server over HTTP.
func serve(t testing.TB, opts upstream.Options) (*upstream.Server, Endpoint) {
	t.Helper()
	s := upstream.New(opts)
	if _, err := s.Start(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, Endpoint{Name: "mock", Transport: source.HTTP, URL: s.URL(), AllowPrivate: true}
}

// lister is one with limits that tests can wait for.
func lister(change ...func(*Options)) *Lister {
	opts := Options{Environ: os.Environ(), Limits: Limits{StartTimeout: 20 * time.Second, Timeout: 20 * time.Second}}
	for _, c := range change {
		c(&opts)
	}
	return New(opts)
}

func listOnce(t testing.TB, l *Lister, endpoint Endpoint) (*Listing, error) {
	t.Helper()
	s, err := l.Open(t.Context(), endpoint)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.List(t.Context(), surface.AllCovers())
}

func mustList(t testing.TB, l *Lister, endpoint Endpoint) *Listing {
	t.Helper()
	listing, err := listOnce(t, l, endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return listing
}

func names(l *Listing, kind surface.Kind) []string {
	out := []string{}
	for _, d := range l.Surface.Lists[kind].Definitions {
		out = append(out, d.Name)
	}
	return out
}

func definition(t testing.TB, l *Listing, kind surface.Kind, name string) surface.Definition {
	t.Helper()
	for _, d := range l.Surface.Lists[kind].Definitions {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("no %s %q in %v", kind, name, names(l, kind))
	return surface.Definition{}
}

func raws(defs ...string) []json.RawMessage {
	out := make([]json.RawMessage, len(defs))
	for i, d := range defs {
		out[i] = json.RawMessage(d)
	}
	return out
}
