package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"

	"github.com/google/go-cmp/cmp"
)

func TestLog(t *testing.T) {
	w := newWorld(t)
	w.git("", "checkout", "-q", "-b", "proposal")
	w.relock("read 2", "write 1")
	w.plain("carol", "lock other words\n\nCo-authored-by: Dave <Dave@Example.com>")
	w.decide("bob", trust.Approve, toolKey("read"))
	w.commit("bob", "approve read")
	w.git("", "checkout", "-q", "main")
	w.write("other.txt", []byte("other\n"))
	w.plain("carol", "something else")
	w.git("forge", "merge", "-q", "--no-ff", "-m", "merged", "proposal")
	w.change(trust.Remove("bob@example.com"))
	w.commit("alice", "remove bob, whose key was stolen")
	w.decide("alice", trust.Reject, toolKey("read"))
	w.commit("alice", "reject read")
	f := w.lock()
	f.Server("files").Item("tool", "read").Absent = true
	w.writeLock(f)
	w.plain("carol", "read is gone")

	told := func(want func(surface.Key) bool) []string {
		var lines []string
		events, err := Log(t.Context(), w.open(gitrepo.GoGit), Options{Now: testNow}, want)
		w.must(err)
		for _, e := range events {
			item := ""
			if e.Item != nil {
				item = e.Item.String()
			}
			lines = append(lines, strings.Join(strings.Fields(fmt.Sprint(e.Commit.Author, " ", e.Type, " ", item, " ", e.Action, " ", e.Status, " ", e.By, " v", e.Trust)), " "))
		}
		if _, err := json.Marshal(events); err != nil {
			t.Error(err)
		}
		return lines
	}
	want := []string{
		"alice@example.com proposed files source [] v0",
		"alice@example.com proposed files/read [] v0",
		"alice@example.com proposed files/write [] v0",
		"alice@example.com trust [Alice] v1",
		"carol@example.com proposed files/read new [] v0",
		"bob@example.com decided files/read approve approved [Bob] v1",
		"alice@example.com trust [Alice] v2",
		"alice@example.com decided files/read reject rejected [Alice] v2",
		"carol@example.com absent files/read absent [] v0",
	}
	if diff := cmp.Diff(want, told(nil)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{want[2]}, told(func(k surface.Key) bool { return k == toolKey("write") })); diff != "" {
		t.Error(diff)
	}
}

