// Package docs_test holds that what the documentation names exists: files,
// headings, commands and flags.
package docs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// root is the repository.
const root = ".."

// A page is one Markdown file, split into what is checked.
type page struct {
	path     string // from the repository
	links    []at
	commands []at
	anchors  map[string]bool
}

// at is a piece of text and the line it stands on.
type at struct {
	line int
	text string
}

var (
	linkPattern = regexp.MustCompile(`\[[^\]]*\]\(([^()\s]+)(?:\s+"[^"]*")?\)|^\[[^\]]+\]:\s+(\S+)`)
	spanPattern = regexp.MustCompile("`([^`]+)`")
	headPattern = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	commandWord = regexp.MustCompile(`^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\./)?(?:bin/)?agentgateway (.+)$`)
	htmlAnchor  = regexp.MustCompile(`<a (?:id|name)="([^"]+)">`)
)

// shells are the languages of fenced blocks whose lines are commands. Those of
// a workflow file stand after "run:".
var shells = []string{"", "sh", "bash", "shell", "console", "text", "yaml", "yml"}

func parse(path, text string) page {
	p := page{path: path, anchors: map[string]bool{}}
	fence, shell := "", false
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if fence != "" {
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			} else if shell {
				p.addCommand(i+1, strings.TrimPrefix(strings.TrimPrefix(trimmed, "- "), "run: "))
			}
			continue
		}
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fence = trimmed[:3]
			shell = slices.Contains(shells, strings.TrimLeft(trimmed, "`~"))
			continue
		}
		if m := headPattern.FindStringSubmatch(line); m != nil {
			p.anchors[p.fresh(slug(m[1]))] = true
		}
		for _, m := range htmlAnchor.FindAllStringSubmatch(line, -1) {
			p.anchors[m[1]] = true
		}
		for _, m := range spanPattern.FindAllStringSubmatch(line, -1) {
			p.addCommand(i+1, m[1])
		}
		for _, m := range linkPattern.FindAllStringSubmatch(spanPattern.ReplaceAllString(line, "x"), -1) {
			p.links = append(p.links, at{i + 1, m[1] + m[2]})
		}
	}
	return p
}

func (p *page) addCommand(line int, text string) {
	if m := commandWord.FindStringSubmatch(text); m != nil {
		p.commands = append(p.commands, at{line, m[1]})
	}
}

// fresh numbers a heading that repeats, as the renderer does.
func (p *page) fresh(slug string) string {
	for n := 0; ; n++ {
		name := slug
		if n > 0 {
			name = fmt.Sprintf("%s-%d", slug, n)
		}
		if !p.anchors[name] {
			return name
		}
	}
}

// slug is the anchor of a heading.
func slug(heading string) string {
	heading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

// pages reads every Markdown file of the repository.
func pages(t *testing.T) map[string]page {
	t.Helper()
	all := map[string]page{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"node_modules", ".git", ".cache", "testdata", "bin"}, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		all[filepath.ToSlash(rel)] = parse(filepath.ToSlash(rel), string(data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLinks(t *testing.T) {
	all := pages(t)
	exists := func(path string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(path)))
		return err == nil
	}
	for _, p := range all {
		for _, w := range brokenLinks(p, all, exists) {
			t.Error(w)
		}
	}
}

func brokenLinks(p page, all map[string]page, exists func(string) bool) []string {
	var broken []string
	for _, l := range p.links {
		u, err := url.Parse(l.text)
		if err != nil {
			broken = append(broken, fmt.Sprintf("%s:%d: link %s: %v", p.path, l.line, l.text, err))
			continue
		}
		if u.Scheme != "" || u.Host != "" {
			continue
		}
		target := p.path
		if u.Path != "" {
			var fromRoot bool
			if target, fromRoot = strings.CutPrefix(u.Path, "/"); !fromRoot {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(p.path), u.Path))
			}
			if !exists(target) {
				broken = append(broken, fmt.Sprintf("%s:%d: link %s: no such file", p.path, l.line, l.text))
				continue
			}
		}
		to, ok := all[target]
		if u.Path == "" {
			to, ok = p, true
		}
		if u.Fragment != "" && ok && !to.anchors[u.Fragment] {
			broken = append(broken, fmt.Sprintf("%s:%d: link %s: no such heading", p.path, l.line, l.text))
		}
	}
	return broken
}

