package report

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
)

var anyWord = regexp.MustCompile(`w\d+x`)

// wordsOnlyIn lists the words that one of two definitions has and the other has not.
func wordsOnlyIn(a, b map[string]any) []string {
	words := func(definition map[string]any) []string {
		all := map[string]bool{}
		tokens(definition, all)
		var found []string
		for token := range all {
			found = append(found, anyWord.FindAllString(token, -1)...)
		}
		return found
	}
	other := words(b)
	slices.Sort(other)
	return slices.DeleteFunc(words(a), func(word string) bool {
		_, ok := slices.BinarySearch(other, word)
		return ok
	})
}

// TestBriefSaysWhatItLeavesOut: a report that is brief shows every word that differs,
// or says that something is not shown and which command shows it. So it does for a
// change of a server and for one that waits for a decision.
func TestBriefSaysWhatItLeavesOut(t *testing.T) {
	wide := func(w io.Writer, r *Report) error { return Text(w, r, TextOptions{Width: 10_000}) }
	formats := map[string]func(io.Writer, *Report) error{"text": wide, "markdown": Markdown, "sarif": SARIF, "github": GitHub}
	eachChange(t, func(t *testing.T, _ *author, old, fresh map[string]any) {
		t.Helper()
		c := changeOf(t, old, fresh)
		if old == nil {
			c.Aspects = []drift.Aspect{{Code: finding.ToolAdded, Grade: finding.Warning, Summary: "new"}}
		}
		differs := &Report{Command: "diff", Servers: []Server{{Name: "s", State: Differs, Changes: []drift.Change{c}}}}
		differs.Findings = FindingsOf("s", differs.Servers[0].Changes)
		waits := &Report{Command: "ci", Servers: []Server{{Name: "s", State: Unchanged, Waiting: []drift.Change{c}}},
			Findings: []finding.Finding{finding.New(finding.ApprovalMissing, finding.Place{Server: "s", Kind: surface.KindTool, Name: "tool"}, "nothing is in force")}}
		words := slices.Concat(wordsOnlyIn(fresh, old), wordsOnlyIn(old, fresh))
		for name, format := range formats {
			for command, r := range map[string]*Report{"agentgateway diff --full s/tool": differs, "agentgateway review s/tool": waits} {
				r.Conclude()
				var b bytes.Buffer
				if err := format(&b, r); err != nil {
					t.Fatal(err)
				}
				out := b.String()
				if strings.Contains(out, "not shown; ") {
					if name != "markdown" && !strings.Contains(out, "`"+command+"`") {
						t.Errorf("%s does not name %q:\n%s", name, command, out)
					}
					continue
				}
				for _, word := range words {
					if !strings.Contains(out, word) {
						t.Fatalf("%s of %s shows no %s and does not say so:\n%s", name, command, word, out)
					}
				}
			}
		}
	})
}

// TestFullShowsEveryWord: diff --full leaves nothing out.
func TestFullShowsEveryWord(t *testing.T) {
	eachChange(t, func(t *testing.T, _ *author, old, fresh map[string]any) {
		t.Helper()
		c := changeOf(t, old, fresh)
		r := &Report{Command: "diff", Servers: []Server{{Name: "s", State: Differs, Changes: []drift.Change{c}}}}
		var b bytes.Buffer
		if err := Text(&b, r, TextOptions{Full: true}); err != nil {
			t.Fatal(err)
		}
		went, came := diffSides(b.String())
		for _, token := range onlyIn(fresh, old) {
			if !strings.Contains(came, token) {
				t.Errorf("new and not shown: %q", token)
			}
		}
		for _, token := range onlyIn(old, fresh) {
			if !strings.Contains(went, token) {
				t.Errorf("gone and not shown: %q", token)
			}
		}
		if strings.Contains(b.String(), "not shown; ") {
			t.Error("something is said not to be shown")
		}
	})
}

// TestCommandsAgree: review, diff, lock and ci tell the same words of one change.
func TestCommandsAgree(t *testing.T) {
	eachChange(t, func(t *testing.T, _ *author, old, fresh map[string]any) {
		t.Helper()
		c := changeOf(t, old, fresh)
		full := TextOptions{Width: 100, Full: true}
		shown := map[string]func(io.Writer) error{
			"review": func(w io.Writer) error {
				return ReviewText(w, Review{Items: []ReviewItem{{Server: "s", Change: c}}}, full)
			},
			"diff": func(w io.Writer) error {
				return Text(w, &Report{Command: "diff", Servers: []Server{{Name: "s", Changes: []drift.Change{c}}}}, full)
			},
			"lock": func(w io.Writer) error {
				return Text(w, &Report{Command: "lock", Full: ShowAll, Servers: []Server{{Name: "s", Changes: []drift.Change{c}}}}, TextOptions{Width: 100})
			},
			"ci": func(w io.Writer) error {
				place := finding.Place{Server: "s", Kind: surface.KindTool, Name: "tool"}
				return Text(w, &Report{
					Command: "ci", Servers: []Server{{Name: "s", Waiting: []drift.Change{c}}},
					Findings: []finding.Finding{finding.New(finding.ApprovalMissing, place, "nothing is in force")},
				}, full)
			},
		}
		var want [2]string
		for _, command := range []string{"review", "diff", "lock", "ci"} {
			var b bytes.Buffer
			if err := shown[command](&b); err != nil {
				t.Fatal(err)
			}
			var got [2]string
			got[0], got[1] = diffSides(b.String())
			if command == "review" {
				want = got
			} else if got != want {
				t.Fatalf("%s tells other words than review:\n%q\n%q", command, got, want)
			}
		}
	})
}
