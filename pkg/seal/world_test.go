package seal_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/trust"
)

// sampleLock is a lockfile of one server, as its bytes stand in a repository.
const sampleLock = `{
  "lockfileVersion": 1,
  "generatedBy": "agentgateway-lock@0.1.0",
  "generatedAt": "2026-11-30T12:00:00.000Z",
  "servers": {}
}
`

const lockPath = "agentgateway.lock"

// world is a repository with a trust list: alice is admin and approver, dana a
// deployer, mallory nobody.
type world struct {
	t     *testing.T
	dir   string
	env   []string
	repo  *gitrepo.Repo
	chain *trust.Chain
	files []trust.File
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	w := &world{t: t, dir: t.TempDir(), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Alice", "GIT_AUTHOR_EMAIL=alice@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=Dana", "GIT_COMMITTER_EMAIL=dana@example.com", "GIT_COMMITTER_DATE=1700000060 +0000",
	}}
	w.git("", "init", "-q", "-b", "main")
	w.newTrust()
	w.write(lockPath, sampleLock)
	w.commit()
	var err error
	if w.repo, err = gitrepo.Open(t.Context(), w.dir, gitrepo.Options{Env: w.env}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.repo.Close() })
	return w
}

func keyLine(t testing.TB, person string) string {
	return sshsig.FormatPublicKey(newKey(t, person).PublicKey())
}

// newTrust writes version 1.
func (w *world) newTrust() {
	w.t.Helper()
	v, err := trust.Init(canonical.SumString("a repository"), trust.Signer{
		Principal: "alice@example.com", Keys: []string{keyLine(w.t, "alice")}, Roles: []trust.Role{trust.Admin, trust.Approver},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.addVersion(v)
	w.nextTrust(trust.Add(trust.Signer{Principal: "dana@example.com", Keys: []string{keyLine(w.t, "dana")}, Roles: []trust.Role{trust.Deployer}}))
}

// nextTrust writes the version after the newest.
func (w *world) nextTrust(changes ...trust.Change) {
	w.t.Helper()
	v, err := w.chain.Next(changes...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.addVersion(v)
}

func (w *world) addVersion(v *trust.Version) {
	w.t.Helper()
	signed, err := w.chain.Sign(w.t.Context(), v, trust.SSHKey(newKey(w.t, "alice")))
	if err != nil {
		w.t.Fatal(err)
	}
	w.files = append(w.files, trust.File{Number: signed.Signed.Version, Data: signed.Format()})
	if w.chain, err = trust.LoadChain(w.files, nil, nil); err != nil {
		w.t.Fatal(err)
	}
	w.write(trust.VersionPath(signed.Signed.Version), string(signed.Format()))
}

func (w *world) root() *canonical.Digest {
	_, first := w.chain.Version(1)
	return &first
}

func (w *world) git(stdin string, args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = w.dir, w.env, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (w *world) write(path, text string) {
	w.t.Helper()
	full := filepath.Join(w.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) commit() gitrepo.Hash {
	w.t.Helper()
	w.git("", "add", "-A")
	w.git("", "commit", "-q", "--allow-empty", "-m", "change")
	return w.head()
}

func (w *world) head() gitrepo.Hash {
	w.t.Helper()
	return w.hash(w.git("", "rev-parse", "HEAD"))
}

func (w *world) hash(text string) gitrepo.Hash {
	w.t.Helper()
	h, err := gitrepo.ParseHash(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// tagBytes are the bytes of an unsigned tag of HEAD.
func (w *world) tagBytes(name, message string) string {
	return "object " + w.head().String() + "\ntype commit\ntag " + name + "\ntagger Dana <dana@example.com> 1700000060 +0000\n\n" + message
}

// putTag writes the bytes of a tag as they are and points a reference to it.
func (w *world) putTag(ref, raw string) gitrepo.Hash {
	w.t.Helper()
	id := w.git(raw, "hash-object", "-t", "tag", "-w", "--literally", "--stdin")
	w.git("", "update-ref", ref, id)
	return w.hash(id)
}

// signed is a text with a signature over it at its end.
func signed(t testing.TB, text, person string, ns sshsig.Namespace) string {
	t.Helper()
	s, err := sshsig.Sign(context.Background(), newKey(t, person), ns, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return text + string(s.Armor())
}
