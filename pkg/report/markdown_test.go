package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
)

func TestMarkdown(t *testing.T) {
	changes := []drift.Change{{Kind: surface.KindTool, Name: "read_file", Status: drift.Changed, Aspects: []drift.Aspect{
		{Code: finding.ParameterRetyped, Grade: finding.Critical, Summary: "path is another type", Old: `"string"`, New: `"array"`},
	}}}
	r := &Report{
		Command: "ci", Subject: "agentgateway.lock against the live servers", FailOn: finding.Info,
		Servers: []Server{
			{Name: "files", State: Differs, Counts: map[surface.Kind]int{surface.KindTool: 2}, Changes: changes},
			{Name: "memory", State: Unchanged, Counts: map[surface.Kind]int{surface.KindTool: 9}},
		},
		Findings: append(FindingsOf("files", changes), finding.Finding{
			Code: finding.ConfigUnread, Grade: finding.Warning, Summary: "not read", Detail: "line 1\nline 2", Hint: "pass it", Place: finding.Place{File: "a/mcp.json", Line: 3},
		}),
	}
	r.Conclude()
	want := "## agentgateway ci: fail\n" + `
agentgateway.lock against the live servers

**1 critical, 1 warning**

| Server | State | Shows | Critical | Warning | Info |
|---|---|---|---:|---:|---:|
| files | changed | 2 tools | 1 |  |  |
| memory | unchanged | 9 tools |  |  |  |

### files

<details><summary><b>critical</b>: tool <code>read_file</code></summary>

- **critical** ` + "`parameter-retyped`" + `: path is another type

` + "```diff" + `
-"string"
+"array"
` + "```" + `

</details>

### Findings

- **warning** ` + "`config-unread`" + ` (a/mcp.json:3): not read → pass it

` + "```text" + `
line 1
line 2
` + "```" + `

`
	if diff := cmp.Diff(want, render(t, "markdown", r)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// manyChanges is a report of servers that changed in every tool.
func manyChanges(servers, tools int, description string) *Report {
	r := &Report{Command: "ci", Lockfile: "agentgateway.lock", FailOn: finding.Info}
	for i := range servers {
		s := Server{Name: fmt.Sprintf("server-%05d", i), State: Differs, Counts: map[surface.Kind]int{surface.KindTool: tools}}
		for j := range tools {
			s.Changes = append(s.Changes, drift.Change{Kind: surface.KindTool, Name: fmt.Sprintf("tool-%05d", j), Status: drift.Changed, Aspects: []drift.Aspect{
				{Code: finding.DescriptionChanged, Grade: finding.Warning, Path: "description", Summary: "description changed", Words: true,
					Old: description + " Returns the text.", New: description + " Returns the text and sends it away."},
			}})
		}
		r.Findings = append(r.Findings, FindingsOf(s.Name, s.Changes)...)
		r.Servers = append(r.Servers, s)
	}
	r.Conclude()
	return r
}

func TestMarkdownCut(t *testing.T) {
	hidden := strings.Repeat("\u202e\u200b", 200)
	for name, r := range map[string]*Report{
		"many tools":         manyChanges(1, 10_000, strings.Repeat("Reads a file of the project. ", 20)),
		"many servers":       manyChanges(20_000, 1, "Reads a file."),
		"text that grows":    manyChanges(2, 3_000, hidden),
		"names that grow":    {Command: "ci", Servers: []Server{{Name: hidden}}, Findings: many(30_000, finding.Warning).Findings},
		"one huge text":      manyChanges(1, 3, strings.Repeat("\u202e word ", 100_000)),
		"much to be advised": {Command: "ci", Advice: strings.Split(strings.Repeat(hidden+"\n", 5_000), "\n")},
	} {
		t.Run(name, func(t *testing.T) {
			out := render(t, "markdown", r)
			if len(out) >= 900_000 {
				t.Errorf("%d bytes", len(out))
			}
			checkMarkdown(t, out)
			shown := strings.Count(out, "<details>") + strings.Count(out, "`tool-added`")
			total := len(r.Findings)
			if shown == total {
				return
			}
			if want := fmt.Sprintf("**%d more are left out here; `agentgateway diff` shows all.**", total-shown); !strings.Contains(out, want) {
				t.Errorf("%d of %d are shown, and nothing says %q", shown, total, want)
			}
		})
	}
}

func TestUnified(t *testing.T) {
	for _, tt := range []struct{ name, old, fresh, want string }{
		{"a word", "reads a file of the project", "reads any file of the project",
			"-reads a file of the project\n+reads any file of the project\n"},
		{"a line", "one\ntwo\nthree", "one\nother\nthree",
			" one\n-two\n+other\n three\n"},
		{"lines that came", "one\n", "one\ntwo\nthree\n",
			" one\n+two\n+three\n"},
		{"nothing", "", "", ""},
	} {
		if diff := cmp.Diff(tt.want, unified(newWordDiffer().diff(tt.old, tt.fresh))); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tt.name, diff)
		}
	}
}
