package audit

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/trust"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// proposed is a branch on which bob approved what alice locked, beside a commit on
// main about something else.
func proposed(t *testing.T) *world {
	w := newWorld(t)
	w.git("", "checkout", "-q", "-b", "proposal")
	w.relock("read 2", "write 1")
	w.commit("alice", "lock other words")
	w.decide("bob", trust.Approve, toolKey("read"))
	w.commit("bob", "approve read")
	w.git("", "checkout", "-q", "main")
	w.write("other.txt", []byte("other\n"))
	w.plain("carol", "something else")
	return w
}

// TestMerges is attack-20: however an approved pull request is merged, its
// decision holds.
func TestMerges(t *testing.T) {
	merges := map[string]struct {
		commands [][]string
		commits  int // with a trust list
	}{
		"squash": {[][]string{{"merge", "-q", "--squash", "proposal"}, {"commit", "-q", "-m", "squashed"}}, 3},
		"rebase": {[][]string{{"checkout", "-q", "proposal"}, {"rebase", "-q", "main"}, {"checkout", "-q", "main"}, {"merge", "-q", "--ff-only", "proposal"}}, 4},
		"merge":  {[][]string{{"merge", "-q", "--no-ff", "-m", "merged", "proposal"}}, 5},
	}
	for name, m := range merges {
		t.Run("attack-20/"+name, func(t *testing.T) {
			t.Parallel()
			w := proposed(t)
			for _, c := range m.commands {
				w.git("forge", c...)
			}
			r := w.holds(func(o *Options) { o.Root = w.root() })
			want := []int{m.commits, 1, 3, 1, 1}
			if name == "squash" {
				want[2] = 2
			}
			if diff := cmp.Diff(want, []int{r.Commits, r.Unjudged, r.Lockfiles, r.Decisions, r.TrustVersions}); diff != "" {
				t.Errorf("commits, unjudged, lockfiles, decisions, trust versions:\n%s", diff)
			}
			if got := w.status(toolKey("read")); got != trust.Approved {
				t.Errorf("read is %s", got)
			}
			if r.Head != w.head("HEAD") || !r.Pinned || len(r.Conflicts) > 0 {
				t.Errorf("head %v, pinned %v, conflicts %v", r.Head, r.Pinned, r.Conflicts)
			}
		})
	}
}

// TestTwoBranches has two branches decide about one item, and merges both ways.
func TestTwoBranches(t *testing.T) {
	for _, squash := range []bool{false, true} {
		for _, ours := range []string{"left", "right"} {
			name := ours
			if squash {
				name += "-squashed"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				testTwoBranches(t, ours, squash)
			})
		}
	}
}

func testTwoBranches(t *testing.T, ours string, squash bool) {
	w := newWorld(t)
	w.git("", "checkout", "-q", "-b", "left")
	w.decide("bob", trust.Approve, toolKey("read"))
	w.commit("bob", "approve read")
	w.git("", "checkout", "-q", "-b", "right", "main")
	w.decide("alice", trust.Reject, toolKey("read"))
	w.commit("alice", "reject read")
	theirs := map[string]string{"left": "right", "right": "left"}[ours]
	w.git("", "checkout", "-q", ours)
	args := []string{"merge", "-q", "-X", "ours", "--no-ff", "-m", "merged", theirs}
	if squash {
		args = []string{"merge", "-q", "-X", "ours", "--squash", theirs}
	}
	w.git("carol", args...)
	merge := w.plain("carol", "merged")
	if !squash {
		merge = w.head("HEAD~1")
	}
	if got := w.status(toolKey("read")); got != trust.Conflict {
		t.Fatalf("read is %s", got)
	}
	r := w.holds()
	if len(r.Conflicts) != 1 || r.Conflicts[0].Commit != merge || r.Conflicts[0].Item.Name != "read" || !r.Conflicts[0].Open {
		t.Fatalf("conflicts are %+v, want one of %s", r.Conflicts, merge)
	}
	if again := w.holds(func(o *Options) { o.Cache = r.Cache }); len(again.Conflicts) != 1 || !again.Conflicts[0].Open {
		t.Errorf("conflicts with a cache are %+v", again.Conflicts)
	}
	if f := r.Findings(); len(f) != 1 || f[0].Code != finding.DecisionForked || f[0].Grade != finding.Critical {
		t.Errorf("findings are %+v", f)
	}
	// What is locked may change meanwhile, and other items be decided.
	w.decide("bob", trust.Approve, toolKey("write"))
	w.commit("bob", "approve write")
	w.relock("read 3", "write 1")
	w.commit("alice", "lock other words")
	w.holds()
	w.decide("bob", trust.Approve, toolKey("read"))
	w.commit("bob", "decide read again")
	r = w.holds()
	if len(r.Conflicts) != 1 || r.Conflicts[0].Open || len(r.Findings()) > 0 {
		t.Errorf("conflicts are %+v after a decision that names both ends", r.Conflicts)
	}
	if got := w.status(toolKey("read")); got != trust.Approved {
		t.Errorf("read is %s", got)
	}
}

