package processor

import (
	"strings"
	"testing"

	"agentgateway-lock/pkg/extmcp"
)

type recorder []Decision

func (r *recorder) Decided(d Decision) { *r = append(*r, d) }

// A failure inside the processor is a denial, and the next hook is answered.
func TestPanicIsADenial(t *testing.T) {
	var seen recorder
	p := New(Config{Observer: &seen})
	p.policy.Store(&Policy{services: map[string]*server{"files": {source: true}}}) // no cache
	list, err := p.CheckResponse(t.Context(), &extmcp.McpResponse{ServiceNames: []string{"files"}, Method: "tools/list", McpResponse: []byte(`{"tools":[]}`)})
	if err != nil || !strings.Contains(list.GetError().GetReason(), string(DeniedInternal)) {
		t.Errorf("%v %v", list, err)
	}
	if len(seen) != 1 || seen[0].Code != DeniedInternal || !strings.Contains(seen[0].Failure, "cache") {
		t.Errorf("the failure is not reported: %+v", seen)
	}
	ping, err := p.CheckRequest(t.Context(), &extmcp.McpRequest{ServiceNames: []string{"files"}, Method: "ping"})
	if err != nil || ping.GetPass() == nil {
		t.Errorf("%v %v", ping, err)
	}
}

// Verdicts are remembered within both bounds, the most recently used.
func TestCacheIsBounded(t *testing.T) {
	policy, err := NewPolicy(Input{})
	if err != nil {
		t.Fatal(err)
	}
	c, r := policy.cache, &route{services: []string{"files"}, names: NamesRaw}
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
	c, r := policy.cache, &route{services: []string{"a", "b"}, names: NamesPrefixed}
	c.put(7, r, tool, []byte("body"), &page{})
	if c.get(7, r, tool, []byte("body")) == nil {
		t.Fatal("not remembered")
	}
	for name, other := range map[string]struct {
		services []string
		names    NameMode
		kind     kind
		body     string
	}{
		"body":     {[]string{"a", "b"}, NamesPrefixed, tool, "bodz"},
		"kind":     {[]string{"a", "b"}, NamesPrefixed, prompt, "body"},
		"names":    {[]string{"a", "b"}, NamesNever, tool, "body"},
		"services": {[]string{"a", "c"}, NamesPrefixed, tool, "body"},
	} {
		o := &route{services: other.services, names: other.names}
		if c.get(7, o, other.kind, []byte(other.body)) != nil {
			t.Errorf("%s does not count", name)
		}
		if c.hash(o, other.kind, []byte(other.body)) == c.hash(r, tool, []byte("body")) {
			t.Errorf("%s is not hashed", name)
		}
	}
}
