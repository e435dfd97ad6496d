package gitrepo

import (
	"context"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var lockTags = []string{"+refs/tags/lock/*:refs/tags/lock/*", "+refs/heads/main:refs/heads/main"}

func TestFetchFile(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	m := s.in("m")
	mkdir(t, m.dir)
	_, last := m.history()
	opts := FetchOptions{Dir: filepath.Join(s.dir, "cache")}
	for _, url := range []string{m.dir, "file://" + m.dir} {
		if err := Fetch(ctx, url, lockTags, opts); err != nil {
			t.Fatalf("%s: %v", url, err)
		}
	}
	c := s.in("cache")
	reader := c.open(GoGit)
	if _, id, err := reader.AnnotatedTag(ctx, "refs/tags/lock/v1"); err != nil || id != last {
		t.Errorf("tag: %v, %v", id, err)
	}
	// What comes later is seen by a reader that is open already.
	third := m.commit("agentgateway.lock", "three\n")
	m.git("tag", "-a", "-m", "x", "lock/v2")
	if err := Fetch(ctx, m.dir, lockTags, opts); err != nil {
		t.Fatal(err)
	}
	for _, b := range []Backend{GoGit, GitProgram} {
		r := c.open(b)
		if b == GoGit {
			r = reader
		}
		if body, _, err := r.File(ctx, third, "agentgateway.lock", 100); err != nil || string(body) != "three\n" {
			t.Errorf("File = %q, %v", body, err)
		}
		if tags, err := r.Tags(ctx, "lock/v*"); err != nil || len(tags) != 2 || tags[0].Name != "refs/tags/lock/v2" {
			t.Errorf("Tags = %v, %v", tags, err)
		}
	}
	if out := c.git("fsck"); strings.Contains(out, "error") {
		t.Errorf("fsck: %s", out)
	}
}

func TestFetchLimit(t *testing.T) {
	s := newSandbox(t)
	m := s.in("m")
	mkdir(t, m.dir)
	m.history()
	err := Fetch(context.Background(), m.dir, lockTags, FetchOptions{Dir: filepath.Join(s.dir, "cache"), MaxBytes: 100})
	if err == nil || !strings.Contains(err.Error(), "more than 100 bytes") {
		t.Errorf("error is %v", err)
	}
}

// TestFetchToken fetches over HTTP from git's own server program.
func TestFetchToken(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	m := s.in("m")
	mkdir(t, m.dir)
	_, last := m.history()
	backend := filepath.Join(s.git("--exec-path"), "git-http-backend")
	if !exists(backend) {
		t.Skip("git-http-backend is not installed")
	}
	cgiHandler := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + s.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1"}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, password, _ := req.BasicAuth(); password != "s3cret" {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		cgiHandler.ServeHTTP(w, req)
	}))
	defer srv.Close()
	token := filepath.Join(s.dir, "token")
	fetch := func(content string) error {
		must(t, os.WriteFile(token, []byte(content), 0o600))
		return Fetch(ctx, srv.URL+"/m/.git", lockTags, FetchOptions{Dir: filepath.Join(s.dir, "cache"), TokenFile: token})
	}
	for _, bad := range []string{"wr0ng\n", "", "two words\n"} {
		if err := fetch(bad); err == nil || bad != "" && strings.Contains(err.Error(), strings.TrimSpace(bad)) {
			t.Errorf("with the token %q: %v", bad, err)
		}
	}
	if err := fetch("s3cret\n"); err != nil {
		t.Fatal(err)
	}
	if id, err := s.in("cache").open(Automatic).Resolve(ctx, "lock/v1"); err != nil || id != last {
		t.Errorf("Resolve = %v, %v", id, err)
	}
}

func TestFetchRefuses(t *testing.T) {
	cases := []struct {
		name, url string
		refspecs  []string
		opts      FetchOptions
		want      string
	}{
		{"password", "https://me:hunter2@example.com/r", lockTags, FetchOptions{}, "user name or password"},
		{"token-as-user", "https://hunter2@example.com/r", lockTags, FetchOptions{}, "user name or password"},
		{"ssh-password", "ssh://git:hunter2@example.com/r", lockTags, FetchOptions{}, "user name or password"},
		{"query", "https://example.com/r?private_token=hunter2", lockTags, FetchOptions{}, "query"},
		{"http", "http://example.com/hunter2", lockTags, FetchOptions{}, "plain http"},
		{"git", "git://example.com/r", lockTags, FetchOptions{}, "scheme"},
		{"ext", "ext::sh -c id", lockTags, FetchOptions{}, ""},
		{"unparsable", "https://hunter2@exa mple.com/%zz", lockTags, FetchOptions{}, "does not parse"},
		{"token-for-ssh", "ssh://git@example.com/r", lockTags, FetchOptions{TokenFile: "x"}, "for https"},
		{"key-for-https", "https://example.com/r", lockTags, FetchOptions{SSHKey: "x"}, "for ssh"},
		{"no-key", "git@example.com:r", lockTags, FetchOptions{SSHKey: "/nonexistent"}, "ssh key"},
		{"no-refspec", "https://example.com/r", nil, FetchOptions{}, "no refspec"},
		{"bad-refspec", "https://example.com/r", []string{"refs/tags/*"}, FetchOptions{}, "refspec"},
		{"refspec-into-head", "https://example.com/r", []string{"refs/heads/main:HEAD"}, FetchOptions{}, "refspec"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.opts.Dir = filepath.Join(t.TempDir(), "cache")
			err := Fetch(context.Background(), c.url, c.refspecs, c.opts)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error is %v", err)
			}
		})
	}
}