// approved is a world in which bob approved both tools.
func approved(t *testing.T) (*world, canonical.Digest) {
	w := newWorld(t)
	id := w.decide("bob", trust.Approve, toolKey("read"), toolKey("write"))
	w.commit("bob", "approve the tools")
	return w, id
}

// TestViolations has one commit break a rule, with good ones before and after it.
func TestViolations(t *testing.T) {
	cases := []struct {
		name string
		do   func(w *world, id canonical.Digest)
		rule finding.Code
	}{
		{"attack-02-decision-removed", func(w *world, id canonical.Digest) { w.remove(trust.DecisionPath(id)) }, finding.DecisionLost},
		{"attack-02-old-lockfile-restored", func(w *world, _ canonical.Digest) { w.git("", "checkout", "-q", "HEAD~1", "--", lockfile.DefaultName) }, finding.DecisionForked},
		{"attack-02-decision-unnamed", func(w *world, _ canonical.Digest) {
			f := w.lock()
			f.Server("files").Item("tool", "read").Decision = canonical.Digest{}
			w.writeLock(f)
		}, finding.DecisionForked},
		{"item-dropped", func(w *world, _ canonical.Digest) {
			f := w.lock()
			s := f.Server("files")
			s.Lists["tool"] = s.Lists["tool"][1:]
			w.writeLock(f)
		}, finding.ItemDropped},
		{"server-dropped", func(w *world, _ canonical.Digest) {
			f := w.lock()
			f.Remove("files")
			w.writeLock(f)
		}, finding.ItemDropped},
		{"lockfile-removed", func(w *world, _ canonical.Digest) { w.remove(lockfile.DefaultName) }, finding.LockfileRemoved},
		{"lockfile-unreadable", func(w *world, _ canonical.Digest) { w.write(lockfile.DefaultName, []byte("<<<<<<< HEAD\n")) }, finding.LockfileInvalid},
		{"attack-22-lockfile-symlink", func(w *world, _ canonical.Digest) {
			w.git("", "mv", lockfile.DefaultName, "elsewhere.lock")
			w.git("", "update-index", "--add", "--cacheinfo", "120000,"+w.git("", "hash-object", "-w", "elsewhere.lock")+","+lockfile.DefaultName)
			w.git("", "checkout", "-q", "--", lockfile.DefaultName)
		}, finding.LockfileSymlink},
		{"decision-changed", func(w *world, id canonical.Digest) {
			d, err := trust.ParseDecision(w.read(trust.DecisionPath(id)))
			w.must(err)
			d.Statement.Reason = "another reason"
			w.write(trust.DecisionPath(id), d.Format())
		}, finding.DecisionChanged},
		{"decision-damaged", func(w *world, id canonical.Digest) { w.write(trust.DecisionPath(id), []byte("{}\n")) }, finding.DecisionInvalid},
		{"signature-replaced", func(w *world, id canonical.Digest) {
			d, err := trust.ParseDecision(w.read(trust.DecisionPath(id)))
			w.must(err)
			w.write(trust.DecisionPath(id), w.forge("alice", &d.Statement).Format())
		}, finding.DecisionChanged},
		{"trust-removed", func(w *world, _ canonical.Digest) { w.remove(trust.VersionFolder) }, finding.TrustMissing},
		{"trust-replaced", func(w *world, _ canonical.Digest) {
			w.remove(trust.VersionFolder)
			w.keys["alice"] = w.key("mallory")
			w.init()
		}, finding.TrustForked},
		{"attack-03-version-skipped", func(w *world, _ canonical.Digest) {
			w.change(trust.Set("maxAge", "90d"))
			w.git("", "mv", "-f", trust.VersionPath(1), trust.VersionPath(3))
		}, finding.TrustInvalid},
		{"attack-03-unlisted-admin", func(w *world, _ canonical.Digest) {
			v, err := w.chain().Next(trust.Set("maxAge", "90d"))
			w.must(err)
			blob, err := w.key("bob").Sign(w.t.Context(), "agentgateway-trust@v1", v.Signed.Canonical())
			w.must(err)
			v.Signatures = [][]byte{blob}
			w.write(trust.VersionPath(2), v.Format())
		}, finding.TrustInvalid},
		{"stray-file-in-decisions", func(w *world, _ canonical.Digest) { w.write(trust.DecisionFolder+"/ab/note.txt", []byte("x")) }, finding.DecisionInvalid},
		{"attack-04-other-repository", func(w *world, _ canonical.Digest) {
			st := w.draft(trust.Reject, toolKey("read"))
			st.Repository = canonical.SumString("another repository")
			w.record(w.forge("bob", st))
		}, finding.StatementForeign},
		{"attack-04-other-trust-list", func(w *world, _ canonical.Digest) {
			st := w.draft(trust.Reject, toolKey("read"))
			st.Trust = canonical.SumString("another version")
			w.record(w.forge("bob", st))
		}, finding.StatementForeign},
		{"attack-04-earlier-serial", func(w *world, _ canonical.Digest) {
			st := w.draft(trust.Reject, toolKey("read"))
			st.Items[0].Serial = 7
			w.record(w.forge("bob", st))
		}, finding.ItemConflict},
		{"attack-05-commit-signature-as-approval", func(w *world, _ canonical.Digest) {
			st := w.draft(trust.Reject, toolKey("read"))
			d := w.forge("bob", st)
			blob, err := w.key("bob").Sign(w.t.Context(), "git", st.Canonical())
			w.must(err)
			d.Signatures = [][]byte{blob}
			w.record(d)
		}, finding.DecisionInvalid},
		{"signed-by-somebody-else", func(w *world, _ canonical.Digest) {
			st := w.draft(trust.Reject, toolKey("read"))
			st.By = "alice@example.com"
			w.record(w.forge("bob", st))
		}, finding.DecisionInvalid},
		{"dated-ahead", func(w *world, _ canonical.Digest) {
			st := w.draft(trust.Reject, toolKey("read"))
			st.At = testNow.Unix() + 3600
			w.record(w.forge("bob", st))
		}, finding.DecisionFuture},
		{"link-missing", func(w *world, _ canonical.Digest) {
			st := w.draft(trust.Reject, toolKey("read"))
			st.Items[0].Previous = []canonical.Digest{canonical.SumString("nothing")}
			w.record(w.forge("bob", st))
		}, finding.DecisionLost},
		{"other-lockfile-foreign", func(w *world, _ canonical.Digest) {
			st := w.draft(trust.Reject, toolKey("read"))
			st.Lockfile, st.By = "other.lock", "alice@example.com"
			d := w.forge("bob", st)
			w.write(trust.DecisionPath(d.Statement.ID()), d.Format())
		}, finding.DecisionInvalid},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, id := approved(t)
			w.holds()
			c.do(w, id)
			bad := w.commit("mallory", "break a rule")
			w.write("other.txt", []byte("other\n"))
			w.plain("carol", "something else")
			w.breaks(bad, c.rule)
		})
	}
}

