package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// sshSigner signs with ssh-keygen and a fresh key, and makes git know the key
// as alice's.
func (s *sandbox) sshSigner() Signer {
	s.t.Helper()
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		s.t.Skip("ssh-keygen is not installed")
	}
	dir := s.t.TempDir()
	key := filepath.Join(dir, "key")
	if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-C", "alice", "-f", key).CombinedOutput(); err != nil {
		s.t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	pub, err := os.ReadFile(key + ".pub")
	if err != nil {
		s.t.Fatal(err)
	}
	allowed := filepath.Join(dir, "allowed_signers")
	if err := os.WriteFile(allowed, append([]byte("alice@example.com "), pub...), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.git("config", "gpg.ssh.allowedSignersFile", allowed)
	return func(ctx context.Context, payload []byte) ([]byte, error) {
		cmd := exec.CommandContext(ctx, keygen, "-Y", "sign", "-n", "git", "-f", key)
		cmd.Stdin = bytes.NewReader(payload)
		return cmd.Output()
	}
}

// writable are the forms of repository in which commits are made.
var writable = []struct {
	name  string
	build func(s *sandbox) *sandbox
}{
	{"plain", func(s *sandbox) *sandbox { s.history(); return s }},
	{"sha256", func(s *sandbox) *sandbox { s.history("--object-format=sha256"); return s }},
	{"linked-worktree", func(s *sandbox) *sandbox {
		m := s.in("m")
		mkdir(s.t, m.dir)
		m.history()
		m.git("worktree", "add", "-q", "../linked", "-b", "side")
		return s.in("linked")
	}},
	{"sparse-index", func(s *sandbox) *sandbox {
		s.history()
		s.git("sparse-checkout", "set", "--cone", "--sparse-index", "dir")
		return s
	}},
	{"autocrlf", func(s *sandbox) *sandbox { s.history(); s.git("config", "core.autocrlf", "true"); return s }},
	{"foreign-signing", func(s *sandbox) *sandbox {
		s.history()
		s.git("config", "gpg.format", "ssh")
		s.git("config", "user.signingKey", "/nonexistent")
		s.git("config", "commit.gpgSign", "true")
		s.git("config", "gpg.ssh.program", "/bin/false")
		return s
	}},
}

