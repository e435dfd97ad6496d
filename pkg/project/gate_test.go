package project

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agentgateway-lock/cmd/mockupstream/upstream"
	"agentgateway-lock/pkg/finding"
)

// onBranch is a world with a lockfile on main, and a branch that is checked out.
func onBranch(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.configure("some-server")
	w.lock()
	w.commit("first")
	w.git("checkout", "-q", "-b", "topic")
	return w
}

var offline = GateOptions{Offline: true}

// TestGateLockfile holds what the gate asks of the lockfile by itself.
func TestGateLockfile(t *testing.T) {
	w := newWorld(t)
	w.configure("some-server")
	w.expect("none", offline, 1, false, finding.LockfileMissing)
	w = onBranch(t)
	w.git("rm", "-q", "-r", "agentgateway.lock", ".agentgateway")
	w.commit("removed")
	w.expect("removed", offline, 1, false, finding.LockfileRemoved)
}

// TestGateHashes holds that hashes and copies are recomputed, and that nothing is
// started where they fail.
func TestGateHashes(t *testing.T) {
	w := onBranch(t)
	text := w.read("agentgateway.lock")
	i := strings.Index(text, `"digest": "`) + len(`"digest": "`)
	w.write("agentgateway.lock", text[:i]+strings.Repeat("1", 64)+text[i+64:])
	w.commit("another digest")
	rep := w.expect("another digest", GateOptions{}, 1, false, finding.DefinitionMismatch)
	if !strings.Contains(rep.Subject, "no server was contacted") {
		t.Errorf("the subject is %q", rep.Subject)
	}
}

// TestGateBase holds the rules against going back.
func TestGateBase(t *testing.T) {
	w := onBranch(t)
	if _, err := w.open().Lock(t.Context(), LockOptions{Exclude: []string{"prompts"}}); err != nil {
		t.Fatal(err)
	}
	w.commit("narrower")
	w.expect("covers less", offline, 1, false, finding.CoverageReduced)

	w = onBranch(t)
	w.git("mv", "agentgateway.lock", "agentgate.lock")
	w.commit("the original name")
	w.expect("the other name", offline, 1, false, finding.LockfileRemoved)

	w = onBranch(t)
	if _, err := w.open().Lock(t.Context(), LockOptions{Include: []string{"resources"}}); err != nil {
		t.Fatal(err)
	}
	w.commit("wider")
	w.expect("covers more", offline, 0, false)
	w.git("checkout", "-q", "main")
	w.git("merge", "-q", "--no-ff", "-m", "merge", "topic")
	w.git("checkout", "-q", "-b", "back")
	w.git("checkout", "-q", "main~1", "--", "agentgateway.lock")
	w.commit("back")
	w.expect("an older one", offline, 1, false, finding.LockfileOlder, finding.CoverageReduced)
}

// TestGateCommitted holds that what is judged is what is committed, as a regular file.
func TestGateCommitted(t *testing.T) {
	w := onBranch(t)
	w.commit("more")
	w.edit("agentgateway.lock", `"generatedBy": "`, `"generatedBy": "x`)
	w.expect("not what is committed", offline, 1, false, finding.LockfileSymlink)
}

// TestGateDrift holds that a live surface that differs fails, and that a server that
// cannot be listed is no pass.
func TestGateDrift(t *testing.T) {
	w := newWorld(t)
	w.configure("some-server")
	w.lock()
	w.commit("first")
	w.expect("as locked", GateOptions{}, 0, true)
	w.change = func(s *upstream.Server) error { return s.Describe("echo", "Other words.") }
	w.expect("other words", GateOptions{}, 1, true, finding.DescriptionChanged)
	w.expect("other words, where only critical fails", GateOptions{CompareOptions: CompareOptions{FailOn: finding.Critical}}, 0, true, finding.DescriptionChanged)
	w.change = func(*upstream.Server) error { return errors.New("no such program") }
	w.expect("cannot be started", GateOptions{}, 3, true, finding.ServerUnreachable)
	w.change, w.memory = nil, memoryState{}
	w.expect("not settled", GateOptions{CompareOptions: CompareOptions{FailOn: finding.Critical}}, 3, false, finding.SourceNew)
}

// TestGatePush holds the base of a push to the default branch: what was there before,
// and where that is gone, a word about it.
func TestGatePush(t *testing.T) {
	w := newWorld(t)
	w.configure("some-server")
	w.lock()
	before := w.commit("first")
	if _, err := w.open().Lock(t.Context(), LockOptions{Exclude: []string{"prompts"}}); err != nil {
		t.Fatal(err)
	}
	after := w.commit("narrower")
	const zero = "0000000000000000000000000000000000000000"
	push := func(ref, before string) {
		w.event("push", ref, w.git("rev-parse", "HEAD"), `{"before":"`+before+`","repository":{"default_branch":"main"}}`)
	}
	push("refs/heads/main", before)
	w.expect("a push to main", offline, 1, false, finding.CoverageReduced)
	push("refs/heads/main", zero)
	w.expect("the first push", offline, 0, false)
	push("refs/heads/main", strings.Repeat("1", 40))
	w.expect("a push onto what the clone lacks", offline, 3, false, finding.HistoryShallow)
	push("refs/heads/main", "main")
	w.expect("a name in place of a commit", offline, 3, false, finding.HistoryShallow)
	w.git("reset", "-q", "--hard", before)
	push("refs/heads/main", after)
	w.expect("a push that takes a lockfile out", offline, 1, false, finding.HistoryRewritten)
	w.git("commit", "-q", "--allow-empty", "-m", "other")
	other := w.git("rev-parse", "HEAD")
	w.git("reset", "-q", "--hard", before)
	push("refs/heads/main", other)
	rep := w.expect("a push that takes nothing of it out", offline, 0, false)
	if !slices.ContainsFunc(rep.Findings, func(f finding.Finding) bool { return f.Code == finding.HistoryRewritten }) {
		t.Errorf("nothing is said: %+v", rep.Findings)
	}
	// On another branch before is what its author pushed.
	w.git("checkout", "-q", "-b", "topic")
	if _, err := w.open().Lock(t.Context(), LockOptions{Exclude: []string{"prompts"}}); err != nil {
		t.Fatal(err)
	}
	first := w.commit("narrower")
	w.commit("second")
	push("refs/heads/topic", first)
	w.expect("a second push to a branch", offline, 1, false, finding.CoverageReduced)
}