// TestAttack08BackDated has a removed signer decide, dated and under a version from
// before, in a commit dated before.
func TestAttack08BackDated(t *testing.T) {
	for _, merged := range []bool{false, true} {
		w, _ := approved(t)
		w.git("", "branch", "old")
		stands := w.state().Stands("bob@example.com")
		st := w.draft(trust.Reject, toolKey("read"))
		w.change(trust.Remove("bob@example.com"), trust.Stand(stands, nil))
		w.commit("alice", "remove bob")
		w.holds()
		if merged {
			w.git("", "checkout", "-q", "old")
		}
		st.At = testNow.Unix() - 86400
		w.record(w.forge("bob", st))
		bad := w.commit("bob", "reject read")
		if merged {
			w.holds()
			w.git("", "checkout", "-q", "main")
			w.git("carol", "merge", "-q", "--no-ff", "-m", "merge a second history", "old")
			bad = w.head("HEAD")
		}
		w.breaks(bad, finding.SignerUnknown)
	}
}

// TestStandingDecisionOnOldBranch merges a branch from before a decision whose
// signer was removed since: the decision came in when it could.
func TestStandingDecisionOnOldBranch(t *testing.T) {
	w := newWorld(t)
	w.git("", "branch", "old")
	w.decide("bob", trust.Approve, toolKey("read"))
	w.commit("bob", "approve read")
	w.change(trust.Remove("bob@example.com"))
	w.commit("alice", "remove bob, whose key was stolen")
	w.git("", "checkout", "-q", "old")
	w.write("other.txt", []byte("other\n"))
	w.plain("carol", "something else")
	w.git("carol", "merge", "-q", "--no-ff", "-m", "merge main", "main")
	w.holds()
	if got := w.status(toolKey("read")); got == trust.Approved {
		t.Error("an approval by a stolen key still counts")
	}
}

