package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	repository "agentgateway-lock/e2e/approved"
	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/serve"
	"agentgateway-lock/pkg/trust"
)

const patience = 20 * time.Second

func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// shortDir is a folder whose name leaves room for a socket's.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agw") //nolint:usetesting // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// daemon starts a daemon of a repository; change may be nil.
func daemon(t testing.TB, r *repository.Repository, change func(*serve.DaemonConfig)) *serve.Daemon {
	t.Helper()
	config := serve.DaemonConfig{
		Origin:   serve.Origin{Repo: r.Dir, Ref: "lock/v*", TrustRoot: r.Root()},
		Listener: serve.Listener{Address: "unix:" + filepath.Join(shortDir(t), "p.sock")},
		Admin:    "127.0.0.1:0", WatchEvery: 5 * time.Millisecond,
	}
	if change != nil {
		change(&config)
	}
	d, err := serve.NewDaemon(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return d
}

func ready(t *testing.T, d *serve.Daemon) {
	t.Helper()
	waitUntil(t, "it is ready", func() bool { ok, _ := d.Ready(); return ok })
}

func TestListenerCheck(t *testing.T) {
	files := serve.Listener{TLSCert: "c", TLSKey: "k", TLSClientCA: "ca"}
	with := func(address string, l serve.Listener) serve.Listener { l.Address = address; return l }
	for name, c := range map[string]struct {
		l    serve.Listener
		want string // of the error; empty for none
	}{
		"a socket":                        {with("unix:/run/p.sock", serve.Listener{}), ""},
		"a socket and a secret":           {with("unix:/run/p.sock", serve.Listener{SecretFile: "s"}), ""},
		"a socket without a path":         {with("unix:", serve.Listener{}), "path of a socket"},
		"a socket with TLS":               {with("unix:/run/p.sock", files), "no TLS"},
		"a socket made insecure":          {with("unix:/run/p.sock", serve.Listener{InsecureLoopback: true}), "about TCP"},
		"loopback":                        {with("127.0.0.1:1", serve.Listener{}), "--secret-file"},
		"loopback, by name":               {with("localhost:1", serve.Listener{}), "--secret-file"},
		"loopback with a secret":          {with("127.0.0.1:1", serve.Listener{SecretFile: "s"}), ""},
		"loopback with TLS":               {with("[::1]:1", files), ""},
		"loopback made insecure":          {with("127.0.0.1:1", serve.Listener{InsecureLoopback: true}), ""},
		"elsewhere":                       {with("10.0.0.1:1", serve.Listener{}), "other machines"},
		"elsewhere with a secret":         {with("10.0.0.1:1", serve.Listener{SecretFile: "s"}), "other machines"},
		"elsewhere with TLS":              {with("10.0.0.1:1", files), ""},
		"elsewhere made insecure":         {with("10.0.0.1:1", serve.Listener{InsecureLoopback: true}), "other machines"},
		"elsewhere with TLS, insecure":    {with("10.0.0.1:1", serve.Listener{TLSCert: "c", TLSKey: "k", TLSClientCA: "ca", InsecureLoopback: true}), "is for loopback"},
		"everywhere":                      {with(":1", serve.Listener{SecretFile: "s"}), "other machines"},
		"a name that may be anything":     {with("processor:1", serve.Listener{SecretFile: "s"}), "other machines"},
		"TLS without the gateway's CA":    {with("127.0.0.1:1", serve.Listener{TLSCert: "c", TLSKey: "k"}), "go together"},
		"nothing that can be listened at": {with("here", serve.Listener{}), "neither unix:/path nor host:port"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.l.Check()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestSocket(t *testing.T) {
	r := newRepository(t, false)
	path := filepath.Join(shortDir(t), "p.sock")
	config := serve.DaemonConfig{
		Origin:   serve.Origin{Repo: r.Dir, Ref: "lock/v1", TrustRoot: r.Root()},
		Listener: serve.Listener{Address: "unix:" + path},
	}
	start := func() (*serve.Daemon, func() error, error) {
		d, err := serve.NewDaemon(t.Context(), config)
		if err != nil {
			return nil, nil, err
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx, nil) }()
		return d, func() error { cancel(); return <-ended }, nil
	}
	_, stop, err := start()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket has the mode %v, %v", info.Mode(), err)
	}
	if _, _, err := start(); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("a second one: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is left behind")
	}

	// A socket that nobody listens on is replaced.
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = l.Close()
	if _, stop, err = start(); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}

	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := start(); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("a file in the way: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".s*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q %v", left, err)
	}
}