func TestCommit(t *testing.T) {
	ctx := context.Background()
	for _, form := range writable {
		t.Run(form.name, func(t *testing.T) {
			s := form.build(newSandbox(t))
			sign := s.sshSigner()
			r := s.open(Automatic)
			before := s.head()
			s.write("dir/other", "staged by hand\n")
			s.git("add", "dir/other")
			s.write("dir/loose", "not staged\n")
			s.write("agentgateway.lock", "three\n")
			s.write("dir/new/b.json", "{\"b\":1}\n")
			if err := os.Remove(filepath.Join(s.dir, "dir/deep/a.json")); err != nil {
				t.Fatal(err)
			}
			id, err := r.Commit(ctx, CommitOptions{
				Paths:   []string{"agentgateway.lock", "dir/new/b.json", "dir/deep/a.json"},
				Message: "Approve two tools  \n\nDecision: 123\n\n", Sign: sign,
			})
			if err != nil {
				t.Fatal(err)
			}
			if s.head() != id || s.git("rev-parse", "HEAD~1") != before.String() {
				t.Error("the branch is not on the new commit")
			}
			if out, err := s.try("", "verify-commit", id.String()); err != nil || !strings.Contains(out, `Good "git" signature for alice@example.com`) {
				// gpg.ssh.program of the last form is no verifier.
				out, err = s.try("", "-c", "gpg.ssh.program=ssh-keygen", "verify-commit", id.String())
				if err != nil {
					t.Errorf("verify-commit: %v\n%s", err, out)
				}
			}
			want := "M\tagentgateway.lock\nD\tdir/deep/a.json\nA\tdir/new/b.json"
			if got := s.git("diff-tree", "-r", "--no-renames", "--name-status", before.String(), id.String()); got != want {
				t.Errorf("the commit changes\n%s", got)
			}
			if got := s.git("log", "-1", "--format=%an|%ae|%cn|%B"); got != "Alice|alice@example.com|Bob|Approve two tools\n\nDecision: 123\n" {
				t.Errorf("commit reads %q", got)
			}
			if got := s.git("status", "--porcelain"); got != "A  dir/other\n?? dir/loose" {
				t.Errorf("status afterwards:\n%s", got)
			}
			if out := s.git("fsck", "--strict"); strings.Contains(out, "error") {
				t.Errorf("fsck: %s", out)
			}
			if err := r.CheckWorktreeFile(ctx, id, "agentgateway.lock"); err != nil {
				t.Error(err)
			}
			if _, err := r.Commit(ctx, CommitOptions{Paths: []string{"agentgateway.lock"}, Message: "again"}); !errors.Is(err, ErrNothingToCommit) {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}

func TestCommitFirst(t *testing.T) {
	ctx := context.Background()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			s := newSandbox(t)
			s.git("init", "-q", "-b", "main", "--object-format="+format)
			sign := s.sshSigner()
			r := s.open(Automatic)
			var busy *BusyError
			if err := r.Busy(ctx); !errors.As(err, &busy) || busy.State != StateUnborn {
				t.Fatalf("Busy = %v", err)
			}
			s.write("a/b/c", "x\n")
			id, err := r.Commit(ctx, CommitOptions{Paths: []string{"a/b/c"}, Message: "begin", Sign: sign})
			if err != nil || s.head() != id {
				t.Fatalf("%v, %v", id, err)
			}
			if out, err := s.try("", "verify-commit", "HEAD"); err != nil {
				t.Errorf("verify-commit: %s", out)
			}
			if got := s.git("status", "--porcelain"); got != "" {
				t.Errorf("status: %s", got)
			}
			if err := r.Busy(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCommitRefuses(t *testing.T) {
	ctx := context.Background()
	signed := false
	sign := func(context.Context, []byte) ([]byte, error) { signed = true; return nil, errors.New("no key") }
	cases := []struct {
		name    string
		prepare func(s *sandbox)
		path    string
		check   func(error) bool
	}{
		{"merge", func(s *sandbox) { s.conflict("merge") }, "f", isState(StateMerge)},
		{"rebase", func(s *sandbox) { s.conflict("rebase") }, "f", isState(StateRebase)},
		{"cherry-pick", func(s *sandbox) { s.conflict("cherry-pick") }, "f", isState(StateCherryPick)},
		{"revert", func(s *sandbox) { s.conflict("merge"); s.git("merge", "--abort"); _, _ = s.try("", "revert", "HEAD~1") }, "f", isState(StateRevert)},
		{"bisect", func(s *sandbox) { s.git("bisect", "start", "HEAD", "HEAD~1") }, "f", isState(StateBisect)},
		{"detached", func(s *sandbox) { s.git("checkout", "-q", "--detach") }, "f", isState(StateDetached)},
		{"index-lock", func(s *sandbox) { s.write(".git/index.lock", "") }, "f", isState(StateLocked)},
		{"symlink", func(s *sandbox) {}, "link", isA[*WorktreeError]},
		{"below-symlink", func(s *sandbox) { must(s.t, os.Symlink("dir", filepath.Join(s.dir, "d2"))) }, "d2/deep/a.json", isA[*WorktreeError]},
		{"folder", func(s *sandbox) {}, "dir", isA[*WorktreeError]},
		{"absent", func(s *sandbox) {}, "nowhere", isA[*WorktreeError]},
		{"outside", func(s *sandbox) {}, "../x", func(err error) bool { return err != nil }},
		{"dot-git", func(s *sandbox) {}, ".git/config", func(err error) bool { return err != nil }},
		{"file-over-symlink", func(s *sandbox) {
			must(s.t, os.Remove(filepath.Join(s.dir, "link")))
			s.write("link", "now a file\n")
		}, "link", isA[*ModeError]},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSandbox(t)
			s.history()
			s.write("f", "new\n")
			c.prepare(s)
			before := s.head()
			r := s.open(Automatic)
			_, err := r.Commit(ctx, CommitOptions{Paths: []string{c.path}, Message: "m", Sign: sign})
			if !c.check(err) {
				t.Errorf("error is %v", err)
			}
			if signed || s.head() != before {
				t.Error("something was signed, or the branch moved")
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func isState(want State) func(error) bool {
	return func(err error) bool {
		var busy *BusyError
		return errors.As(err, &busy) && busy.State == want && busy.Error() != ""
	}
}

// conflict stops a git command half way through.
func (s *sandbox) conflict(command string) {
	s.git("checkout", "-q", "-b", "other", "HEAD~1")
	s.commit("agentgateway.lock", "theirs\n")
	s.git("checkout", "-q", "main")
	if _, err := s.try("", command, "other"); err == nil {
		s.t.Fatalf("git %s succeeded", command)
	}
}

func TestCommitWithoutIdentity(t *testing.T) {
	s := newSandbox(t)
	s.history()
	var env []string
	for _, kv := range s.env {
		if !strings.HasPrefix(kv, "GIT_AUTHOR") && !strings.HasPrefix(kv, "GIT_COMMITTER") {
			env = append(env, kv)
		}
	}
	s.env = env
	r := s.open(Automatic)
	s.write("f", "x")
	_, err := r.Commit(context.Background(), CommitOptions{Paths: []string{"f"}, Message: "m"})
	if !errors.Is(err, ErrNoIdentity) || !strings.Contains(err.Error(), "git config --global user.email") {
		t.Errorf("error is %v", err)
	}
	s.git("config", "user.name", "Carol")
	s.git("config", "user.email", "carol@example.com")
	who, err := r.User(context.Background())
	if err != nil || who.Name != "Carol" || who.Email != "carol@example.com" {
		t.Errorf("User = %v, %v", who, err)
	}
}

func TestCommitMovedBranch(t *testing.T) {
	s := newSandbox(t)
	s.history()
	r := s.open(Automatic)
	s.write("f", "x")
	var other Hash
	_, err := r.Commit(context.Background(), CommitOptions{Paths: []string{"f"}, Message: "m",
		Sign: func(context.Context, []byte) ([]byte, error) {
			other = s.commit("g", "meanwhile\n")
			return []byte("-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"), nil
		}})
	if err == nil || s.head() != other {
		t.Errorf("error is %v; head %v, want %v", err, s.head(), other)
	}
}

func TestHooks(t *testing.T) {
	ctx := context.Background()
	const leave = "#!/bin/sh\necho ran >>\"$PROBE\"\n"
	cases := []struct {
		name     string
		path     string // of the hook
		text     string
		config   string // core.hooksPath
		link     string // target of .git/hooks/pre-commit
		runHooks bool
		ran      bool
		refused  bool
		message  string
	}{
		{name: "own-hook", path: ".git/hooks/pre-commit", text: leave, ran: true},
		{name: "own-hook-refuses", path: ".git/hooks/pre-commit", text: leave + "exit 1\n", ran: true, refused: true},
		{name: "hook-changes-content", path: ".git/hooks/pre-commit", text: leave + "echo y >f; git add f\n", ran: true, refused: true},
		{name: "hook-sees-what-is-committed", path: ".git/hooks/pre-commit", text: leave + "test \"$(git diff --cached --name-only)\" = f\n", ran: true},
		{name: "commit-msg", path: ".git/hooks/commit-msg", text: leave + "echo 'Change-Id: I1' >>\"$1\"\n", ran: true, message: "m\nChange-Id: I1\n"},
		{name: "post-commit", path: ".git/hooks/post-commit", text: leave + "exit 1\n", ran: true},
		{name: "folder-in-tree", path: ".husky/pre-commit", text: leave, config: ".husky"},
		{name: "folder-in-tree-asked-for", path: ".husky/pre-commit", text: leave, config: ".husky", runHooks: true, ran: true},
		{name: "link-into-tree", path: "scripts/check", text: leave, link: "../../scripts/check"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSandbox(t)
			s.history()
			probe := filepath.Join(t.TempDir(), "probe")
			s.env = append(s.env, "PROBE="+probe)
			s.write(c.path, c.text)
			must(t, os.Chmod(filepath.Join(s.dir, c.path), 0o755))
			if c.config != "" {
				s.git("config", "core.hooksPath", c.config)
			}
			if c.link != "" {
				must(t, os.Symlink(c.link, filepath.Join(s.dir, ".git/hooks/pre-commit")))
			}
			s.write("f", "x\n")
			before := s.head()
			id, err := s.open(Automatic).Commit(ctx, CommitOptions{Paths: []string{"f"}, Message: "m", RunHooks: c.runHooks})
			if isA[*HookError](err) != c.refused || (err != nil) != c.refused {
				t.Errorf("error is %v", err)
			}
			if (s.head() == before) != c.refused {
				t.Errorf("head moved from %v to %v (%v)", before, s.head(), id)
			}
			if exists(probe) != c.ran {
				t.Errorf("hook ran: %v, want %v", exists(probe), c.ran)
			}
			if c.message != "" && s.git("log", "-1", "--format=%B") != c.message {
				t.Errorf("message %q", s.git("log", "-1", "--format=%B"))
			}
		})
	}
}

func TestSignedTag(t *testing.T) {
	ctx := context.Background()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			s := newSandbox(t)
			_, head := s.history("--object-format=" + format)
			sign := s.sshSigner()
			r := s.open(Automatic)
			opts := TagOptions{Name: "lock/v2", Target: head, Message: "Lock 2\n\nlockfile-sha256: 00\n", Sign: sign}
			id, err := r.SignedTag(ctx, opts)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.git("rev-parse", "refs/tags/lock/v2"); got != id.String() {
				t.Errorf("tag is %s, want %s", got, id)
			}
			if out, err := s.try("", "verify-tag", "lock/v2"); err != nil {
				t.Errorf("verify-tag: %s", out)
			}
			if out := s.git("fsck", "--strict"); strings.Contains(out, "error") {
				t.Errorf("fsck: %s", out)
			}
			tag, target, err := r.AnnotatedTag(ctx, "refs/tags/lock/v2")
			if err != nil || target != head || string(tag.Message) != opts.Message || tag.Signature == nil || tag.Tagger.Name != "Bob" {
				t.Errorf("AnnotatedTag = %+v, %v, %v", tag, target, err)
			}
			if _, err := r.SignedTag(ctx, opts); !errors.Is(err, ErrTagExists) {
				t.Errorf("again: %v", err)
			}
			for _, name := range []string{"", "a..b", "-x y", "lock", "a/.b", "a.lock"} {
				opts.Name = name
				if _, err := r.SignedTag(ctx, opts); err == nil {
					t.Errorf("tag %q was made", name)
				}
			}
		})
	}
}

// TestCommitMany commits more files than fit a command line, some of them large.
func TestCommitMany(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	s.history()
	var paths []string
	for i := range 3000 {
		path := fmt.Sprintf("%s/%03d/%s-%d.json", strings.Repeat("n", 40), i%7, strings.Repeat("x", 60), i)
		s.write(path, strings.Repeat(fmt.Sprintln(i), i))
		paths = append(paths, path)
	}
	r := s.open(Automatic)
	if _, err := r.Commit(ctx, CommitOptions{Paths: paths, Message: "many"}); err != nil {
		t.Fatal(err)
	}
	if got := s.git("status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
	if got := s.git("diff-tree", "-r", "--name-only", "HEAD~1", "HEAD"); strings.Count(got, "\n") != len(paths)-1 {
		t.Errorf("%d files were committed", strings.Count(got, "\n")+1)
	}
}

func TestCommitAuthor(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	s.history()
	s.write("f", "x")
	r := s.open(Automatic)
	opts := CommitOptions{Paths: []string{"f"}, Message: "m", AuthorName: "Carol <x", AuthorEmail: "carol@example.com"}
	if _, err := r.Commit(ctx, opts); err == nil {
		t.Error("an author with a bracket was accepted")
	}
	opts.AuthorName = "Carol"
	for _, bad := range []string{"", " \n", "a\x00b", "a\r\nb", "\xff"} {
		opts.Message = bad
		if _, err := r.Commit(ctx, opts); err == nil {
			t.Errorf("message %q was accepted", bad)
		}
	}
	opts.Message = "m"
	if _, err := r.Commit(ctx, opts); err != nil {
		t.Fatal(err)
	}
	if got := s.git("log", "-1", "--format=%an <%ae> %cn"); got != "Carol <carol@example.com> Bob" {
		t.Errorf("persons are %s", got)
	}
}

func TestBareRefusesWork(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	s.git("init", "-q", "--bare", "-b", "main")
	r := s.open(Automatic)
	if _, err := r.Commit(ctx, CommitOptions{Paths: []string{"f"}, Message: "m"}); !errors.Is(err, ErrBare) {
		t.Errorf("error is %v", err)
	}
	if _, err := r.Resolve(ctx, "HEAD"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Resolve: %v", err)
	}
}

// TestReadTogether reads from many goroutines, for the race detector.
func TestReadTogether(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	_, last := s.history()
	for _, packed := range []bool{false, true} {
		if packed {
			s.git("gc", "-q")
		}
		eachBackend(t, func(t *testing.T, b Backend) {
			r := s.open(b)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 20 {
						if body, _, err := r.File(ctx, last, "agentgateway.lock", 100); err != nil || string(body) != "two\n" {
							t.Errorf("File = %q, %v", body, err)
						}
					}
					if nodes, err := r.History(ctx, last); err != nil || len(nodes) != 2 {
						t.Errorf("History = %v, %v", nodes, err)
					}
				})
			}
			wg.Wait()
		})
	}
}