// TestDroppedByMerge has a merge keep one side alone.
func TestDroppedByMerge(t *testing.T) {
	w := proposed(t)
	w.git("mallory", "merge", "-q", "--no-ff", "-s", "ours", "-m", "merge nothing", "proposal")
	w.breaks(w.head("HEAD"), finding.DecisionLost)
}

// TestAttack21MergedContent merges two approved changes cleanly into a text that
// nobody approved: the audit holds, and nothing is in force for it.
func TestAttack21MergedContent(t *testing.T) {
	w, _ := approved(t)
	w.relock("read 2", "write 1")
	w.commit("alice", "lock other words")
	w.holds()
	if got := w.status(toolKey("read")); got != trust.Changed {
		t.Errorf("read is %s", got)
	}
}

// TestAttack19Teleport moves the branch to an older commit, or to another history.
func TestAttack19Teleport(t *testing.T) {
	w, _ := approved(t)
	recorded := w.holds().Head
	expect := func(o *Options) { o.ExpectHead = recorded }
	w.write("other.txt", []byte("other\n"))
	w.plain("carol", "something else")
	w.holds(expect)
	w.git("", "reset", "-q", "--hard", "HEAD~2")
	w.breaks(w.head("HEAD"), finding.HeadLost, expect)
	w.decide("bob", trust.Approve, toolKey("read"))
	w.commit("bob", "approve read")
	w.breaks(w.head("HEAD"), finding.HeadLost, expect)
}

// TestRewrittenFromPin replaces the whole history, with a trust list of its own.
func TestRewrittenFromPin(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	root := w.root()
	other.holds()
	other.breaks(other.head("HEAD"), finding.TrustRootMismatch, func(o *Options) { o.Root = root })
	other.git("", "reset", "-q", "--hard", "HEAD~1")
	other.breaks(other.head("HEAD"), finding.TrustMissing, func(o *Options) { o.Root = root })
	w.change(trust.Set("maxAge", "90d"))
	w.commit("alice", "ask for a fresh approval")
	second := w.chain().Digest()
	if r := w.holds(func(o *Options) { o.Root = &second }); !r.Pinned || r.Trust != second {
		t.Errorf("pinned %v at %v", r.Pinned, r.Trust)
	}
}

// TestTrustForkMerged has two branches make version 2.
func TestTrustForkMerged(t *testing.T) {
	w := newWorld(t)
	w.git("", "branch", "other")
	w.change(trust.Set("maxAge", "90d"))
	w.commit("alice", "set an age")
	w.git("", "checkout", "-q", "other")
	w.change(trust.Set("maxAge", "30d"))
	w.commit("alice", "set another age")
	w.holds()
	w.git("alice", "merge", "-q", "--no-ff", "-X", "ours", "-m", "merged", "main")
	w.breaks(w.head("HEAD"), finding.TrustForked)
}

// TestWithdrawnVersion takes back a version that waited for signatures.
func TestWithdrawnVersion(t *testing.T) {
	w := newWorld(t)
	v, err := w.chain().Next(trust.Set("maxAge", "90d"))
	w.must(err)
	w.write(trust.VersionPath(2), v.Format())
	w.commit("bob", "ask for an age")
	w.remove(trust.VersionPath(2))
	w.change(trust.Set("maxAge", "30d"))
	w.commit("alice", "another age")
	if r := w.holds(); r.TrustVersions != 2 {
		t.Errorf("%d versions", r.TrustVersions)
	}
}

