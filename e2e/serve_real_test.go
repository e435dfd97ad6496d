package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"agentgateway-lock/e2e/gatewaydouble"
	"agentgateway-lock/e2e/realservers"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// realServer starts the reference server over streamable HTTP.
func realServer(t *testing.T) (url string) {
	t.Helper()
	modules, node := realservers.Find(t, ".")
	program := filepath.Join(modules, "@modelcontextprotocol", "server-everything", "dist", "index.js")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	cmd := exec.Command(node, program, "streamableHttp")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), fmt.Sprintf("PORT=%d", port)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url = fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	waitUntil(t, "the real server answers", func() bool {
		response, err := client.Get(url)
		if err == nil {
			_ = response.Body.Close()
		}
		return err == nil
	})
	return url
}

// A real server behind the gateway: all that is approved is listed and callable,
// and what is not is neither.
func TestServeARealServer(t *testing.T) {
	url := realServer(t)
	st := newStage(t, setting{})
	st.lock("everything", url)
	st.decide(trust.Approve)
	st.decide(trust.Disable, surface.Key{Server: "everything", Kind: surface.KindTool, Name: "get-sum"})
	st.reloaded()
	config := gatewaydouble.Config{Targets: []gatewaydouble.Target{{Name: "everything", URL: url}}}
	front := func(config gatewaydouble.Config) *agent {
		front, err := gatewaydouble.Start(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = front.Close() })
		return newAgent(t, front.URL(), nil)
	}
	bare := front(config)
	config.Processors = st.config.Processors
	a := front(config)
	want := bare.tools()
	if len(want) < 5 || !slices.Contains(want, "get-sum") {
		t.Fatalf("the server shows %q", want)
	}
	a.wantTools(slices.DeleteFunc(want, func(name string) bool { return name == "get-sum" })...)
	wantAllowed(t, a.echo())
	wantDenied(t, a.call("get-sum", map[string]any{"a": 1, "b": 2}), processor.DeniedDisabled)
	wantDenied(t, a.call("no-such-tool", nil), processor.DeniedNotApproved)
	if got, want := a.session.InitializeResult().Instructions, bare.session.InitializeResult().Instructions; got != want {
		t.Errorf("the agent got the instructions %q, want %q", got, want)
	}
}
