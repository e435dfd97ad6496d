package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// A run that is interrupted while it waits for a server says so, ends with the code
// that shells have for it, says nothing else and writes nothing.
func TestInterrupted(t *testing.T) {
	asked := make(chan struct{})
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		once.Do(func() { close(asked) })
		<-r.Context().Done()
	}))
	defer server.Close()
	for _, command := range []string{"lock", "init"} {
		t.Run(command, func(t *testing.T) {
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-asked
				cancel()
			}()
			var out, err bytes.Buffer
			a := app{
				ctx: ctx, program: "agentgateway", stdin: bytes.NewReader(nil), stdout: &out, stderr: &err,
				getenv: func(string) (string, bool) { return "", false },
			}
			code := a.run([]string{command, "-C", dir, "--server", "slow=" + server.URL, "--allow-private", "slow"})
			if code != 130 || out.Len() > 0 {
				t.Errorf("exit code %d, printed %q", code, out.String())
			}
			if lines := bytes.Split(bytes.TrimSpace(err.Bytes()), []byte("\n")); string(lines[len(lines)-1]) != "interrupted" || bytes.Contains(err.Bytes(), []byte("error")) {
				t.Errorf("said %q", err.String())
			}
			if _, err := os.Stat(filepath.Join(dir, "agentgateway.lock")); err == nil {
				t.Error("a lockfile was written")
			}
		})
	}
}