// TestCosigning adds a signature while it is missing, and after a later decision.
func TestCosigning(t *testing.T) {
	w := newWorld(t)
	w.change(trust.Set("threshold.approve", "2"), trust.Set("threshold.critical", "2"), trust.Set("allowSelfApproval", "true"))
	w.commit("alice", "ask for two")
	id := w.decide("bob", trust.Approve, toolKey("read"))
	w.commit("bob", "approve read")
	pending := w.read(trust.DecisionPath(id))
	d, err := w.state().Cosign(t.Context(), id, w.key("alice"))
	w.must(err)
	w.git("", "branch", "late")
	w.write(trust.DecisionPath(id), d.Format())
	w.commit("alice", "approve read too")
	w.holds()
	w.write(trust.DecisionPath(id), pending)
	w.breaks(w.commit("mallory", "take it back"), finding.DecisionChanged)

	w.git("", "checkout", "-q", "late")
	w.decide("bob", trust.Disable, toolKey("read"))
	w.commit("bob", "disable read")
	w.holds()
	w.write(trust.DecisionPath(id), d.Format())
	w.breaks(w.commit("alice", "sign too late"), finding.DecisionOvertaken)
}

// TestCheckpoint judges from after a bad commit.
func TestCheckpoint(t *testing.T) {
	w, id := approved(t)
	w.remove(trust.DecisionPath(id))
	f := w.lock()
	for i := range f.Server("files").Lists["tool"] {
		f.Server("files").Lists["tool"][i].Decision = canonical.Digest{}
	}
	w.writeLock(f)
	bad := w.plain("mallory", "drop a decision")
	w.breaks(bad, finding.DecisionLost)
	c := trust.Checkpoint{Commit: bad.String(), Lockfile: canonical.Sum(w.read(lockfile.DefaultName)), Reason: "a decision was dropped"}
	w.change(trust.SetCheckpoint(c))
	w.commit("alice", "judge from here")
	r := w.holds()
	if r.Checkpoint == nil || r.Checkpoint.Commit != bad || len(r.Checkpoint.Violations) != 1 || r.Checkpoint.Violations[0].Rule != finding.DecisionLost || r.Checkpoint.Commits != 4 {
		t.Fatalf("the checkpoint is %+v", r.Checkpoint)
	}
	again := w.decide("bob", trust.Approve, toolKey("read"))
	w.commit("bob", "approve read")
	w.holds()
	w.remove(trust.DecisionPath(again))
	w.breaks(w.commit("mallory", "drop another"), finding.DecisionLost)

	w.git("", "reset", "-q", "--hard", bad.String())
	c.Lockfile = canonical.SumString("another lockfile")
	w.change(trust.SetCheckpoint(c))
	w.breaks(w.commit("alice", "judge from elsewhere"), finding.CheckpointInvalid)
}

// TestSignedCommits holds the rule requireSignedCommits, and that without it
// signatures are told and gate nothing.
func TestSignedCommits(t *testing.T) {
	w := newWorld(t)
	w.decide("bob", trust.Approve, toolKey("read"))
	w.plain("bob", "approve read")
	r := w.holds()
	var states []SignatureState
	for _, e := range r.Facts {
		states = append(states, e.Signature)
	}
	if diff := cmp.Diff([]SignatureState{SignedByListed, NotSigned}, states); diff != "" {
		t.Error(diff)
	}
	if e := r.Facts[0]; e.Person != "Alice" || e.Principal != "alice@example.com" || e.Author != "alice@example.com" || e.Fingerprint == "" {
		t.Errorf("the facts are %+v", e)
	}
	w.change(trust.Set("requireSignedCommits", "true"))
	w.commit("alice", "ask for signed commits")
	w.relock("read 2", "write 1")
	w.plain("carol", "lock other words")
	w.decide("bob", trust.Approve, toolKey("write"))
	w.git("", "checkout", "-q", "-b", "signed")
	w.commit("bob", "approve write")
	w.holds()
	w.git("", "checkout", "-q", "main")
	w.git("", "checkout", "-q", "signed", "--", ".")
	w.breaks(w.plain("bob", "approve write"), finding.CommitUnsigned)
	w.git("", "reset", "-q", "--hard", "HEAD~1")
	w.git("", "checkout", "-q", "signed", "--", ".")
	w.breaks(w.commit("mallory", "approve write"), finding.CommitUnsigned)
}

