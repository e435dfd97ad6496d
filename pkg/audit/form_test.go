package audit

import (
	"bytes"
	"compress/zlib"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// TestCherryPick is attack-20 as well: an approval picked onto another branch
// holds there, and one whose chain is not there does not.
func TestCherryPick(t *testing.T) {
	w := newWorld(t)
	w.git("", "branch", "release")
	w.decide("bob", trust.Approve, toolKey("read"))
	first := w.commit("bob", "approve read")
	w.decide("bob", trust.Disable, toolKey("read"))
	second := w.commit("bob", "disable read")
	w.git("", "checkout", "-q", "release")
	w.git("forge", "cherry-pick", first.String())
	w.holds()
	w.git("", "reset", "-q", "--hard", "HEAD~1")
	w.git("forge", "cherry-pick", "-X", "theirs", second.String())
	w.breaks(w.head("HEAD"), finding.DecisionLost)
}

// TestAttack15CommitIDs verifies a history whose ids were all made anew: nothing
// in it depends on them.
func TestAttack15CommitIDs(t *testing.T) {
	w, _ := approved(t)
	before := w.holds()
	w.git("forge", "rebase", "-q", "--root", "--no-gpg-sign", "--exec", "git commit -q --amend --no-edit -m renamed")
	after := w.holds(func(o *Options) { o.Root = w.root() })
	if before.Head == after.Head || before.Decisions != after.Decisions || before.Commits != after.Commits {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// TestAttack18SwappedObject stores other content under the id of a decision.
func TestAttack18SwappedObject(t *testing.T) {
	w, id := approved(t)
	blob := w.git("", "rev-parse", "HEAD:"+trust.DecisionPath(id))
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, err := z.Write([]byte("blob 3\x00{}\n"))
	w.must(err)
	w.must(z.Close())
	file := filepath.Join(w.dir, ".git", "objects", blob[:2], blob[2:])
	w.must(os.Chmod(file, 0o644))
	w.must(os.WriteFile(file, packed.Bytes(), 0o644))
	for _, b := range []gitrepo.Backend{gitrepo.GoGit, gitrepo.GitProgram} {
		_, err = Verify(t.Context(), w.open(b), Options{Now: testNow})
		if _, ok := errors.AsType[*gitrepo.IntegrityError](err); !ok {
			t.Errorf("the error is %v", err)
		}
	}
}

// TestAttack22Links replaces folders and files by links to the same content.
func TestAttack22Links(t *testing.T) {
	for _, name := range []string{trust.VersionFolder, trust.DecisionFolder, lockfile.Folder} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := approved(t)
			w.must(os.Rename(filepath.Join(w.dir, name), filepath.Join(w.dir, "moved")))
			target, err := filepath.Rel(filepath.Dir(filepath.Join(w.dir, name)), filepath.Join(w.dir, "moved"))
			w.must(err)
			if err := os.Symlink(target, filepath.Join(w.dir, name)); err != nil {
				t.Skip("this system makes no links")
			}
			w.breaks(w.commit("mallory", "link"), finding.LockfileSymlink)
		})
	}
}

// TestAttack23Forms audits a linked worktree, a borrowing clone and a repository
// with SHA-256 ids.
func TestAttack23Forms(t *testing.T) {
	w, id := approved(t)
	w.git("", "worktree", "add", "-q", "--detach", filepath.Join(w.home, "linked"))
	w.git("", "clone", "-q", "--shared", w.dir, filepath.Join(w.home, "shared"))
	other := newWorldIn(t, "sha256")
	other.keys, other.home = w.keys, w.home
	other.write(lockfile.DefaultName, []byte(w.git("", "show", "HEAD~1:"+lockfile.DefaultName)+"\n"))
	other.write(trust.VersionPath(1), w.read(trust.VersionPath(1)))
	other.commit("alice", "list alice and bob")
	other.write(lockfile.DefaultName, w.read(lockfile.DefaultName))
	other.write(trust.DecisionPath(id), w.read(trust.DecisionPath(id)))
	other.commit("bob", "approve the tools")
	for name, dir := range map[string]string{
		"linked": filepath.Join(w.home, "linked"), "shared": filepath.Join(w.home, "shared"), "sha256": other.dir,
	} {
		repo, err := gitrepo.Open(t.Context(), dir, gitrepo.Options{})
		w.must(err)
		r, err := Verify(t.Context(), repo, Options{Now: testNow, Root: w.root()})
		w.must(err)
		w.must(repo.Close())
		if r.Violation != nil || r.Decisions != 1 || len(r.Facts) != 2 || r.Facts[1].Signature != SignedByListed {
			t.Errorf("%s: the report is %+v", name, r)
		}
	}
}