func ping(t *testing.T, address string, creds credentials.TransportCredentials, secrets ...string) error {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ctx = metadata.NewOutgoingContext(ctx, metadata.MD{"authorization": secrets})
	_, err = extmcp.NewExtMcpClient(conn).CheckRequest(ctx, &extmcp.McpRequest{Method: "ping", ServiceNames: []string{"files"}})
	return err
}

func TestSecret(t *testing.T) {
	r := newRepository(t, false)
	file := filepath.Join(t.TempDir(), "secret")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("s3cret\n")
	d := daemon(t, r, func(c *serve.DaemonConfig) {
		c.Listener = serve.Listener{Address: "127.0.0.1:0", SecretFile: file}
	})
	ready(t, d)
	for _, c := range []struct {
		shown []string
		want  codes.Code
	}{
		{nil, codes.Unauthenticated}, {[]string{"Bearer s3cret"}, codes.OK}, {[]string{"Bearer s3cre"}, codes.Unauthenticated},
		{[]string{"Bearer s3cret "}, codes.Unauthenticated}, {[]string{"bearer s3cret"}, codes.Unauthenticated},
		{[]string{"s3cret"}, codes.Unauthenticated}, {[]string{"Bearer s3cret", "Bearer s3cret"}, codes.Unauthenticated},
		{[]string{""}, codes.Unauthenticated},
	} {
		if err := ping(t, d.Address(), insecure.NewCredentials(), c.shown...); status.Code(err) != c.want {
			t.Errorf("with %q: %v, want %v", c.shown, err, c.want)
		}
	}
	// Streams are guarded, too.
	conn, err := grpc.NewClient(d.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	watch, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err == nil {
		_, err = watch.Recv()
	}
	if status.Code(err) != codes.Unauthenticated {
		t.Errorf("watching without the secret: %v", err)
	}
	write("another one")
	waitUntil(t, "the broken secret is reported", func() bool {
		for _, reason := range must(d.Ready()) {
			if reason.Code == "credentials-unreadable" {
				return true
			}
		}
		return false
	})
	if err := ping(t, d.Address(), insecure.NewCredentials(), "Bearer s3cret"); err != nil {
		t.Errorf("the old secret while the new one cannot be read: %v", err)
	}
	write("fresh")
	waitUntil(t, "the new secret counts", func() bool { return ping(t, d.Address(), insecure.NewCredentials(), "Bearer fresh") == nil })
	if err := ping(t, d.Address(), insecure.NewCredentials(), "Bearer s3cret"); status.Code(err) != codes.Unauthenticated {
		t.Errorf("the old secret: %v", err)
	}
}

// counted counts what is written to a connection.
type counted struct {
	net.Conn
	written *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// A body is not read before the call has shown the secret: of twelve calls of 16 MiB
// hardly anything is taken.
func TestNothingIsReadBeforeTheSecret(t *testing.T) {
	r := newRepository(t, false)
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := daemon(t, r, func(c *serve.DaemonConfig) {
		c.Listener = serve.Listener{Address: "127.0.0.1:0", SecretFile: file}
	})
	var written atomic.Int64
	conn, err := grpc.NewClient(d.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(
		func(ctx context.Context, address string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			return counted{c, &written}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	body := make([]byte, 16<<20)
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer guess")
			_, err := extmcp.NewExtMcpClient(conn).CheckResponse(ctx, &extmcp.McpResponse{Method: "tools/list", ServiceNames: []string{"files"}, McpResponse: body})
			if status.Code(err) != codes.Unauthenticated {
				t.Errorf("without the secret: %v", err)
			}
		})
	}
	all.Wait()
	if n := written.Load(); n > 2<<20 {
		t.Errorf("%d bytes of what was not allowed were taken", n)
	}
}

// A line of the deny file that names nothing may be meant for something: the
// processor is not ready until it is right. The first line counts, too, where an
// editor has put its mark before it.
func TestALineThatDeniesNothingBlocksReadiness(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deny")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("\ufefffiles/echo\n")
	d := daemon(t, newRepository(t, false), func(c *serve.DaemonConfig) { c.Deny = file })
	ready(t, d)
	if denied := d.Refresher().Denied(); len(denied) != 1 || denied[0].Text != "files/echo" {
		t.Errorf("denied are %v", denied)
	}
	write("files/echo\nfile/add\n")
	waitUntil(t, "the misspelt line blocks", func() bool {
		ok, reasons := d.Ready()
		return !ok && slices.ContainsFunc(reasons, func(r serve.Reason) bool { return r.Code == "deny-unknown" && r.Blocks })
	})
	write("files/echo\nfiles/add\n")
	ready(t, d)
}

// A page in somebody's browser reaches the admin server by no name of its own, and
// not from another origin.
func TestAdminRefusesForeignHostsAndOrigins(t *testing.T) {
	d := daemon(t, newRepository(t, false), nil)
	_, port, err := net.SplitHostPort(d.AdminAddress())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		host, origin string
		want         int
	}{
		{"127.0.0.1:" + port, "", http.StatusOK},
		{"localhost", "", http.StatusOK},
		{"[::1]:" + port, "", http.StatusOK},
		{"10.1.2.3:" + port, "", http.StatusOK}, // the kubelet asks by the pod's address
		{"attacker.example", "", http.StatusMisdirectedRequest},
		{"attacker.example:" + port, "", http.StatusMisdirectedRequest},
		{"127.0.0.1.attacker.example", "", http.StatusMisdirectedRequest},
		{"localhost.attacker.example:80", "", http.StatusMisdirectedRequest},
		{"127.0.0.1:" + port, "http://127.0.0.1:" + port, http.StatusOK},
		{"127.0.0.1:" + port, "http://attacker.example", http.StatusForbidden},
		{"127.0.0.1:" + port, "null", http.StatusForbidden},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.AdminAddress()+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = tc.host
		if tc.origin != "" {
			request.Header.Set("Origin", tc.origin)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != tc.want {
			t.Errorf("host %q, origin %q: %d, want %d", tc.host, tc.origin, response.StatusCode, tc.want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func must(_ bool, reasons []serve.Reason) []serve.Reason { return reasons }

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t, cert, key}
}

// issue writes a certificate and key of a name.
func (a *authority) issue(dir, name string) (certFile, keyFile string) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: raw}, keyFile: {Type: "EC PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func TestClientCertificates(t *testing.T) {
	r := newRepository(t, false)
	dir := t.TempDir()
	ca, foreign := newAuthority(t), newAuthority(t)
	caFile := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := ca.issue(dir, "localhost")
	d := daemon(t, r, func(c *serve.DaemonConfig) {
		c.Listener = serve.Listener{Address: "127.0.0.1:0", TLSCert: certFile, TLSKey: keyFile, TLSClientCA: caFile}
	})
	ready(t, d)
	client := func(by *authority, version uint16) credentials.TransportCredentials {
		config := &tls.Config{RootCAs: ca.pool(), ServerName: "localhost", MaxVersion: version}
		if by != nil {
			cert, err := tls.LoadX509KeyPair(by.issue(t.TempDir(), "gateway"))
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{cert}
		}
		return credentials.NewTLS(config)
	}
	if err := ping(t, d.Address(), client(ca, 0)); err != nil {
		t.Errorf("the gateway: %v", err)
	}
	for name, creds := range map[string]credentials.TransportCredentials{
		"no certificate": client(nil, 0), "another authority": client(foreign, 0), "TLS 1.2": client(ca, tls.VersionTLS12), "plain text": insecure.NewCredentials(),
	} {
		if err := ping(t, d.Address(), creds); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A new certificate and another authority are used without a restart.
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: foreign.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the new authority counts", func() bool { return ping(t, d.Address(), client(foreign, 0)) == nil })
	if err := ping(t, d.Address(), client(ca, 0)); status.Code(err) != codes.Unavailable {
		t.Errorf("the old authority: %v", err)
	}
}

func get(t *testing.T, d *serve.Daemon, path string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + d.AdminAddress() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

func TestAdmin(t *testing.T) {
	r := newRepository(t, false)
	const hostile = `{"description":"x","inputSchema":{"type":"object"},"name":"a\u202eb\u001b[2J"}`
	if err := r.Put(t.Context(), "files", filesSource(), filesSurface(echo, add, hostile)); err != nil {
		t.Fatal(err)
	}
	if err := r.Decide(t.Context(), trust.Approve); err != nil {
		t.Fatal(err)
	}
	tag(t, r, "lock/v2")
	d := daemon(t, r, nil)
	ready(t, d)
	if code, _ := get(t, d, "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz: %d", code)
	}
	code, body := get(t, d, "/readyz")
	var readyz struct {
		Ready   bool
		Reasons []serve.Reason
	}
	if err := json.Unmarshal([]byte(body), &readyz); err != nil || code != http.StatusOK || !readyz.Ready {
		t.Errorf("/readyz: %d %s %v", code, body, err)
	}
	code, body = get(t, d, "/policy")
	for _, want := range []string{`"origin": "the tag lock/v2"`, `"sealed": "tag by alice@example.com"`, `"name": "echo"`, `"source": "approved"`, `a\\u{202E}b\\u{001B}[2J`} {
		if code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("/policy lacks %s: %d\n%s", want, code, body)
		}
	}
	if strings.ContainsAny(body, "\u202e\x1b") {
		t.Error("/policy holds text of a server unescaped")
	}
	_, body = get(t, d, "/metrics")
	for _, want := range []string{"agentgateway_lock_ready 1\n", `agentgateway_lock_reloads_total{result="ok"} 1`, `agentgateway_lock_policy_info{commit="`, "agentgateway_lock_reload_failing 0\n"} {
		if !strings.Contains(body, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	for path, want := range map[string]int{"/": http.StatusNotFound, "/policy/x": http.StatusNotFound} {
		if code, _ := get(t, d, path); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	response, err := http.Post("http://"+d.AdminAddress()+"/policy", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a POST to /policy: %d", response.StatusCode)
	}
}

func TestNotReadyWithoutAPolicy(t *testing.T) {
	r := newRepository(t, false)
	d := daemon(t, r, func(c *serve.DaemonConfig) { c.Origin.Ref = "live/v*" })
	waitUntil(t, "the failure is known", func() bool { _, body := get(t, d, "/readyz"); return strings.Contains(body, "reload-failed") })
	code, body := get(t, d, "/readyz")
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "no-policy") {
		t.Errorf("/readyz: %d %s", code, body)
	}
	if code, _ := get(t, d, "/policy"); code != http.StatusServiceUnavailable {
		t.Errorf("/policy: %d", code)
	}
	conn, err := grpc.NewClient("unix:"+strings.TrimPrefix(d.Address(), "unix:"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	answer, err := extmcp.NewExtMcpClient(conn).CheckRequest(t.Context(), &extmcp.McpRequest{Method: "ping", ServiceNames: []string{"files"}})
	if err != nil || answer.GetError() == nil {
		t.Errorf("without a policy: %v, %v", answer, err)
	}
	health, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || health.GetStatus() != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("the health service says %v, %v", health, err)
	}
}

// A stop does not wait for a stream that nobody ends, where it has to hurry.
func TestASecondSignalStopsAtOnce(t *testing.T) {
	r := newRepository(t, false)
	d, err := serve.NewDaemon(t.Context(), serve.DaemonConfig{
		Origin:   serve.Origin{Repo: r.Dir, Ref: "lock/v1", TrustRoot: r.Root()},
		Listener: serve.Listener{Address: "127.0.0.1:0", InsecureLoopback: true}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	hurry := make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, hurry) }()
	conn, err := grpc.NewClient(d.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	watch, err := grpc_health_v1.NewHealthClient(conn).Watch(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	if err == nil {
		_, err = watch.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-ended:
		t.Errorf("it ended before the stream did: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(hurry)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// blocked is a writer that takes nothing until it is released.
type blocked struct {
	release chan struct{}
	mu      sync.Mutex
	text    strings.Builder
}

func (b *blocked) Write(p []byte) (int, error) {
	<-b.release
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func TestVerdictLogNeverBlocks(t *testing.T) {
	w := &blocked{release: make(chan struct{})}
	drops := 0
	judged, closed := serve.VerdictLog(w, func() { drops++ })
	const n = 20_000
	for range n {
		judged(&processor.Verdict{Phase: processor.PhaseRequest, Method: "tools/call", Server: "files", Name: "x", Code: processor.DeniedChanged, Enforced: true})
	}
	if drops == 0 {
		t.Error("no line was dropped")
	}
	close(w.release)
	closed()
	if lines := strings.Count(w.text.String(), "\n"); lines+drops != n {
		t.Errorf("%d lines were written and %d dropped, want %d together", lines, drops, n)
	}
}

func TestVerdictLog(t *testing.T) {
	w := &blocked{release: make(chan struct{})}
	close(w.release)
	judged, closed := serve.VerdictLog(w, func() { t.Error("a line was dropped") })
	call := func(code processor.Code, name, scope string) processor.Verdict {
		return processor.Verdict{At: start, Phase: processor.PhaseRequest, Method: "tools/call", Targets: []string{"files"}, Scope: scope, Server: "files", Kind: "tool", Name: name, Code: code, Enforced: true}
	}
	for _, v := range []processor.Verdict{
		call("", "echo", ""),                                 // a first pass is no news
		call(processor.DeniedChanged, "echo", ""),            // news
		call(processor.DeniedChanged, "echo", ""),            // every denial is a line
		call("", "echo", "bob"),                              // somebody else
		call("", "echo", ""),                                 // news
		call("", "echo", ""),                                 // not any more
		call(processor.DeniedNotApproved, "a\u202e\x1b", ""), // escaped
		{At: start, Phase: processor.PhaseResponse, Method: "tools/list", Server: "files", Removed: []processor.Removal{{Server: "files", Kind: "tool", Name: "echo", Code: processor.DeniedChanged}}, Enforced: true},
		{At: start, Phase: processor.PhaseResponse, Method: "tools/list", Server: "files", Remembered: true, Removed: []processor.Removal{{Server: "files", Kind: "tool", Name: "echo", Code: processor.DeniedChanged}}, Enforced: true},
	} {
		judged(&v)
	}
	closed()
	const prefix = `{"at":"2026-11-30T12:00:00Z","phase":"request","method":"tools/call","targets":["files"],`
	want := prefix + `"verdict":"denied","code":"changed","server":"files","kind":"tool","name":"echo","enforced":true,"changed":true}
` + prefix + `"verdict":"denied","code":"changed","server":"files","kind":"tool","name":"echo","enforced":true}
` + prefix + `"verdict":"allowed","server":"files","kind":"tool","name":"echo","enforced":true,"changed":true}
` + prefix + `"verdict":"denied","code":"not-approved","server":"files","kind":"tool","name":"a\\u{202E}\\u{001B}","enforced":true,"changed":true}
{"at":"2026-11-30T12:00:00Z","phase":"response","method":"tools/list","verdict":"removed","code":"changed","server":"files","kind":"tool","name":"echo","enforced":true}
`
	if got := w.text.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