// A helper answers with the help of a command, or an error where there is no
// such command.
type helper func(words []string) (string, error)

// binary builds the command and asks it.
func binary(t *testing.T) helper {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "agentgateway")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", exe, "./cmd/agentgateway")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the command: %v\n%s", err, out)
	}
	known := map[string]string{}
	return func(words []string) (string, error) {
		key := strings.Join(words, " ")
		if help, ok := known[key]; ok {
			return help, nil
		}
		cmd := exec.CommandContext(t.Context(), exe, append(slices.Clone(words), "--help")...)
		cmd.Dir = t.TempDir()
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%w: %s", err, errs.String())
		}
		known[key] = out.String()
		return known[key], nil
	}
}

func TestCommands(t *testing.T) {
	all := pages(t)
	help := binary(t)
	for _, p := range all {
		for _, c := range p.commands {
			if err := judge(c.text, help); err != nil {
				t.Errorf("%s:%d: `agentgateway %s`: %v", p.path, c.line, c.text, err)
			}
		}
	}
}

var (
	bareWord = regexp.MustCompile(`^[a-z][a-z-]*$`)
	flagWord = regexp.MustCompile(`^(--[a-z][a-z0-9-]*|-[A-Za-z])(=.*)?$`)
)

// judge says what is wrong with a documented command line, given without the
// name of the command.
func judge(line string, help helper) error {
	words := commandWords(line)
	if len(words) == 0 || words[0] == "-f" { // the gateway itself bears the same name, and reads -f FILE
		return nil
	}
	path := []string{}
	for _, w := range words {
		if !bareWord.MatchString(w) || len(path) == 2 {
			break
		}
		path = append(path, w)
	}
	if len(path) == 0 && !strings.HasPrefix(words[0], "-") {
		return nil // a placeholder, as in "agentgateway COMMAND"
	}
	text, err := helpFor(path, help)
	if err != nil {
		return err
	}
	for _, w := range words {
		m := flagWord.FindStringSubmatch(w)
		if m == nil {
			if strings.HasPrefix(w, "-") && w != "-" {
				return fmt.Errorf("cannot read the flag %q", w)
			}
			continue
		}
		if !hasFlag(text, m[1]) {
			return fmt.Errorf("there is no flag %s", m[1])
		}
	}
	return nil
}

// helpFor returns the help of the longest part of path that is a command. The
// words after a command that has none of its own are its arguments.
func helpFor(path []string, help helper) (string, error) {
	text, err := help(path)
	if err == nil || len(path) < 2 {
		return text, err
	}
	if text, err = help(path[:1]); err != nil {
		return "", err
	}
	if strings.Contains(text, "\nCommands:") {
		return "", errors.New("there is no such command")
	}
	return text, nil
}

func hasFlag(help, flag string) bool {
	name, long := strings.CutPrefix(flag, "--")
	if !long {
		return regexp.MustCompile(`(?m)(^|[\s\[,|])` + flag + `($|[\s,=\]])`).MatchString(help)
	}
	no := strings.TrimPrefix(name, "no-")
	return regexp.MustCompile(`--(` + name + `|\[no-\]` + no + `)($|[^a-z0-9-])`).MatchString(help)
}

// commandWords splits a line at spaces, up to what the shell takes for itself
// or a comment. Quotes hold words together.
func commandWords(line string) []string {
	var words []string
	var word strings.Builder
	quote := rune(0)
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for i, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote = r
		case r == ' ':
			end()
		case strings.ContainsRune("|&;><", r) && word.Len() == 0, r == ';', r == '#' && word.Len() == 0:
			return words
		case r == '\\' && i == len(line)-1:
		case r == '[' || r == ']' || r == '…':
			// optional parts, as in "[--base REF]"
		default:
			word.WriteRune(r)
		}
	}
	end()
	return words
}