// TestGateMerges holds which merge commit has its base as its first parent: the one that
// the CI system made of the head of the pull request, and none that its author made.
func TestGateMerges(t *testing.T) {
	w := onBranch(t)
	base := w.git("rev-parse", "main")
	if _, err := w.open().Lock(t.Context(), LockOptions{Exclude: []string{"prompts"}}); err != nil {
		t.Fatal(err)
	}
	narrower := w.commit("narrower")
	w.git("checkout", "-q", "-b", "side")
	w.commit("side")
	w.git("checkout", "-q", "topic")
	w.git("merge", "-q", "--no-ff", "-m", "the author's merge", "side")
	head := w.git("rev-parse", "HEAD")
	pull := func(sha, head string) {
		w.event("pull_request", "refs/pull/1/merge", sha, `{"pull_request":{"base":{"sha":"`+base+`","repo":{"full_name":"we/p"}},"head":{"sha":"`+head+`","repo":{"full_name":"we/p"}}},"repository":{"default_branch":"main"}}`)
	}
	pull(head, head)
	w.expect("the author's merge is the head", offline, 1, false, finding.CoverageReduced)
	pull(narrower, head)
	w.expect("the author's merge, and another commit is the event's", offline, 1, false, finding.CoverageReduced)
	w.git("checkout", "-q", "main")
	w.commit("main goes on")
	w.git("checkout", "-q", "--detach", "main")
	w.git("merge", "-q", "--no-ff", "-m", "the system's merge", "topic")
	merge := w.git("rev-parse", "HEAD")
	pull(merge, head)
	if got, problem := w.open().findBase(t.Context(), BaseOptions{}); problem != nil || got.Commit.String() != w.git("rev-parse", "main") {
		t.Errorf("the base is %v, %v", got.Commit, problem)
	}
	pull(base, head)
	if got, problem := w.open().findBase(t.Context(), BaseOptions{}); problem != nil || got.Commit.String() != base {
		t.Errorf("a merge that nothing names has the base %v, %v", got.Commit, problem)
	}
}

// TestGateLessExact holds that an entry may not become less exact than the base's.
func TestGateLessExact(t *testing.T) {
	for name, member := range map[string]string{
		"no source":  `(?s)      "source": \{.*?\n      \},\n()`,
		"no digests": `(?s)(?:,\s*"(?:gatewayDigest|digest)": "[0-9a-f]{64}"){2}(\s*\},?\s*\{\s*"name": "[a-z_]*",\s*"nameHash"|\s*\}\s*\],\s*"prompts")`,
	} {
		w := onBranch(t)
		text := regexp.MustCompile(member).ReplaceAllString(w.read("agentgateway.lock"), "$1")
		text = regexp.MustCompile(`,(\s*[}\]])`).ReplaceAllString(text, "$1")
		w.write("agentgateway.lock", text)
		w.commit(name)
		rep, _ := w.gate(offline)
		if rep.ExitCode != 1 || !slices.ContainsFunc(rep.Findings, func(f finding.Finding) bool { return f.Code == finding.CoverageReduced }) {
			t.Errorf("%s: exit code %d, %+v", name, rep.ExitCode, rep.Findings)
		}
	}
}

// TestGateNoBase holds that a base that should be there and is not leaves the run
// undecided, and that one that need not be does not.
func TestGateNoBase(t *testing.T) {
	w := onBranch(t)
	w.git("checkout", "-q", "--orphan", "unrelated")
	w.commit("another history")
	w.expect("no commit in common", offline, 3, false, finding.HistoryShallow)

	w = newWorld(t)
	w.configure("some-server")
	w.lock()
	w.commit("first")
	w.git("branch", "-q", "-m", "trunk")
	w.expect("one branch of another name", offline, 0, false)
	w.variables["CI"] = "true"
	w.expect("one branch of another name, in CI", offline, 3, false, finding.HistoryShallow)
	w.expect("named", GateOptions{Offline: true, CompareOptions: CompareOptions{BaseOptions: BaseOptions{DefaultBranch: "trunk"}}}, 0, false)
	delete(w.variables, "CI")
	w.git("remote", "add", "origin", w.dir)
	w.git("fetch", "-q", "origin")
	rep := w.expect("a remote whose default branch the clone does not know", offline, 3, false, finding.HistoryShallow)
	if i := slices.IndexFunc(rep.Findings, func(f finding.Finding) bool { return f.Code == finding.HistoryShallow }); i < 0 || !strings.Contains(rep.Findings[i].Hint, "git remote set-head origin --auto") {
		t.Errorf("the hint is missing: %+v", rep.Findings)
	}
	w.expect("a base that is nowhere", GateOptions{Offline: true, CompareOptions: CompareOptions{BaseOptions: BaseOptions{Base: "nowhere"}}}, 3, false, finding.HistoryShallow)
}
