package audit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

var testNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// A world is a real repository, made with git and keys of ssh-keygen.
type world struct {
	t    testing.TB
	dir  string
	home string
	keys map[string]trust.SigningKey
	seq  int
}

// newWorld makes a repository in which alice locked a server with two tools and,
// in a second commit, made a trust list of alice and bob; alice is its admin.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := newWorldIn(t, "sha1")
	w.writeLock(w.newLock("read 1", "write 1"))
	w.commit("alice", "lock the server")
	w.init()
	w.commit("alice", "list alice and bob")
	return w
}

// newWorldIn makes an empty repository with ids of a hash.
func newWorldIn(t testing.TB, hash string) *world {
	t.Helper()
	for _, program := range []string{"git", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	w := &world{t: t, dir: t.TempDir(), home: t.TempDir(), keys: map[string]trust.SigningKey{}}
	w.git("", "init", "-q", "-b", "main", "--object-format="+hash)
	return w
}

func (w *world) newLock(read, write string) *lockfile.File {
	tools := []surface.Definition{w.tool("read", read), w.tool("write", write)}
	s := surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: {Definitions: tools}}}
	f := &lockfile.File{GeneratedBy: "test", GeneratedAt: "2026-11-30T12:00:00.000Z"}
	f.Put(lockfile.FromSurface("files", &source.Source{Transport: source.Stdio, Command: "serve"}, []string{"tools"}, s))
	return f
}

func (w *world) tool(name, text string) surface.Definition {
	return surface.Definition{
		Kind: surface.KindTool, Name: name, Digest: canonical.SumString(text), GatewayDigest: canonical.SumString("gateway " + text),
		Tool: &surface.ToolHashes{Name: canonical.SumString(name), Description: canonical.SumString(text), InputSchema: canonical.SumString("{}")},
	}
}

// relock gives the tools other texts, and keeps decisions.
func (w *world) relock(read, write string) {
	w.t.Helper()
	before, after := w.lock(), w.newLock(read, write)
	lockfile.Carry(before.Server("files"), after.Server("files"))
	before.Put(after.Server("files"))
	w.writeLock(before)
}

func (w *world) init() {
	w.t.Helper()
	v, err := trust.Init(canonical.SumString("a repository"), trust.Signer{Principal: "alice@example.com", Person: "Alice", Keys: []string{w.key("alice").Key()}})
	w.must(err)
	bob := trust.Signer{Principal: "bob@example.com", Person: "Bob", Keys: []string{w.key("bob").Key()}}
	w.must(trust.Add(bob)(&v.Signed))
	v, err = (*trust.Chain)(nil).Sign(w.t.Context(), v, w.key("alice"))
	w.must(err)
	w.write(trust.VersionPath(1), v.Format())
}

// change makes the next trust version, signed by alice.
func (w *world) change(changes ...trust.Change) {
	w.t.Helper()
	c := w.chain()
	v, err := c.Next(changes...)
	w.must(err)
	v, err = c.Sign(w.t.Context(), v, w.key("alice"))
	w.must(err)
	w.write(trust.VersionPath(v.Signed.Version), v.Format())
}

