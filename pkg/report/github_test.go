package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/finding"
)

func TestGitHubLines(t *testing.T) {
	r := &Report{Command: "ci", Lockfile: "sub/agentgateway.lock", FailOn: finding.Info, Findings: []finding.Finding{
		{Code: finding.ConfigUnread, Grade: finding.Note, Summary: "not read", Place: finding.Place{File: "a,b:c%.json", Line: 7}},
		{Code: finding.TitleChanged, Grade: finding.Info, Summary: "title changed", Place: finding.Place{Server: "s", Kind: "tool", Name: "t"}},
		{Code: finding.ToolAdded, Grade: finding.Warning, Summary: "new\n::error::x", Place: finding.Place{File: "agentgateway.lock", Line: 12, Server: "s", Kind: "tool", Name: "t"}},
		{Code: finding.HintLoosened, Grade: finding.Critical, Summary: "100% worse", Detail: "was: a, b", Hint: "read it", Place: finding.Place{Server: "s"}},
	}}
	r.Conclude()
	want := `::error file=sub/agentgateway.lock,title=hint-loosened s::100%25 worse%0Awas: a, b%0Aread it
::warning file=agentgateway.lock,line=12,title=tool-added s/t::new%0A::error::x
::notice file=sub/agentgateway.lock,title=title-changed s/t::title changed
::notice file=a%2Cb%3Ac%25.json,line=7,title=config-unread::not read
`
	if diff := cmp.Diff(want, render(t, "github", r)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestGitHubUndecided: what could not be checked is an error where it decides.
func TestGitHubUndecided(t *testing.T) {
	r := &Report{Command: "ci", FailOn: finding.Info, Findings: []finding.Finding{finding.New(finding.ServerUnreachable, finding.Place{Server: "s"}, "no answer")}}
	r.Conclude()
	if out := render(t, "github", r); !strings.HasPrefix(out, "::error title=server-unreachable s::") {
		t.Errorf("an undecided run says %q", out)
	}
	r.Findings = append(r.Findings, finding.New(finding.ParameterRemoved, finding.Place{Server: "s"}, "gone"))
	r.Conclude()
	if out := render(t, "github", r); !strings.Contains(out, "::warning title=server-unreachable s::") {
		t.Errorf("a failed run says %q", out)
	}
}

func TestGitHubCut(t *testing.T) {
	for _, tt := range []struct {
		name                      string
		errors, warnings, notices int
		want                      [3]int // lines of each level
		rest                      string
	}{
		{"nothing", 0, 0, 0, [3]int{}, ""},
		{"as many as fit", 10, 10, 10, [3]int{10, 10, 10}, ""},
		{"one warning more", 0, 11, 0, [3]int{0, 10, 1}, "1 more finding in the summary"},
		{"the notice takes a place", 12, 0, 10, [3]int{10, 0, 10}, "3 more findings in the summary"},
		{"many of all", 100, 200, 300, [3]int{10, 10, 10}, "571 more findings in the summary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &Report{Command: "ci"}
			r.Findings = append(r.Findings, many(tt.notices, finding.Info).Findings...)
			r.Findings = append(r.Findings, many(tt.warnings, finding.Warning).Findings...)
			r.Findings = append(r.Findings, many(tt.errors, finding.Critical).Findings...)
			out := render(t, "github", r)
			got := [3]int{strings.Count(out, "::error "), strings.Count(out, "::warning "), strings.Count(out, "::notice ")}
			if got != tt.want {
				t.Errorf("lines %v, want %v", got, tt.want)
			}
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			last := lines[len(lines)-1]
			if tt.rest == "" && strings.Contains(out, "more finding") || tt.rest != "" && last != "::notice title=agentgateway ci::"+tt.rest {
				t.Errorf("the last line is %q", last)
			}
		})
	}
}
