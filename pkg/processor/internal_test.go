package processor

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A failure inside the processor is a denial, and the next message is judged.
func TestPanicIsADenial(t *testing.T) {
	p := New()
	p.policy.Store(&Policy{targets: map[string]*server{"files": {source: true}}}) // no cache
	list := p.Judge(&Message{Phase: PhaseResponse, Method: "tools/list", Targets: []string{"files"}, Body: []byte(`{"tools":[]}`)})
	if !list.Denied() || list.Code != DeniedInternal || !strings.Contains(list.Failure, "cache") {
		t.Errorf("the failure is not reported: %+v", list)
	}
	if ping := p.Judge(&Message{Phase: PhaseRequest, Method: "ping", Targets: []string{"files"}}); ping.Denied() {
		t.Errorf("%+v", ping)
	}
}

// The evidence of a service stays within its share, whatever is listed, and what
// it counts is what it holds.
func TestEvidenceIsWeighed(t *testing.T) {
	e := newEvidence()
	e.policyChanged(1<<20, false)
	w := e.make("files")
	if w.share != minShare {
		t.Fatalf("a share of %d", w.share)
	}
	known := &item{kind: tool, name: "known"}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		g := group{kind: kind(random.IntN(kinds)), seen: []observation{{name: "known", item: known}}}
		for range random.IntN(300) {
			g.seen = append(g.seen, observation{name: strings.Repeat("n", random.IntN(maxName+9)) + strconv.Itoa(random.IntN(5000))})
		}
		w.listed(strconv.Itoa(random.IntN(400)), &g, time.Unix(int64(i), 0))
		size := 0
		for name, s := range w.scopes {
			counted, unknown := scopeSize+len(name), 0
			for k := range s.items {
				counted += entrySize
				if k.name != "known" {
					counted += len(k.name)
					unknown++
				}
			}
			if counted != s.size || unknown != s.unknown || unknown > maxUnknown {
				t.Fatalf("scope %s: %d bytes and %d names counted, %d and %d held", name, s.size, s.unknown, counted, unknown)
			}
			size += counted
		}
		if size != w.size || size > w.share && len(w.scopes) > 1 {
			t.Fatalf("%d bytes counted, %d held, the share is %d", w.size, size, w.share)
		}
	}
	if !w.lost || len(w.scopes) < 2 {
		t.Errorf("%d scopes, forgotten some: %v", len(w.scopes), w.lost)
	}
}

// Verdicts are remembered within both bounds, the most recently used.
func TestCacheIsBounded(t *testing.T) {
	policy, err := NewPolicy(Input{})
	if err != nil {
		t.Fatal(err)
	}
	c, r := policy.cache, &route{targets: []string{"files"}, names: NamesRaw}
	put := func(body string, size int) {
		h := c.hash(r, tool, []byte(body))
		c.put(h, r, tool, []byte(body), &page{size: size})
	}
	has := func(body string) bool { return c.get(c.hash(r, tool, []byte(body)), r, tool, []byte(body)) != nil }
	put("first", 0)
	put("second", 0)
	for i := range cachePages - 1 {
		has("first")
		put(strings.Repeat("x", i+1), 0)
	}
	if !has("first") || has("second") || c.recent.Len() != cachePages || len(c.entries) != cachePages {
		t.Errorf("%d pages; first %v, second %v", c.recent.Len(), has("first"), has("second"))
	}
	put("large", cacheSize-5)
	if !has("large") || c.recent.Len() != 1 || c.size != cacheSize {
		t.Errorf("%d pages of %d bytes", c.recent.Len(), c.size)
	}
	put("larger than all", cacheSize)
	if !has("large") || has("larger than all") {
		t.Error("a verdict larger than the bound was remembered")
	}
	put("large", 7)
	if c.size != 12 || c.recent.Len() != 1 {
		t.Errorf("%d bytes after a replacement", c.size)
	}
}

// Two results of one hash are told apart by everything that a verdict depends on.
func TestCacheComparesWhatItFinds(t *testing.T) {
	policy, err := NewPolicy(Input{})
	if err != nil {
		t.Fatal(err)
	}
	c, r := policy.cache, &route{targets: []string{"a", "b"}, names: NamesPrefixed}
	c.put(7, r, tool, []byte("body"), &page{})
	if c.get(7, r, tool, []byte("body")) == nil {
		t.Fatal("not remembered")
	}
	for name, other := range map[string]struct {
		targets []string
		names   NameMode
		kind    kind
		body    string
	}{
		"body":    {[]string{"a", "b"}, NamesPrefixed, tool, "bodz"},
		"kind":    {[]string{"a", "b"}, NamesPrefixed, prompt, "body"},
		"names":   {[]string{"a", "b"}, NamesNever, tool, "body"},
		"targets": {[]string{"a", "c"}, NamesPrefixed, tool, "body"},
	} {
		o := &route{targets: other.targets, names: other.names}
		if c.get(7, o, other.kind, []byte(other.body)) != nil {
			t.Errorf("%s does not count", name)
		}
		if c.hash(o, other.kind, []byte(other.body)) == c.hash(r, tool, []byte("body")) {
			t.Errorf("%s is not hashed", name)
		}
	}
}