// TestFolder audits a lockfile in a folder, beside which another one has decisions
// of its own.
func TestFolder(t *testing.T) {
	w := newWorldIn(t, "sha1")
	root := w.dir
	w.dir = filepath.Join(root, "a", "b")
	w.must(os.MkdirAll(w.dir, 0o755))
	w.writeLock(w.newLock("read 1", "write 1"))
	w.init()
	w.commit("alice", "list alice and bob")
	st := w.draft(trust.Approve, toolKey("write"))
	st.Lockfile = "other.lock"
	d := w.forge("bob", st)
	w.write(trust.DecisionPath(d.Statement.ID()), d.Format())
	w.write("other.lock", w.read(lockfile.DefaultName))
	id := w.decide("bob", trust.Approve, toolKey("read"))
	w.commit("bob", "approve")
	inFolder := func(o *Options) { o.Folder = "a/b" }
	r := w.holds(inFolder)
	if r.Decisions != 2 {
		t.Errorf("%d decisions", r.Decisions)
	}
	w.remove(trust.DecisionPath(id))
	bad := w.commit("mallory", "drop a decision")
	if r := w.breaks(bad, finding.DecisionLost, inFolder); r.Violation.Path != "a/b/"+trust.DecisionPath(id) {
		t.Errorf("the path is %s", r.Violation.Path)
	}
	if r := w.holds(); r.Commits != 0 {
		t.Errorf("%d commits have a trust list in the root", r.Commits)
	}
}

// TestLargeFork has two branches decide about many items: judging is not
// quadratic, and the report lists each.
func TestLargeFork(t *testing.T) {
	w := newWorld(t)
	var keys []surface.Key
	f := w.lock()
	s := f.Server("files")
	for i := range 500 {
		d := w.tool(string(rune('a'+i/26))+string(rune('a'+i%26)), "text")
		s.Lists["tool"] = append(s.Lists["tool"], lockfile.Item{Name: d.Name, Tool: d.Tool, Digest: d.Digest, GatewayDigest: d.GatewayDigest})
		keys = append(keys, toolKey(d.Name))
	}
	f.Reformat()
	w.writeLock(f)
	w.commit("alice", "lock many")
	w.git("", "checkout", "-q", "-b", "other")
	w.decide("bob", trust.Approve, keys...)
	w.commit("bob", "approve many")
	w.git("", "checkout", "-q", "main")
	w.decide("alice", trust.Reject, keys...)
	w.commit("alice", "reject many")
	w.git("carol", "merge", "-q", "-X", "ours", "--no-ff", "-m", "merged", "other")
	if r := w.holds(); len(r.Conflicts) != len(keys) {
		t.Errorf("%d conflicts", len(r.Conflicts))
	}
}

// TestViolationIsAFinding holds the words people and machines get.
func TestViolationIsAFinding(t *testing.T) {
	commit, err := gitrepo.ParseHash("0123456789012345678901234567890123456789")
	if err != nil {
		t.Fatal(err)
	}
	v := &Violation{Commit: commit, Rule: finding.DecisionForked, Path: "agentgateway.lock", Item: &surface.Key{Server: "files", Kind: "tool", Name: "re\x1bad"}, Detail: "two ends"}
	if got, want := v.Error(), `commit 012345678901: "files/re\x1bad": two ends [decision-forked]`; got != want {
		t.Errorf("the error is %s", got)
	}
	f := v.Finding()
	if f.Code != finding.DecisionForked || f.Grade != finding.Critical || f.Place.Server != "files" || f.Place.File != "agentgateway.lock" || f.Hint == "" {
		t.Errorf("the finding is %+v", f)
	}
	for _, code := range []finding.Code{finding.HeadLost, finding.CommitInvalid, finding.CommitUnsigned, finding.DecisionChanged, finding.CheckpointInvalid} {
		if finding.Lookup(code).Meaning == "" {
			t.Errorf("%s is not described", code)
		}
	}
}
