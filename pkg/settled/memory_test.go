package settled

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"agentgateway-lock/pkg/canonical"
)

func digest(s string) canonical.Digest { return canonical.SumString(s) }

var notes = Key{"https://example.com/we/project", "agentgateway.lock", "notes"}

func TestMemoryLocked(t *testing.T) {
	m := &Memory{Clone: "/clone/.git"}
	m.Locked(Record{Key: notes, Source: digest("stranger's")}, false)
	if m.Find(notes, digest("stranger's")) != nil {
		t.Error("a source that a lock found in the lockfile is remembered")
	}
	m.Locked(Record{Key: notes, Source: digest("own"), Surroundings: Print{Sum: digest("1")}}, true)
	m.Locked(Record{Key: notes, Source: digest("own"), Surroundings: Print{Sum: digest("2")}}, false)
	if r := m.Find(notes, digest("own")); r == nil || r.Surroundings.Sum != digest("2") || len(m.Records) != 1 {
		t.Errorf("the record was not renewed: %+v", m.Records)
	}
	for _, other := range []Key{
		{"https://example.com/they/project", notes.Lockfile, notes.Server}, {"", notes.Lockfile, notes.Server},
		{notes.Remote, "sub/agentgateway.lock", notes.Server}, {notes.Remote, notes.Lockfile, "other"},
	} {
		if m.Find(other, digest("own")) != nil {
			t.Errorf("%+v has the record of %+v", other, notes)
		}
	}
	for i := range 20 {
		m.Locked(Record{Key: notes, Source: digest(fmt.Sprint(i))}, true)
		m.Locked(Record{Key: Key{Server: "other"}, Source: digest(fmt.Sprint(i))}, i == 0)
	}
	for i := range 20 {
		if got := m.Find(notes, digest(fmt.Sprint(i))) != nil; got != (i >= 4) {
			t.Errorf("record %d of 20: kept %v", i, got)
		}
	}
	if m.Find(Key{Server: "other"}, digest("0")) == nil {
		t.Error("another server's record was dropped")
	}
}

func TestMemoryRemotes(t *testing.T) {
	m := &Memory{}
	if m.Knows("") || m.Forget("") {
		t.Error("an empty memory knows a clone without a remote")
	}
	m.Accept("")
	m.Accept("u")
	m.Accept("u")
	if !m.Knows("") || !m.Knows("u") || m.Knows("v") || !m.Forget("u") || m.Knows("u") || !m.Knows("") {
		t.Errorf("%+v", m)
	}
}

func TestMemoryAllow(t *testing.T) {
	m := &Memory{}
	m.Allow(notes, digest("a"))
	m.Allow(notes, digest("b"))
	if m.Allowed(notes, digest("a")) || !m.Allowed(notes, digest("b")) || m.Allowed(Key{Server: "notes"}, digest("b")) {
		t.Errorf("%+v", m.Allows)
	}
	l := Look{notes, digest("a"), digest("s")}
	m.Look(l)
	m.Look(l)
	if !m.Looked(l) || len(m.Looks) != 1 || m.Looked(Look{notes, digest("b"), digest("s")}) || m.Looked(Look{notes, digest("a"), digest("t")}) {
		t.Errorf("%+v", m.Looks)
	}
}

// TestMemoryForm makes memories at random and reads them back.
func TestMemoryForm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string { return strings.Repeat("x", r.IntN(3)) + string(rune(r.IntN(0x300))) }
	for range 200 {
		m := &Memory{Clone: word()}
		for range r.IntN(4) {
			k := Key{word(), word(), word()}
			m.Accept(word())
			m.Locked(Record{Key: k, Source: digest(word()), Items: []Item{{"tool", word(), digest(word())}}, Surroundings: Print{digest(word()), map[string]canonical.Digest{word(): digest("f")}}}, true)
			m.Allow(k, digest(word()))
			m.Look(Look{k, digest(word()), digest(word())})
		}
		back, err := ParseMemory(m.Format())
		if err != nil || !reflect.DeepEqual(back, m) {
			t.Fatalf("%+v\nis read as\n%+v, %v", m, back, err)
		}
	}
	for _, bad := range []string{"", "[]", "{} {}", `{"unknown":1}`, `{"records":[{"source":"x"}]}`} {
		if m, err := ParseMemory([]byte(bad)); err == nil {
			t.Errorf("%q is read as %+v", bad, m)
		}
	}
}