// TestLogOfDamage tells a history with an unreadable lockfile in it.
func TestLogOfDamage(t *testing.T) {
	w, _ := approved(t)
	w.write(lockfile.DefaultName, []byte("<<<<<<< HEAD\n"))
	w.plain("mallory", "a conflict that was committed")
	w.git("", "checkout", "-q", "HEAD~1", "--", lockfile.DefaultName)
	w.plain("carol", "fix it")
	events, err := Log(t.Context(), w.open(gitrepo.GoGit), Options{Now: testNow}, nil)
	w.must(err)
	n := 0
	for _, e := range events {
		if e.Type == EventUnreadable {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d events say that something is unreadable", n)
	}
}

func TestProposers(t *testing.T) {
	w := newWorld(t)
	base := w.head("HEAD")
	w.relock("read 2", "write 1")
	w.plain("carol", "lock other words\n\nCo-authored-by: Bob <BOB@example.com>\nco-authored-by: nobody")
	w.relock("read 2", "write 2")
	w.commit("mallory", "lock other words")
	w.write("other.txt", []byte("other\n"))
	w.plain("dave", "something else")
	mallory := fingerprint(w.key("mallory").Key())
	keys := []surface.Key{toolKey("read"), toolKey("write"), {Server: "files", Kind: surface.KindSource}}
	always := func(trust.Text) bool { return true }
	for _, b := range []gitrepo.Backend{gitrepo.GoGit, gitrepo.GitProgram} {
		p, err := Proposers(t.Context(), w.open(b), ProposersOptions{Base: base, Since: always, Chain: w.chain(), Texts: w.texts(keys...)})
		w.must(err)
		want := map[string][]string{
			"read":  {"Bob", "carol@example.com", "nobody"},
			"write": sorted([]string{mallory, "mallory@example.com"}),
		}
		for name, persons := range want {
			if diff := cmp.Diff(persons, p.Persons(w.texts(toolKey(name))[0], nil)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if persons := p.Persons(w.texts(keys[2])[0], nil); len(persons) > 0 {
			t.Errorf("the source has proposers since the base: %q", persons)
		}
	}
	// The whole history: alice locked the source.
	p, err := Proposers(t.Context(), w.open(gitrepo.GoGit), ProposersOptions{Chain: w.chain(), Texts: w.texts(keys...)})
	w.must(err)
	if diff := cmp.Diff([]string{"Alice"}, p.Persons(w.texts(keys[2])[0], nil)); diff != "" {
		t.Error(diff)
	}
	// What is not committed was brought in by the user.
	w.relock("read 3", "write 2")
	p, err = Proposers(t.Context(), w.open(gitrepo.GoGit), ProposersOptions{
		Base: base, Since: always, Chain: w.chain(), Texts: w.texts(keys...), Working: w.lock(), User: gitrepo.Identity{Email: "Erin@example.com"}, UserKey: w.key("bob").Key(),
	})
	w.must(err)
	if diff := cmp.Diff([]string{"Bob", "erin@example.com"}, p.Persons(w.texts(toolKey("read"))[0], nil)); diff != "" {
		t.Error(diff)
	}
	if !p.Of(w.texts(toolKey("read"))[0]).Uncommitted || p.Of(w.texts(toolKey("write"))[0]).Uncommitted {
		t.Error("what is uncommitted is told wrongly")
	}
}

// TestProposersThroughMerges finds who wrote a text and not who merged it, and
// whoever brought a text back.
func TestProposersThroughMerges(t *testing.T) {
	w := newWorld(t)
	base := w.head("HEAD")
	w.git("", "checkout", "-q", "-b", "proposal")
	w.relock("read 2", "write 1")
	w.plain("carol", "lock other words")
	w.git("", "checkout", "-q", "main")
	w.write("other.txt", []byte("other\n"))
	w.plain("dave", "something else")
	w.git("forge", "merge", "-q", "--no-ff", "-m", "merged", "proposal")
	ask := func() []string {
		p, err := Proposers(t.Context(), w.open(gitrepo.GoGit), ProposersOptions{Base: base, Since: func(trust.Text) bool { return true }, Chain: w.chain(), Texts: w.texts(toolKey("read"))})
		w.must(err)
		return p.Persons(w.texts(toolKey("read"))[0], nil)
	}
	if diff := cmp.Diff([]string{"carol@example.com"}, ask()); diff != "" {
		t.Error(diff)
	}
	w.relock("read 1", "write 1")
	w.plain("erin", "go back")
	w.relock("read 2", "write 1")
	w.commit("bob", "and forth")
	if diff := cmp.Diff([]string{"Bob", "carol@example.com"}, ask()); diff != "" {
		t.Error(diff)
	}
}

// TestProposersWithoutCommit asks in a repository without a commit.
func TestProposersWithoutCommit(t *testing.T) {
	w := newWorld(t)
	lock, texts := w.lock(), w.texts(toolKey("read"))
	w.dir = t.TempDir()
	w.git("", "init", "-q")
	p, err := Proposers(t.Context(), w.open(gitrepo.Automatic), ProposersOptions{Texts: texts, Working: lock, User: gitrepo.Identity{Name: "Erin"}})
	w.must(err)
	if diff := cmp.Diff([]string{"erin"}, p.Persons(texts[0], nil)); diff != "" {
		t.Error(diff)
	}
}

func TestIdentity(t *testing.T) {
	long := strings.Repeat("x", 300)
	cases := []struct{ name, email, want string }{
		{"Carol", " Carol@Example.com ", "carol@example.com"},
		{"Carol", "", "carol"},
		{"", "", "nobody"},
		{"", "bad\xff", "bad\uFFFD"},
		{"", long, "sha256:" + canonical.SumString(long).String()},
	}
	for _, c := range cases {
		if got := identity(c.name, c.email); got != c.want {
			t.Errorf("identity(%q, %q) is %q, not %q", c.name, c.email, got, c.want)
		}
	}
}

func TestBefore(t *testing.T) {
	w := newWorld(t)
	definition := func(text string) []byte {
		return []byte(`{"description":"` + text + `","inputSchema":{},"name":"read"}`)
	}
	lock := func(text string) {
		w.t.Helper()
		list, _ := surface.NewList(surface.KindTool, [][]byte{definition(text)})
		s := surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: list}, Instructions: surface.NewInstructions("use " + text)}
		entry := lockfile.FromSurface("files", &source.Source{Transport: source.Stdio, Command: "serve"}, []string{"instructions", "tools"}, s)
		f := w.lock()
		lockfile.Carry(f.Server("files"), entry)
		f.Put(entry)
		fsys, err := lockfile.OpenDir(w.dir)
		w.must(err)
		defer func() { w.must(fsys.Close()) }()
		store := lockfile.NewStore(fsys, lockfile.DefaultName)
		old, err := store.Read()
		w.must(err)
		_, err = store.Write(t.Context(), lockfile.Change{Old: old, New: f, Surfaces: map[string]surface.Surface{"files": s}})
		w.must(err)
	}
	lock("one")
	w.decide("bob", trust.Approve, toolKey("read"))
	w.commit("bob", "lock and approve one")
	one := w.lock()
	lock("two")
	w.decide("bob", trust.Approve, toolKey("read"))
	bad := w.commit("bob", "lock and approve two")
	b, err := ReadBefore(t.Context(), w.open(gitrepo.GoGit), bad, Options{})
	w.must(err)
	if b.Parent != w.head("HEAD~1") || len(b.Missing) > 0 {
		t.Fatalf("parent %v, missing %q", b.Parent, b.Missing)
	}
	texts := b.Surfaces["files"]
	if got := string(texts.Lists[surface.KindTool].Definitions[0].Canonical); got != string(definition("one")) || texts.Instructions.Text != "use one" {
		t.Errorf("the texts are %s and %q", got, texts.Instructions.Text)
	}
	f, err := b.Over(w.lock())
	w.must(err)
	read, now := f.Server("files").Item("tool", "read"), w.lock().Server("files").Item("tool", "read")
	if read.Digest != one.Server("files").Item("tool", "read").Digest || read.Decision != now.Decision {
		t.Errorf("read is %+v", read)
	}
	w.writeLock(f)
	w.plain("carol", "revert")
	w.holds()
	if got := w.status(toolKey("read")); got != trust.Changed {
		t.Errorf("read is %s", got)
	}
	first := w.head("HEAD~4")
	if _, err := ReadBefore(t.Context(), w.open(gitrepo.GoGit), first, Options{}); !errors.Is(err, ErrNoParent) {
		t.Errorf("before the first commit there is %v", err)
	}
}
