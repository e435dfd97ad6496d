package lockfile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

// The walk names every item once, with where its decision stands; a refused
// definition beside one that is kept for its decision is one item.
func TestItems(t *testing.T) {
	src := &source.Source{Transport: stdio, Command: "x"}
	f := &lockfile.File{Servers: []*lockfile.Server{
		{Name: "bare", Line: 2},
		{
			Name: "full", Line: 3, Source: src, SourceLine: 4, Covers: []string{"tools"}, Decision: digest(1), SourceDecision: digest(2),
			Instructions: &lockfile.Instructions{Hash: digest(3), Decision: digest(4), Line: 5},
			Lists: map[surface.Kind][]lockfile.Item{
				surface.KindPrompt: {{Name: "p", Digest: digest(5)}},
				surface.KindTool: {
					{Name: "kept", Digest: digest(6), Decision: digest(7), Absent: true, Line: 6},
					{Name: "t", Digest: digest(8), GatewayDigest: digest(9), Line: 7},
				},
			},
			Refused: []surface.Refused{
				{Kind: surface.KindTool, Name: "kept", Rule: canonical.RuleNumber, Raw: digest(10)},
				{Kind: surface.KindTool, Name: "twice", Rule: canonical.RuleDuplicateName, Raw: digest(11)},
				{Kind: surface.KindTool, Name: "twice", Rule: canonical.RuleDuplicateName, Raw: digest(12)},
			},
		},
		{Name: "gone", Line: 9, Absent: true, Instructions: &lockfile.Instructions{Hash: digest(13)}},
	}}
	type item struct {
		Item              string
		Kind              surface.Kind
		Digest, Gateway   canonical.Digest
		Rule              canonical.Rule
		Absent, Definable bool
		Line              int
		Decision          canonical.Digest
	}
	var got []item
	for it := range f.Items() {
		next := item{it.String(), it.Kind, it.Digest, it.GatewayDigest, it.Rule, it.Absent, it.Item != nil, it.Line, canonical.Digest{}}
		if it.Decision != nil {
			next.Decision = *it.Decision
			*it.Decision = digest(0xff) // it is the entry's own
		}
		got = append(got, next)
	}
	none := canonical.Digest{}
	want := []item{
		{"bare server", "server", none, none, "", false, false, 2, none},
		{"full server", "server", none, none, "", false, false, 3, digest(1)},
		{"full source", "source", sum(`{"covers":["tools"],"source":{"command":"x","transport":"stdio"}}`), none, "", false, false, 4, digest(2)},
		{"full instructions", "instructions", digest(3), none, "", false, false, 5, digest(4)},
		{"full/kept", "tool", digest(10), none, "number", true, true, 6, digest(7)},
		{"full/t", "tool", digest(8), digest(9), "", false, true, 7, none},
		{"full/p", "prompt", digest(5), none, "", false, true, 3, none},
		{"full/twice", "tool", digest(11), none, "duplicate-name", false, false, 3, none},
		{"gone server", "server", none, none, "", true, false, 9, none},
		{"gone instructions", "instructions", digest(13), none, "", true, false, 9, none},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	full := f.Server("full")
	for _, d := range []canonical.Digest{full.Decision, full.SourceDecision, full.Instructions.Decision, full.Item("tool", "t").Decision, f.Server("gone").Instructions.Decision} {
		if d != digest(0xff) {
			t.Errorf("a decision that was set in the walk is %v", d)
		}
	}
	for range f.Items() {
		break // stops without more ado
	}
}

// A finding without an item of its own points to the entry.
func TestLineOf(t *testing.T) {
	s := &lockfile.Server{
		Name: "s", Line: 4, Source: &source.Source{}, SourceLine: 5, Instructions: &lockfile.Instructions{Line: 8},
		Lists: map[surface.Kind][]lockfile.Item{surface.KindTool: {{Name: "t", Line: 10}}},
	}
	for item, want := range map[surface.Key]int{
		{}:                               4,
		{Kind: surface.KindServer}:       4,
		{Kind: surface.KindSource}:       5,
		{Kind: surface.KindInstructions}: 8,
		{Kind: "tool", Name: "t"}:        10,
		{Kind: "tool", Name: "new"}:      4,
		{Kind: "prompt", Name: "t"}:      4,
	} {
		if got := s.LineOf(item.Kind, item.Name); got != want {
			t.Errorf("%v is at line %d, want %d", item, got, want)
		}
	}
}
