package gitrepo

import (
	"fmt"
	"regexp"
	"strings"
)

// MaxAttributeRules bounds the lines that are kept of one .gitattributes file.
const MaxAttributeRules = 1000

// Attributes are the lines of .gitattributes files that hide what changes in a file, or
// convert its bytes, in the order of git: a later one wins.
//
// Git, its versions, and hosts read these files in ways that differ, so this reading
// leans to one side: a line that could hide a file does, and one that could show it
// again does only where its pattern is plain.
type Attributes struct {
	rules  []attributeRule
	macros map[string][]string
}

// attributeRule is one line.
type attributeRule struct {
	place   string // FILE:LINE
	folder  string // with a slash at its end; empty for the root
	match   *regexp.Regexp
	plain   bool // the pattern can only mean one thing
	effects []string
}

// unwanted are the attributes that hide changes (the first) or convert bytes, each with
// what sets it.
var unwanted = []struct {
	name string
	sets func(word string) bool
}{
	{"diff", func(word string) bool { return word == "-diff" }},
	{"linguist-generated", set("linguist-generated")},
	{"gitlab-generated", set("gitlab-generated")},
	{"filter", set("filter")},
	{"ident", set("ident")},
	{"working-tree-encoding", set("working-tree-encoding")},
	{"eol", func(word string) bool { return strings.HasPrefix(word, "eol=") && word != "eol=lf" }},
}

func set(name string) func(string) bool {
	return func(word string) bool {
		return word == name || strings.HasPrefix(word, name+"=") && word != name+"=false"
	}
}

// Add reads the file of that text in a folder of the repository (with slashes; empty for
// the root), which comes after those that were added.
func (a *Attributes) Add(folder, text string) error {
	if a.macros == nil {
		a.macros = map[string][]string{"binary": {"-diff", "-merge", "-text"}}
	}
	if folder != "" {
		folder += "/"
	}
	kept := 0
	for n, line := range strings.Split(text, "\n") {
		pattern, words := attributeLine(line)
		if pattern == "" {
			continue
		}
		if kept++; kept > MaxAttributeRules {
			return fmt.Errorf("%s.gitattributes has more than %d lines", folder, MaxAttributeRules)
		}
		if name, ok := strings.CutPrefix(pattern, "[attr]"); ok {
			a.macros[name] = append(a.macros[name], words...)
			continue
		}
		match, plain := attributePattern(pattern)
		a.rules = append(a.rules, attributeRule{
			place: fmt.Sprintf("%s.gitattributes:%d", folder, n+1), folder: folder, match: match, plain: plain, effects: words,
		})
	}
	return nil
}

// attributeLine cuts a line into its pattern and its words; both are empty for a
// comment.
func attributeLine(line string) (pattern string, words []string) {
	line = strings.Trim(line, " \t\r\ufeff")
	if line == "" || line[0] == '#' {
		return "", nil
	}
	if line[0] == '"' {
		if end := strings.LastIndexByte(line, '"'); end > 0 { // what an escape in it means is left open
			return line[:end+1], strings.Fields(line[end+1:])
		}
	}
	words = strings.Fields(line)
	return words[0], words[1:]
}

// attributePattern makes an expression that matches what a pattern could, for a path
// from the folder of its file. plain says that it matches nothing else.
func attributePattern(pattern string) (match *regexp.Regexp, plain bool) {
	if strings.ContainsAny(pattern, `["\`) {
		return regexp.MustCompile(``), false
	}
	anchored := strings.Contains(strings.TrimSuffix(pattern, "/"), "/")
	pattern = strings.TrimPrefix(pattern, "/")
	var b strings.Builder
	b.WriteString(`(?is)^`)
	if !anchored {
		b.WriteString(`(?:.*/)?`)
	}
	for rest := pattern; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString(`(?:.*/)?`)
			rest = rest[3:]
		case strings.HasPrefix(rest, "**"):
			b.WriteString(`.*`)
			rest = strings.TrimLeft(rest, "*")
		case rest[0] == '*':
			b.WriteString(`[^/]*`)
			rest = rest[1:]
		case rest[0] == '?':
			b.WriteString(`[^/]`)
			rest = rest[1:]
		default:
			end := strings.IndexAny(rest, "*?")
			if end < 0 {
				end = len(rest)
			}
			b.WriteString(regexp.QuoteMeta(rest[:end]))
			rest = rest[end:]
		}
	}
	b.WriteString(`$`)
	match, err := regexp.Compile(b.String())
	if err != nil { // not UTF-8
		return regexp.MustCompile(``), false
	}
	return match, true
}

// Unwanted returns the attributes that hide changes of the file at path, from the root,
// or convert its bytes, each as "WORD (FILE:LINE)".
func (a *Attributes) Unwanted(path string) []string {
	from := map[string]string{}
	for i := range a.rules {
		r := &a.rules[i]
		below, ok := strings.CutPrefix(path, r.folder)
		if !ok || !r.match.MatchString(below) {
			continue
		}
		for _, word := range a.expand(r.effects, 0) {
			for _, u := range unwanted {
				switch name, _, _ := strings.Cut(strings.TrimLeft(word, "-!"), "="); {
				case u.sets(word):
					from[u.name] = word + " (" + r.place + ")"
				case name == u.name && r.plain:
					delete(from, u.name)
				}
			}
		}
	}
	var found []string
	for _, u := range unwanted {
		if text := from[u.name]; text != "" {
			found = append(found, text)
		}
	}
	return found
}

// expand puts what macros stand for in their place.
func (a *Attributes) expand(words []string, depth int) []string {
	const maxMacros = 8
	var out []string
	for _, word := range words {
		out = append(out, word)
		if macro := a.macros[word]; macro != nil && depth < maxMacros {
			out = append(out, a.expand(macro, depth+1)...)
		}
	}
	return out
}
