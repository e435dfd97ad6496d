package trust

import (
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/sshsig"
)

// tree is the world as a file system.
func (w *world) tree() fstest.MapFS {
	m := fstest.MapFS{}
	for _, v := range w.versions {
		m[VersionPath(v.Number)] = &fstest.MapFile{Data: v.Data, Mode: 0o444}
	}
	for id, data := range w.decisions {
		m[DecisionPath(id)] = &fstest.MapFile{Data: data, Mode: 0o444}
	}
	return m
}

// OddTrees are changes of a good tree that nobody may accept: one for each way in
// which two readers of a tree could disagree.
var oddTrees = []struct {
	name   string
	change func(m fstest.MapFS, decision string)
	rule   Rule // of the ChainError; empty where a decision is refused
}{
	{"trust/stray file", func(m fstest.MapFS, _ string) { m[".agentgateway/trust/README"] = plain("hello") }, RuleStray},
	{"trust/stray folder", func(m fstest.MapFS, _ string) { m[".agentgateway/trust/old/1.json"] = plain("{}") }, RuleStray},
	{"trust/number with a zero", func(m fstest.MapFS, _ string) { m[".agentgateway/trust/01.json"] = m[VersionPath(1)] }, RuleStray},
	{"trust/twin of a version", func(m fstest.MapFS, _ string) { m[".agentgateway/trust/1.JSON"] = m[VersionPath(1)] }, RuleStray},
	{"trust/twin of the folder", func(m fstest.MapFS, _ string) { m[".agentgateway/Trust/1.json"] = m[VersionPath(1)] }, RuleTwin},
	{"trust/twin of all folders", func(m fstest.MapFS, _ string) { m[".AgentGateway/trust/1.json"] = m[VersionPath(1)] }, RuleTwin},
	{"trust/twin that is a file", func(m fstest.MapFS, _ string) { m[".AGENTGATEWAY"] = plain("") }, RuleTwin},
	{"trust/linked version", func(m fstest.MapFS, _ string) { m[VersionPath(2)] = symlink("1.json") }, RuleLink},
	{"trust/version that is a folder", func(m fstest.MapFS, _ string) { m[VersionPath(2)+"/x"] = plain("") }, RuleLink},
	{"trust/linked folder", func(m fstest.MapFS, _ string) {
		m["elsewhere/1.json"] = m[VersionPath(1)]
		delete(m, VersionPath(1))
		m[".agentgateway/trust"] = symlink("../elsewhere")
	}, RuleLink},
	{"trust/huge version", func(m fstest.MapFS, _ string) {
		m[VersionPath(2)] = plain(strings.Repeat(" ", MaxVersionSize+1))
	}, RuleSize},
	{"trust/gap", func(m fstest.MapFS, _ string) { m[VersionPath(3)] = m[VersionPath(1)] }, RuleSkipped},
	{"trust/copy of a version", func(m fstest.MapFS, _ string) { m[VersionPath(2)] = m[VersionPath(1)] }, RuleNumber},
	{"trust/empty version", func(m fstest.MapFS, _ string) { m[VersionPath(2)] = plain("") }, "syntax"},
	{"trust/missing", func(m fstest.MapFS, _ string) { delete(m, VersionPath(1)) }, RuleNoList},
	{"decisions/stray file", func(m fstest.MapFS, _ string) { m[".agentgateway/decisions/README"] = plain("hello") }, ""},
	{"decisions/stray file in a group", func(m fstest.MapFS, _ string) { m[".agentgateway/decisions/ab/README"] = plain("hello") }, ""},
	{"decisions/folder in a group", func(m fstest.MapFS, _ string) { m[".agentgateway/decisions/ab/cd/x.json"] = plain("{}") }, ""},
	{"decisions/in another group", func(m fstest.MapFS, at string) {
		m[".agentgateway/decisions/"+other(at)+at[strings.LastIndexByte(at, '/'):]] = m[at]
	}, ""},
	{"decisions/twin in upper case", func(m fstest.MapFS, at string) {
		folder, name := at[:strings.LastIndexByte(at, '/')], at[strings.LastIndexByte(at, '/')+1:]
		m[folder+"/"+strings.ToUpper(strings.TrimSuffix(name, ".json"))+".json"] = m[at]
	}, ""},
	{"decisions/twin of the folder", func(m fstest.MapFS, at string) {
		m[".agentgateway/DECISIONS/"+strings.TrimPrefix(at, ".agentgateway/decisions/")] = m[at]
	}, RuleTwin},
	{"decisions/linked", func(m fstest.MapFS, at string) {
		m["elsewhere.json"] = m[at]
		m[at] = symlink("../../../elsewhere.json")
	}, ""},
	{"decisions/linked folder", func(m fstest.MapFS, at string) {
		m["elsewhere/x"] = plain("")
		delete(m, at)
		m[".agentgateway/decisions"] = symlink("../elsewhere")
	}, ""},
	{"decisions/folder that is a file", func(m fstest.MapFS, at string) {
		delete(m, at)
		m[".agentgateway/decisions"] = plain("")
	}, ""},
	{"decisions/huge", func(m fstest.MapFS, at string) {
		m[at] = plain(string(m[at].Data) + strings.Repeat(" ", MaxDecisionSize))
	}, ""},
	{"decisions/under another id", func(m fstest.MapFS, at string) {
		m[DecisionPath(digestOf("another"))] = m[at]
	}, ""},
	{"decisions/without a signature", func(m fstest.MapFS, at string) {
		d, err := ParseDecision(m[at].Data)
		if err != nil {
			panic(err)
		}
		m[at] = plain(string((&Decision{Statement: d.Statement}).Format()))
	}, ""},
}

