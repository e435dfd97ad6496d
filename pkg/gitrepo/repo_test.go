package gitrepo

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testEnv is an environment in which git finds no configuration of this
// machine, and persons and times that are always the same.
func testEnv(t testing.TB) []string {
	t.Helper()
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=gc.auto", "GIT_CONFIG_VALUE_0=0",
		"GIT_AUTHOR_NAME=Alice", "GIT_AUTHOR_EMAIL=alice@example.com", "GIT_AUTHOR_DATE=1700000000 +0100",
		"GIT_COMMITTER_NAME=Bob", "GIT_COMMITTER_EMAIL=bob@example.com", "GIT_COMMITTER_DATE=1700000060 +0000",
	}
}

// sandbox is a folder in which git is run.
type sandbox struct {
	t   testing.TB
	dir string
	env []string
}

func newSandbox(t testing.TB) *sandbox {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &sandbox{t: t, dir: dir, env: testEnv(t)}
}

func (s *sandbox) in(dir string) *sandbox {
	return &sandbox{t: s.t, dir: filepath.Join(s.dir, dir), env: s.env}
}

// try runs git and gives its output and whether it succeeded.
func (s *sandbox) try(stdin string, args ...string) (string, error) {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.dir, s.env, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

func (s *sandbox) git(args ...string) string {
	s.t.Helper()
	out, err := s.try("", args...)
	if err != nil {
		s.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func (s *sandbox) gitIn(stdin string, args ...string) string {
	s.t.Helper()
	out, err := s.try(stdin, args...)
	if err != nil {
		s.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func (s *sandbox) write(path, text string) {
	s.t.Helper()
	full := filepath.Join(s.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sandbox) commit(path, text string) Hash {
	s.t.Helper()
	s.write(path, text)
	s.git("add", "--", path)
	s.git("commit", "-q", "-m", "set "+path)
	return s.head()
}

func (s *sandbox) head() Hash {
	s.t.Helper()
	return mustHash(s.t, s.git("rev-parse", "HEAD"))
}

func mustHash(t testing.TB, s string) Hash {
	t.Helper()
	h, err := ParseHash(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (s *sandbox) open(b Backend) *Repo {
	s.t.Helper()
	r, err := Open(context.Background(), s.dir, Options{Backend: b, Env: s.env, Bare: true})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = r.Close() })
	return r
}

// history is the content that every form of repository in the table below has.
func (s *sandbox) history(initArgs ...string) (first, second Hash) {
	s.git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	first = s.commit("agentgateway.lock", "one\n")
	s.write("dir/deep/a.json", "{}\n")
	s.write("run.sh", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(s.dir, "run.sh"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Symlink("agentgateway.lock", filepath.Join(s.dir, "link")); err != nil {
		s.t.Fatal(err)
	}
	s.git("add", ".")
	second = s.commit("agentgateway.lock", "two\n")
	s.git("tag", "-a", "-m", "release", "lock/v1")
	return first, second
}

// forms are the repository forms met in practice. build makes one whose head
// holds what history wrote, and gives the folder to open.
var forms = []struct {
	name    string
	gitOnly bool // go-git cannot open it, and must say so
	bare    bool
	build   func(s *sandbox) *sandbox
}{
	{name: "plain", build: func(s *sandbox) *sandbox { s.history(); return s }},
	{name: "packed", build: func(s *sandbox) *sandbox { s.history(); s.git("gc", "-q"); return s }},
	{name: "subfolder", build: func(s *sandbox) *sandbox { s.history(); return s.in("dir/deep") }},
	{name: "sha256", gitOnly: true, build: func(s *sandbox) *sandbox { s.history("--object-format=sha256"); return s }},
	{name: "linked-worktree", build: func(s *sandbox) *sandbox {
		m := s.in("m")
		mkdir(s.t, m.dir)
		m.history()
		m.git("worktree", "add", "-q", "../linked", "-b", "side")
		return s.in("linked")
	}},
	{name: "sparse-checkout", gitOnly: true, build: func(s *sandbox) *sandbox {
		s.history()
		s.git("sparse-checkout", "set", "dir")
		return s
	}},
	{name: "sparse-index", gitOnly: true, build: func(s *sandbox) *sandbox {
		s.history()
		s.git("sparse-checkout", "set", "--cone", "--sparse-index", "dir")
		return s
	}},
	{name: "split-index", build: func(s *sandbox) *sandbox { s.history(); s.git("update-index", "--split-index"); return s }},
	{name: "bare", bare: true, build: func(s *sandbox) *sandbox {
		m := s.in("m")
		mkdir(s.t, m.dir)
		m.history()
		s.git("clone", "-q", "--bare", "m", "b.git")
		return s.in("b.git")
	}},
	{name: "shared-clone", gitOnly: true, build: func(s *sandbox) *sandbox {
		m := s.in("m")
		mkdir(s.t, m.dir)
		m.history()
		s.git("clone", "-q", "--shared", "m", "c")
		return s.in("c")
	}},
	{name: "submodule", build: func(s *sandbox) *sandbox {
		m := s.in("m")
		mkdir(s.t, m.dir)
		m.history()
		o := s.in("o")
		mkdir(s.t, o.dir)
		o.git("init", "-q", "-b", "main")
		o.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../m", "sub")
		return o.in("sub")
	}},
}

func mkdir(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func eachBackend(t *testing.T, f func(t *testing.T, b Backend)) {
	for name, b := range map[string]Backend{"automatic": Automatic, "go-git": GoGit, "git": GitProgram} {
		t.Run(name, func(t *testing.T) { f(t, b) })
	}
}

func TestForms(t *testing.T) {
	ctx := context.Background()
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			s := form.build(newSandbox(t))
			head := s.head()
			eachBackend(t, func(t *testing.T, b Backend) {
				if form.gitOnly && b == GoGit {
					_, err := Open(ctx, s.dir, Options{Backend: b, Env: s.env})
					var unsupported *UnsupportedError
					if !errors.As(err, &unsupported) {
						t.Fatalf("go-git: %v, want *UnsupportedError", err)
					}
					return
				}
				checkForm(t, s, b, head, form.bare)
			})
		})
	}
}

func checkForm(t *testing.T, s *sandbox, b Backend, head Hash, bare bool) {
	t.Helper()
	ctx := context.Background()
	r := s.open(b)
	for _, rev := range []string{"HEAD", head.String(), head.String()[:9]} {
		if id, err := r.Resolve(ctx, rev); err != nil || id != head {
			t.Errorf("Resolve(%q) = %v, %v; want %v", rev, id, err, head)
		}
	}
	body, entry, err := r.File(ctx, head, "agentgateway.lock", 100)
	if err != nil || string(body) != "two\n" || entry.Mode != ModeFile {
		t.Errorf("File = %q, %v, %v", body, entry, err)
	}
	if want := s.git("rev-parse", "HEAD:agentgateway.lock"); entry.ID.String() != want {
		t.Errorf("id of the file is %s; git says %s", entry.ID, want)
	}
	if _, _, err := r.File(ctx, head, "agentgateway.lock", 3); !isA[*TooLargeError](err) {
		t.Errorf("File over its bound: %v", err)
	}
	if _, entry, err := r.File(ctx, head, "run.sh", 100); err != nil || entry.Mode != ModeExecutable {
		t.Errorf("File(run.sh): %v, %v", entry, err)
	}
	if body, _, err := r.File(ctx, head, "dir/deep/a.json", 100); err != nil || string(body) != "{}\n" {
		t.Errorf("File(dir/deep/a.json): %q, %v", body, err)
	}
	for _, path := range []string{"link", "dir", "link/x", "agentgateway.lock/x"} {
		if _, _, err := r.File(ctx, head, path, 100); !isA[*ModeError](err) {
			t.Errorf("File(%q): %v, want *ModeError", path, err)
		}
	}
	for _, path := range []string{"none", "dir/none", "none/none"} {
		if _, _, err := r.File(ctx, head, path, 100); !errors.Is(err, ErrNotFound) {
			t.Errorf("File(%q): %v, want ErrNotFound", path, err)
		}
	}
	for _, path := range []string{"../x", "/x", "dir//x", ".git/config", "dir/", "."} {
		if _, _, err := r.File(ctx, head, path, 100); err == nil {
			t.Errorf("File(%q) succeeded", path)
		}
	}
	var names []string
	entries, err := r.Dir(ctx, head, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name)
	}
	if want := s.git("ls-tree", "--name-only", "--full-tree", "HEAD"); strings.Join(names, "\n") != want {
		t.Errorf("Dir = %q; git says %q", names, want)
	}
	if (r.Root() == "") != bare {
		t.Errorf("Root = %q", r.Root())
	}
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}