// key is the signing key of a person, made when first asked for.
func (w *world) key(name string) trust.SigningKey {
	w.t.Helper()
	if k := w.keys[name]; k != nil {
		return k
	}
	file := filepath.Join(w.home, name)
	out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", file).CombinedOutput()
	if err != nil {
		w.t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	signer, err := sshsig.LoadKeyFile(w.t.Context(), sshsig.OpenFile, file, nil)
	w.must(err)
	w.keys[name] = trust.SSHKey(signer)
	return w.keys[name]
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// try runs git as a person; nobody in particular for an empty name.
func (w *world) try(name string, args ...string) (string, error) {
	if name == "" {
		name = "nobody"
	}
	w.seq++
	cmd := exec.Command("git", args...)
	date := fmt.Sprintf("%d +0000", testNow.Unix()+int64(w.seq))
	cmd.Dir = w.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + name + "@example.com", "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + name + "@example.com", "GIT_COMMITTER_DATE=" + date,
		"GIT_EDITOR=true",
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

func (w *world) git(name string, args ...string) string {
	w.t.Helper()
	out, err := w.try(name, args...)
	if err != nil {
		w.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func (w *world) write(path string, data []byte) {
	w.t.Helper()
	full := filepath.Join(w.dir, filepath.FromSlash(path))
	w.must(os.MkdirAll(filepath.Dir(full), 0o755))
	w.must(os.WriteFile(full, data, 0o644))
}

func (w *world) read(path string) []byte {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(path)))
	w.must(err)
	return data
}

func (w *world) remove(path string) {
	w.t.Helper()
	w.must(os.RemoveAll(filepath.Join(w.dir, filepath.FromSlash(path))))
}

// commit commits everything, signed by a person's key.
func (w *world) commit(name, message string) gitrepo.Hash {
	w.t.Helper()
	w.git("", "add", "-A")
	w.key(name)
	w.git(name, "-c", "gpg.format=ssh", "-c", "user.signingkey="+filepath.Join(w.home, name), "commit", "-q", "--allow-empty", "-S", "-m", message)
	return w.head("HEAD")
}

// plain commits everything without a signature.
func (w *world) plain(name, message string) gitrepo.Hash {
	w.t.Helper()
	w.git("", "add", "-A")
	w.git(name, "commit", "-q", "--allow-empty", "-m", message)
	return w.head("HEAD")
}

func (w *world) head(rev string) gitrepo.Hash {
	w.t.Helper()
	h, err := gitrepo.ParseHash(w.git("", "rev-parse", rev))
	w.must(err)
	return h
}

func (w *world) lock() *lockfile.File {
	w.t.Helper()
	f, err := lockfile.Parse(w.read(lockfile.DefaultName))
	w.must(err)
	return f
}

func (w *world) writeLock(f *lockfile.File) { w.write(lockfile.DefaultName, lockfile.Format(f)) }

func (w *world) chain() *trust.Chain {
	w.t.Helper()
	var files []trust.File
	for n := 1; ; n++ {
		data, err := os.ReadFile(filepath.Join(w.dir, trust.VersionPath(n)))
		if err != nil {
			break
		}
		files = append(files, trust.File{Number: n, Data: data})
	}
	c, err := trust.LoadChain(files, nil, nil)
	w.must(err)
	return c
}

func (w *world) root() *canonical.Digest {
	_, d := w.chain().Version(1)
	return &d
}

func (w *world) state() *trust.State {
	w.t.Helper()
	var files []trust.DecisionFile
	paths, err := filepath.Glob(filepath.Join(w.dir, trust.DecisionFolder, "*", "*.json"))
	w.must(err)
	for _, p := range paths {
		rel, err := filepath.Rel(w.dir, p)
		w.must(err)
		files = append(files, trust.DecisionFile{Path: filepath.ToSlash(rel), Data: w.read(rel)})
	}
	ledger, err := trust.NewLedger(files, nil, nil)
	w.must(err)
	return trust.Evaluate(trust.Input{Chain: w.chain(), Ledger: ledger, Lockfile: w.lock(), Path: lockfile.DefaultName, Now: testNow})
}

// texts are the locked texts of items.
func (w *world) texts(keys ...surface.Key) []trust.Text {
	w.t.Helper()
	out := make([]trust.Text, len(keys))
	lock := newLock(w.lock())
	for i, key := range keys {
		it := lock.items[key]
		out[i] = trust.Text{Key: key, Digest: it.digest, GatewayDigest: it.gateway}
	}
	return out
}

func toolKey(name string) surface.Key {
	return surface.Key{Server: "files", Kind: surface.KindTool, Name: name}
}

// draft makes a statement about items as they are locked.
func (w *world) draft(action trust.Action, keys ...surface.Key) *trust.Statement {
	w.t.Helper()
	p := trust.Proposal{Action: action, Reason: "for a test"}
	for _, key := range keys {
		p.Items = append(p.Items, trust.ProposedItem{Key: key, Grade: finding.Warning, Proposers: []string{"Alice"}})
		if st := w.state().Item(key); st != nil && action == trust.Approve {
			last := &p.Items[len(p.Items)-1]
			last.Digest, last.GatewayDigest = st.Digest, st.GatewayDigest
		}
	}
	st, err := w.state().Draft(p)
	w.must(err)
	return st
}

// decide decides as a person, with the checks of the tool, and records it.
func (w *world) decide(name string, action trust.Action, keys ...surface.Key) canonical.Digest {
	w.t.Helper()
	d, err := w.state().Sign(w.t.Context(), w.draft(action, keys...), testNow, w.key(name))
	w.must(err)
	return w.record(d)
}

// forge signs a statement with a key and none of the checks.
func (w *world) forge(name string, st *trust.Statement) *trust.Decision {
	w.t.Helper()
	if st.By == "" {
		st.By = name + "@example.com"
	}
	if st.At == 0 {
		st.At = testNow.Unix()
	}
	blob, err := w.key(name).Sign(w.t.Context(), sshsig.NamespaceDecision, st.Canonical())
	w.must(err)
	return &trust.Decision{Statement: *st, Signatures: [][]byte{blob}}
}

func (w *world) record(d *trust.Decision) canonical.Digest {
	w.t.Helper()
	id := d.Statement.ID()
	w.write(trust.DecisionPath(id), d.Format())
	f := w.lock()
	w.must(trust.Record(f, &d.Statement))
	w.writeLock(f)
	return id
}

func (w *world) open(b gitrepo.Backend) *gitrepo.Repo {
	w.t.Helper()
	r, err := gitrepo.Open(w.t.Context(), w.dir, gitrepo.Options{Backend: b})
	w.must(err)
	w.t.Cleanup(func() { _ = r.Close() })
	return r
}

// verify audits HEAD through both ways of reading, which must agree.
func (w *world) verify(edit ...func(*Options)) *Report {
	w.t.Helper()
	var reports []*Report
	for _, b := range []gitrepo.Backend{gitrepo.GoGit, gitrepo.GitProgram} {
		opts := Options{Now: testNow}
		for _, e := range edit {
			e(&opts)
		}
		r, err := Verify(w.t.Context(), w.open(b), opts)
		w.must(err)
		reports = append(reports, r)
	}
	if a, b := fmt.Sprintf("%+v", summary(reports[0])), fmt.Sprintf("%+v", summary(reports[1])); a != b {
		w.t.Errorf("the two ways of reading differ:\n%s\n%s", a, b)
	}
	return reports[0]
}

// summary is a report without pointers.
func summary(r *Report) []any {
	out := []any{r.Head, r.Commits, r.Unjudged, r.Lockfiles, r.Decisions, r.TrustVersions, r.Conflicts, r.Facts}
	if r.Violation != nil {
		out = append(out, r.Violation.Error())
	}
	return out
}

// holds verifies a history in which all rules hold.
func (w *world) holds(edit ...func(*Options)) *Report {
	w.t.Helper()
	r := w.verify(edit...)
	if r.Violation != nil {
		w.t.Fatalf("a rule is broken: %v", r.Violation)
	}
	return r
}

// breaks verifies a history in which one commit breaks a rule.
func (w *world) breaks(commit gitrepo.Hash, rule finding.Code, edit ...func(*Options)) *Report {
	w.t.Helper()
	r := w.verify(edit...)
	switch {
	case r.Violation == nil:
		w.t.Fatalf("no rule is broken; %s should break %s", commit.Short(), rule)
	case r.Violation.Commit != commit || r.Violation.Rule != rule:
		w.t.Fatalf("the violation is %v; %s should break %s", r.Violation, commit.Short(), rule)
	}
	if r.Cache != nil {
		w.t.Error("there is a cache of a history that does not verify")
	}
	return r
}

// status is the state of an item in the work tree; empty for none.
func (w *world) status(key surface.Key) trust.Status {
	w.t.Helper()
	it := w.state().Item(key)
	if it == nil {
		return ""
	}
	return it.Status
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