func plain(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text), Mode: 0o444} }
func symlink(to string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
}

// other is a group of decisions that is not the one at a path.
func other(at string) string {
	if strings.HasPrefix(at, ".agentgateway/decisions/ab/") {
		return "cd"
	}
	return "ab"
}

func TestReadOddTrees(t *testing.T) {
	w := newWorld(t)
	at := DecisionPath(w.decide([]string{"alice"}, Approve, w.allKeys()...))
	w.lock.Trust = w.chain().Digest()
	a, err := Read(w.tree(), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Check(w.lock); err != nil || a.Ledger.Len() != 1 || a.Chain.Len() != 1 || len(a.Versions) != 1 {
		t.Fatalf("the good tree: %v, %d decisions", err, a.Ledger.Len())
	}
	for _, tc := range oddTrees {
		t.Run(tc.name, func(t *testing.T) {
			m := w.tree()
			tc.change(m, at)
			a, err := Read(m, ReadOptions{})
			if err == nil {
				err = a.Check(w.lock)
			}
			chain, isChain := errors.AsType[*ChainError](err)
			_, isDecision := errors.AsType[*DecisionError](err)
			if tc.rule == "" && !isDecision || tc.rule != "" && (!isChain || chain.Rule != tc.rule) {
				t.Errorf("error %v, want rule %q", err, tc.rule)
			}
		})
	}
	t.Run("the lockfile names another list", func(t *testing.T) {
		lock := *w.lock
		lock.Trust = digestOf("another list")
		if chain, ok := errors.AsType[*ChainError](a.Check(&lock)); !ok || chain.Rule != RuleLost {
			t.Errorf("error %v", a.Check(&lock))
		}
	})
}

// A file that cannot be read is neither a decision nor none: nothing is judged.
func TestReadUnreadable(t *testing.T) {
	w := newWorld(t)
	at := DecisionPath(w.decide([]string{"alice"}, Approve, w.allKeys()...))
	for _, name := range []string{at, VersionPath(1), ".agentgateway/trust", ".agentgateway/decisions", at[:strings.LastIndexByte(at, '/')]} {
		_, err := Read(unreadable{w.tree(), name}, ReadOptions{})
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: error %v, want ErrPermission", name, err)
		}
	}
}

// unreadable is a tree of which one file or folder cannot be opened.
type unreadable struct {
	fstest.MapFS
	name string
}

func (u unreadable) Open(name string) (fs.File, error) {
	if name == u.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return u.MapFS.Open(name)
}

// Counting is a [Verifier] that counts what it is asked.
type counting struct{ calls atomic.Int64 }

func (c *counting) Verify(message, blob []byte, ns sshsig.Namespace) (string, error) {
	c.calls.Add(1)
	return SSH{}.Verify(message, blob, ns)
}

// However many trees hold a signature, it is verified once.
func TestOnce(t *testing.T) {
	w := newWorld(t)
	w.decide([]string{"alice"}, Approve, w.allKeys()...)
	count := &counting{}
	v := Once(count)
	var known *Ledger
	for range 3 {
		a, err := Read(w.tree(), ReadOptions{Known: known, Verifier: v})
		if err != nil {
			t.Fatal(err)
		}
		known = a.Ledger
	}
	w.change([]string{"alice"}, Add(w.signer("bob", "Bob", Approver)))
	if _, err := Read(w.tree(), ReadOptions{Known: known, Verifier: v}); err != nil {
		t.Fatal(err)
	}
	if n := count.calls.Load(); n != 3 { // two versions and a decision
		t.Errorf("%d signatures were verified, and there are 3", n)
	}
	// One that does not verify is remembered as such, and no other is taken for it.
	blob := w.decisionSignature(t)
	for range 2 {
		if _, err := v.Verify([]byte("other words"), blob, sshsig.NamespaceDecision); err == nil {
			t.Error("a signature over other words was accepted")
		}
	}
	if n := count.calls.Load(); n != 4 {
		t.Errorf("%d calls, want 4", n)
	}
}

func (w *world) decisionSignature(t *testing.T) []byte {
	t.Helper()
	for _, data := range w.decisions {
		d, err := ParseDecision(data)
		if err != nil {
			t.Fatal(err)
		}
		return d.Signatures[0]
	}
	t.Fatal("no decision")
	return nil
}

func TestLedgerFiles(t *testing.T) {
	w := newWorld(t)
	id := w.decide([]string{"alice"}, Approve, w.allKeys()...)
	files := w.ledger().Files(w.path)
	if len(files) != 1 || files[0].Path != DecisionPath(id) || canonical.Sum(files[0].Data) != canonical.Sum(w.decisions[id]) {
		t.Errorf("%v", files)
	}
	if files := w.ledger().Files("another.lock"); len(files) != 0 {
		t.Errorf("%v", files)
	}
}