// TestAttack14MalformedCommit has a commit with a second signature header bring a
// decision in.
func TestAttack14MalformedCommit(t *testing.T) {
	w, _ := approved(t)
	w.decide("bob", trust.Reject, toolKey("read"))
	w.commit("bob", "reject read")
	raw := w.git("", "cat-file", "commit", "HEAD") + "\n"
	before, after, _ := strings.Cut(raw, "\ngpgsig ")
	cmd := exec.Command("git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally")
	cmd.Dir, cmd.Stdin = w.dir, strings.NewReader(before+"\ngpgsig-sha256 junk\ngpgsig "+after)
	id, err := cmd.Output()
	w.must(err)
	w.git("", "reset", "-q", "--hard", strings.TrimSpace(string(id)))
	w.breaks(w.head("HEAD"), finding.CommitInvalid)
}

// TestAttack23Shallow audits clones that lack history.
func TestAttack23Shallow(t *testing.T) {
	w, _ := approved(t)
	clone := filepath.Join(t.TempDir(), "clone")
	w.git("", "clone", "-q", "--depth", "1", "file://"+w.dir, clone)
	for _, b := range []gitrepo.Backend{gitrepo.GoGit, gitrepo.GitProgram} {
		repo, err := gitrepo.Open(t.Context(), clone, gitrepo.Options{Backend: b})
		w.must(err)
		_, err = Verify(t.Context(), repo, Options{Now: testNow})
		missing, ok := errors.AsType[*gitrepo.MissingObjectError](err)
		if !ok || !missing.Shallow {
			t.Errorf("the error is %v", err)
		}
		w.must(repo.Close())
	}
}

// TestAttack17Grafts hides a bad commit by a replacement and a forged shallow
// file.
func TestAttack17Grafts(t *testing.T) {
	w, id := approved(t)
	good := w.head("HEAD")
	w.remove(trust.DecisionPath(id))
	bad := w.commit("mallory", "drop a decision")
	w.git("", "replace", bad.String(), good.String())
	w.breaks(bad, finding.DecisionLost)
	w.git("", "replace", "-d", bad.String())
	w.write(".git/shallow", []byte(bad.String()+"\n"))
	w.breaks(bad, finding.DecisionLost)
}

// TestCache skips what was judged, and nothing on the word of another cache.
func TestCache(t *testing.T) {
	w, id := approved(t)
	first := w.holds()
	cached := func(c Cache) func(*Options) { return func(o *Options) { o.Cache = &c } }
	if r := w.holds(cached(*first.Cache)); r.Skipped != 2 || r.Commits != 2 || r.Decisions != 1 || r.TrustVersions != 1 {
		t.Errorf("the report is %+v", r)
	}
	w.decide("bob", trust.Reject, toolKey("read"))
	w.commit("bob", "reject read")
	r := w.holds(cached(*first.Cache))
	if r.Skipped != 2 || r.Commits != 3 || r.Decisions != 2 || r.Lockfiles != 3 {
		t.Errorf("the report is %+v", r)
	}
	if again := w.holds(); *again.Cache != *r.Cache {
		t.Error("the cache of a run that skipped is another one")
	}
	w.remove(trust.DecisionPath(id))
	bad := w.commit("mallory", "drop a decision")
	w.breaks(bad, finding.DecisionLost, cached(*r.Cache))
	for name, c := range map[string]Cache{
		"of-the-bad-head": {Head: bad, Covers: r.Cache.Covers},
		"unknown":         {Head: gitrepo.Hash{}, Covers: r.Cache.Covers},
		"edited":          {Head: r.Cache.Head, Covers: first.Cache.Covers},
	} {
		t.Run(name, func(t *testing.T) { w.breaks(bad, finding.DecisionLost, cached(c)) })
	}
	root := w.root()
	if r := w.breaks(bad, finding.DecisionLost, cached(*first.Cache), func(o *Options) { o.Root = root }); r.Skipped != 0 {
		t.Error("a cache of another trust root was used")
	}
}

// TestUnsigned audits a repository without a trust list.
func TestUnsigned(t *testing.T) {
	w, _ := approved(t)
	w.git("", "checkout", "-q", "main~2")
	if r := w.holds(); r.Commits != 0 || r.Unjudged != 1 {
		t.Errorf("the report is %+v", r)
	}
	w.git("", "checkout", "-q", "main", "--", trust.DecisionFolder)
	w.breaks(w.plain("mallory", "decisions alone"), finding.TrustMissing)
	if _, err := Verify(t.Context(), w.open(gitrepo.GoGit), Options{}); err == nil {
		t.Error("an audit without the time begins")
	}
}
