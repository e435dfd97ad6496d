package docs_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/config"
	"agentgateway-lock/pkg/finding"
)

//go:generate go test . -run ^TestGeneratedParts$ -count=1 -update

var update = flag.Bool("update", false, "write the generated parts of the pages again")

// Parts of pages come from the program: the demo's output, the workflow that init
// writes, the table of codes. Each stands between two comments that name it, and
// -update writes it anew.
func TestGeneratedParts(t *testing.T) {
	bin := commands(t)
	for _, tc := range []struct {
		page, name string
		make       func(*testing.T) string
	}{
		{"README.md", "demo", func(t *testing.T) string { return fenced("text", demo(t, bin)) }},
		{"README.md", "workflow", func(t *testing.T) string { return fenced("yaml", workflow(t, bin)) }},
		{"docs/codes.md", "codes", func(*testing.T) string { return codesTable() }},
		{"docs/clients.md", "clients", func(*testing.T) string { return clientsTable() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(root, filepath.FromSlash(tc.page))
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			head, part, tail, err := cutPart(string(data), tc.name)
			if err != nil {
				t.Fatalf("%s: %v", tc.page, err)
			}
			want := tc.make(t)
			if *update && part != want {
				if err := os.WriteFile(path, []byte(head+want+tail), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, part); diff != "" {
				t.Errorf("%s is not current; run go test ./docs -update (-program +page):\n%s", tc.page, diff)
			}
		})
	}
}

// cutPart splits a page at the generated part of a name.
func cutPart(text, name string) (head, part, tail string, err error) {
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->\n"
	before, rest, ok := strings.Cut(text, begin)
	if !ok {
		return "", "", "", fmt.Errorf("there is no line %q", strings.TrimSpace(begin))
	}
	part, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", "", "", fmt.Errorf("there is no line %q", strings.TrimSpace(end))
	}
	return before + begin, part, end + after, nil
}

func fenced(language, text string) string {
	return "\n```" + language + "\n" + strings.TrimRight(text, "\n") + "\n```\n\n"
}

// commands builds agentgateway and mockupstream and returns their folder.
func commands(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+string(filepath.Separator), "./cmd/...")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the commands: %v\n%s", err, out)
	}
	return dir
}

// run runs agentgateway in dir, apart from what the user's settings and a CI job
// would change, and returns its standard output.
func run(t *testing.T, bin, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "agentgateway"), args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("agentgateway %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}

var port = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// demo is what the demo prints; the port is another each time.
func demo(t *testing.T, bin string) string {
	return port.ReplaceAllString(run(t, bin, t.TempDir(), "demo"), "127.0.0.1:40123")
}

// workflow is the workflow file that init writes.
func workflow(t *testing.T, bin string) string {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf(`{"mcpServers": {"notes": {"command": %q, "args": ["--stdio"]}}}`, filepath.Join(bin, "mockupstream"))
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, bin, dir, "init")
	data, err := os.ReadFile(filepath.Join(dir, ".github", "workflows", "agentgateway.yml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// codesTable is the table of docs/codes.md. Each code is an anchor.
func codesTable() string {
	var b strings.Builder
	b.WriteString("\n| Code | Grade | Meaning | What to do |\n|---|---|---|---|\n")
	for _, d := range finding.Codes() {
		grade := d.Grade.String()
		if d.Undecided {
			grade += ", undecided"
		}
		cells := []string{fmt.Sprintf("<a id=%q></a>`%s`", d.Code, d.Code), grade, d.Meaning, d.Action}
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String() + "\n"
}

// A code is named once, in the form that scripts and SARIF readers rely on, and
// says what to do.
func TestCodes(t *testing.T) {
	seen := map[finding.Code]bool{}
	for _, d := range finding.Codes() {
		if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(string(d.Code)) || seen[d.Code] {
			t.Errorf("%q is not the form of a code, or is there twice", d.Code)
		}
		seen[d.Code] = true
		if !strings.HasSuffix(d.Meaning, ".") || !strings.HasSuffix(d.Action, ".") {
			t.Errorf("%s: meaning and action are sentences: %q, %q", d.Code, d.Meaning, d.Action)
		}
	}
}

func TestCutPart(t *testing.T) {
	head, part, tail, err := cutPart("a\n<!-- begin x -->\nb\n<!-- end x -->\nc\n", "x")
	if err != nil || part != "b\n" || head+part+tail != "a\n<!-- begin x -->\nb\n<!-- end x -->\nc\n" {
		t.Errorf("cutPart: %q, %q, %q, %v", head, part, tail, err)
	}
	for _, text := range []string{"a\n", "<!-- begin x -->\nb\n", "<!-- begin y -->\n<!-- end y -->\n"} {
		if _, _, _, err := cutPart(text, "x"); err == nil {
			t.Errorf("cutPart(%q) found the part", text)
		}
	}
}

// clientsTable is the table of clients: where their files are, and how they read
// them.
func clientsTable() string {
	var b strings.Builder
	b.WriteString("\n| client | name | files in a repository | files of a person | member | fields | a variable | obeys `disabled` | documented |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range config.Clients() {
		variable, obeys := "none", "no"
		if c.Variable != "" {
			variable = "`" + c.Variable + "`"
		}
		if c.ObeysDisabled {
			obeys = "yes"
		}
		fields := code(c.Fields)
		if c.URLTransport != "" {
			fields += " (an address without a type is " + c.URLTransport + ")"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s | %s | %s | <%s> |\n", c.Name, c.ID, code(c.Files), code(c.User), code(c.Members), fields, variable, obeys, c.Documented)
	}
	b.WriteString("\n")
	return b.String()
}

// code lists words as code; the empty word is the file itself.
func code(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	out := make([]string, len(words))
	for i, word := range words {
		if out[i] = "`" + word + "`"; word == "" {
			out[i] = "the file itself"
		}
	}
	return strings.Join(out, ", ")
}
