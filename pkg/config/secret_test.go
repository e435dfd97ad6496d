package config

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"agentgateway-lock/pkg/canonical"
)

// secretRow is a line of testdata/secrets.tsv.
type secretRow struct {
	line        string
	name, text  string
	marked      string // with its marks
	wrong       bool   // it is known that the rules get it wrong
	bears, note bool
}

func secretRows(t *testing.T) []secretRow {
	t.Helper()
	f, err := os.Open("testdata/secrets.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var rows []secretRow
	for in := bufio.NewScanner(f); in.Scan(); {
		if strings.HasPrefix(in.Text(), "#") {
			continue
		}
		row := secretRow{line: in.Text()}
		rest, wrong := strings.CutPrefix(in.Text(), "!")
		where, marked, ok := strings.Cut(rest, "\t")
		if !ok {
			t.Fatalf("%q has no tab", in.Text())
		}
		row.wrong, row.marked = wrong, marked
		if _, name, ok := strings.Cut(where, " "); ok {
			row.name = name
		}
		row.bears, row.note = strings.Contains(marked, "«"), strings.Contains(marked, "‹")
		row.text = strings.NewReplacer("«", "", "»", "", "‹", "", "›", "").Replace(marked)
		rows = append(rows, row)
	}
	return rows
}

// marks puts back the marks of a row by what was found.
func marks(text string, runs []run) string {
	var b strings.Builder
	at := 0
	for _, r := range runs {
		open, end := "«", "»"
		if r.note {
			open, end = "‹", "›"
		}
		b.WriteString(text[at:r.start] + open + text[r.start:r.end] + end)
		at = r.end
	}
	return b.String() + text[at:]
}

// The table of words gives the rates that the docs state.
func TestSecretRates(t *testing.T) {
	var bears, missed, clean, alarms int
	for _, row := range secretRows(t) {
		have := marks(row.text, findRuns(row.name, row.text))
		if right := have == row.marked; right == row.wrong {
			t.Errorf("%s\nfound %s", row.line, have)
		}
		found := strings.Contains(have, "«")
		switch {
		case row.bears:
			bears++
			if !found {
				missed++
			}
		default:
			clean++
			if found {
				alarms++
			}
		}
	}
	page, err := os.ReadFile("../../docs/lockfile.md")
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("(../pkg/config/testdata/secrets.tsv) as configurations have them, %d hold a secret, of which %d are missed", bears, missed)
	if !strings.Contains(string(page), said) || clean != 303 || alarms != 0 {
		t.Errorf("docs/lockfile.md does not say %q; of %d others %d are taken for one", said, clean, alarms)
	}
}

// entryOf is a configuration that holds the word of a row at its place.
func entryOf(t *testing.T, row secretRow) string {
	t.Helper()
	where, _, _ := strings.Cut(strings.TrimPrefix(row.line, "!"), "\t")
	place, _, _ := strings.Cut(where, " ")
	entry := map[string]any{}
	switch place {
	case "word":
		entry["command"], entry["args"] = "server", []string{"first", row.text, "last"}
	case "after":
		entry["command"], entry["args"] = "server", []string{row.name, row.text, "last"}
	case "env":
		entry["command"], entry["env"] = "server", map[string]string{row.name: row.text}
	case "header":
		entry["url"], entry["headers"] = "https://a.example/", map[string]string{row.name: row.text}
	case "url":
		entry["url"] = row.text
	default:
		t.Fatalf("%q is no place", place)
	}
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"a": entry}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A run that looks like a secret is in no word that a configuration leads to, until
// its hash is accepted; then it is in the source, and the source names the hash.
func TestSecretsAreHidden(t *testing.T) {
	for _, row := range secretRows(t) {
		runs := slices.DeleteFunc(findRuns(row.name, row.text), func(r run) bool { return r.note })
		files := map[string]string{".mcp.json": entryOf(t, row)}
		set, err := Load(t.Context(), options(files))
		if err != nil {
			t.Fatalf("%s: %v", row.line, err)
		}
		if len(runs) == 0 {
			if set.Server("a") == nil && !strings.Contains(set.Findings[0].Summary, "user name or password") {
				t.Errorf("%s: %v", row.line, set.Findings)
			}
			continue
		}
		if set.Server("a") != nil || !set.Undecided["a"][0].Undecided {
			t.Errorf("%s: the server is decided", row.line)
		}
		for _, r := range runs {
			if said := fmt.Sprint(set.Findings); strings.Contains(said, row.text[r.start:r.end]) {
				t.Errorf("%s: the findings show it: %s", row.line, said)
			}
		}
		hashes := map[canonical.Digest]bool{}
		o := options(files)
		for _, r := range runs {
			hashes[canonical.SumString(row.text[r.start:r.end])] = true
		}
		o.AllowLiteral = []string{"a"}
		if set, err = Load(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if s := set.Server("a"); s == nil {
			if !strings.Contains(set.Findings[0].Summary, "user name or password") {
				t.Errorf("%s: not accepted: %v", row.line, set.Findings)
			}
		} else if len(s.Source.AllowLiteral) != len(hashes) {
			t.Errorf("%s: the source accepts %d runs of %d", row.line, len(s.Source.AllowLiteral), len(hashes))
		}
	}
}

// The hint gives the spelling that the client reads, for just the word.
func TestSecretHint(t *testing.T) {
	for _, test := range []struct{ file, text, shown, hint string }{
		{".mcp.json", `{"mcpServers": {"db": {"command": "npx", "args": ["-y", "server", "postgresql://app:hunter2hunter2@db/x", "--ro"]}}}`,
			"npx -y server postgresql://app:[14 characters hidden]@db/x --ro", `Write "postgresql://app:${DB_PASSWORD}@db/x" in .mcp.json:1, and set DB_PASSWORD outside the repository.`},
		{".vscode/mcp.json", `{"servers": {"gh": {"url": "https://a.example/", "headers": {"X-API-Key": "hunter2hunter2"}}}}`,
			"https://a.example/ X-API-Key: [14 characters hidden]", `Write "${env:X_API_KEY}" in .vscode/mcp.json:1`},
		{"opencode.json", `{"mcp": {"gh": {"command": ["x", "--token=hunter2hunter2-{env:A}"]}}}`,
			"x --token=[15 characters hidden]${A}", `Write "--token={env:GH_TOKEN}`},
		{".codex/config.toml", "[mcp_servers.gh]\ncommand = 'x'\nargs = ['--token', 'hunter2hunter2']\n",
			"x --token [14 characters hidden]", "Codex does not expand variables: take the secret out in .codex/config.toml:3"},
	} {
		set, err := Load(t.Context(), options(map[string]string{test.file: test.text}))
		if err != nil {
			t.Fatal(err)
		}
		f := set.Findings[0]
		if f.Detail != test.shown || !strings.Contains(f.Hint, test.hint) || !strings.Contains(f.Hint, "lock --allow-literal") {
			t.Errorf("%s: %q\nhint %q\nwant %q\nhint %q", test.file, f.Detail, f.Hint, test.shown, test.hint)
		}
	}
}
