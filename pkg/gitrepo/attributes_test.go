package gitrepo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Whatever git says hides or converts a file, we say so too; where the patterns are
// plain we say nothing else.
func TestAttributesAgainstGit(t *testing.T) {
	s := newSandbox(t)
	s.git("init", "-q", "-b", "main")
	paths := []string{"agentgateway.lock", ".agentgateway/definitions/notes/tool/a.json", ".agentgateway/trust/1.json", "app/agentgateway.lock"}
	patterns := []string{
		"*", "*.lock", "*.json", "agentgateway.lock", "/agentgateway.lock", ".agentgateway/**", "/.agentgateway/**", "**/tool/*.json",
		".agentgateway/*", "app/*", "**", "**/*", ".agentgateway/definitions/**/a.json", "a.json", "?.json", "app/**", "app/", ".agentgateway",
		"agentgateway.loc?", "**/agentgateway.lock",
	}
	odd := []string{`"*.lock"`, `[a-z]*.lock`, `\*.lock`, `"agentgateway.loc\153"`, "[!x]*"}
	words := []string{
		"-diff", "diff", "!diff", "diff=go", "binary", "-text", "text=auto", "filter=x", "-filter", "!filter", "ident", "-ident", "eol=crlf", "eol=lf", "-eol",
		"working-tree-encoding=UTF-16", "!working-tree-encoding", "linguist-generated", "-linguist-generated", "linguist-generated=true",
		"linguist-generated=false", "gitlab-generated", "hidden",
	}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	for round := range 300 {
		plain := round%3 > 0
		lines := []string{"[attr]hidden -diff ident"}
		for range 1 + random.IntN(5) {
			pattern := pick(patterns)
			if !plain && random.IntN(2) == 0 {
				pattern = pick(odd)
			}
			lines = append(lines, pattern+" "+pick(words)+" "+pick(words))
		}
		files := map[string]string{"": strings.Join(lines, "\n") + "\n"}
		if random.IntN(2) == 0 {
			files[".agentgateway"] = pick([]string{"**", "*.json", "trust/*", "*"}) + " " + pick(words) + "\n"
		}
		checkAttributes(t, s, files, paths, plain)
	}
}

func checkAttributes(t *testing.T, s *sandbox, files map[string]string, paths []string, plain bool) {
	t.Helper()
	var ours Attributes
	_, _ = s.try("", "rm", "-q", "-r", "--cached", ".")
	for _, folder := range []string{"", ".agentgateway"} { // from the root down
		text := files[folder]
		s.write(folder+"/.gitattributes", text)
		if err := ours.Add(folder, text); err != nil {
			t.Fatal(err)
		}
	}
	ask := []string{"check-attr"}
	for _, u := range unwanted {
		ask = append(ask, u.name)
	}
	for _, path := range paths {
		got := map[string]bool{}
		for _, text := range ours.Unwanted(path) {
			word, _, _ := strings.Cut(text, " ")
			name, _, _ := strings.Cut(strings.TrimLeft(word, "-!"), "=")
			got[name] = true
		}
		out := s.git(slices.Concat(ask, []string{"--", path})...)
		for line := range strings.Lines(out) {
			fields := strings.Split(strings.TrimSpace(line), ": ")
			name, value := fields[1], fields[2]
			want := map[bool]bool{true: value == "unset", false: value != "unset" && value != "unspecified" && value != "false"}[name == "diff"]
			if name == "eol" {
				want = value == "crlf"
			}
			if want && !got[name] || plain && got[name] && !want {
				t.Fatalf("%s: %s is %s for git, and we say %v of\n%s", path, name, value, got[name], fmt.Sprint(files))
			}
		}
	}
}

func TestAttributesBounded(t *testing.T) {
	var a Attributes
	if err := a.Add("", strings.Repeat("* -diff\n", MaxAttributeRules+1)); err == nil {
		t.Error("no bound on lines")
	}
}
