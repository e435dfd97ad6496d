package settled

import (
	"path"
	"regexp"
	"strings"

	"agentgateway-lock/pkg/source"
)

// A Place is where a command would be started by a client.
type Place struct {
	// Root is the absolute path of the top of the work tree, Project the folder of the
	// project in it (the workspace), with slashes; "." for the top.
	Root, Project string
	// Lockfile is the path of the lockfile from the top.
	Lockfile string
	// Lookup returns variables of the environment that commands are started from, and
	// Real an absolute path without the links in it; nil where there is none.
	Lookup func(name string) (string, bool)
	Real   func(path string) string
}

// variables are the spellings of a variable in configurations and shells, and of the
// home folder.
var variables = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::?[-=+?][^}]*)?\}|\$(?:env:)?([A-Za-z_][A-Za-z0-9_]*)|%([A-Za-z_][A-Za-z0-9_]*)%|(\$\{input:[^}]*\})|((?:^|[\s"'=:,;@(])~)(?:/|$)`)

// expanded is a word with the variables that are set in place of their names.
func (p Place) expanded(word string) string {
	if p.Lookup == nil {
		return word
	}
	return variables.ReplaceAllStringFunc(word, func(found string) string {
		parts := variables.FindStringSubmatch(found)
		name := parts[1] + parts[2] + parts[3]
		switch {
		case parts[4] != "":
			name = strings.TrimSuffix(strings.TrimPrefix(parts[4], "${"), "}")
		case parts[5] != "", name == "userHome":
			name = "HOME"
		}
		value, ok := p.Lookup(name)
		if !ok {
			return found
		}
		if before := strings.TrimSuffix(parts[5], "~"); parts[5] != "" {
			return before + value + strings.TrimPrefix(found, parts[5])
		}
		return value
	})
}

// separators cut a word into what may be a path: options with values, lists of paths,
// volumes, shell commands, references with defaults.
const separators = " \t\r\n\"'`=:,;@#?&|<>(){}[]$!*%"

// maxCuts bounds the cuts of one word of which every stretch is looked at.
const maxCuts = 40

// stretches are the texts between any two separators of a word, longest first, and
// the word itself.
func stretches(word string) []string {
	ends := []int{-1}
	for i := range len(word) {
		if strings.IndexByte(separators, word[i]) >= 0 {
			ends = append(ends, i)
		}
	}
	ends = append(ends, len(word))
	seen := map[string]bool{"": true}
	var out []string
	add := func(s string) {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	for i := range ends[:len(ends)-1] {
		for j := len(ends) - 1; j > i; j-- {
			if len(ends) <= maxCuts || j == i+1 || i == 0 && j == len(ends)-1 {
				add(word[ends[i]+1 : ends[j]])
			}
		}
	}
	return out
}

// candidates are the paths of the repository that a word may name: as it is, after an
// option that it is attached to, and as the name of a module.
func (p Place) candidates(word, cwd string) []string {
	for name, to := range map[string]string{
		"${workspaceFolder}": p.at(p.Project), "${workspaceFolderBasename}": path.Base(p.at(p.Project)), "${pathSeparator}": "/", "${/}": "/",
	} {
		word = strings.ReplaceAll(word, name, to)
	}
	word = strings.ReplaceAll(word, `\`, "/")
	words := stretches(word)
	if other := strings.ReplaceAll(p.expanded(word), `\`, "/"); other != word {
		words = append(words, stretches(other)...)
	}
	seen := map[string]bool{}
	var out []string
	add := func(name string) {
		if inside(name) && !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	for _, s := range words {
		forms := []string{s}
		if strings.HasPrefix(s, "-") {
			forms = append(forms, strings.TrimLeft(s, "-"))
			if len(s) > 2 {
				forms = append(forms, s[2:])
			}
		}
		for _, form := range forms {
			if form == "" {
				continue
			}
			if rel, ok := p.relative(form); ok {
				add(rel)
				continue
			}
			add(path.Join(cwd, form))
			add(path.Join(p.Project, form))
		}
	}
	return out
}

// at is the absolute path of one in the repository.
func (p Place) at(name string) string { return path.Join(p.Root, name) }

// relative turns an absolute path, or a file URL's, into one of the repository. ok is
// false where the path is not absolute.
func (p Place) relative(name string) (rel string, ok bool) {
	drive := len(name) > 2 && name[1] == ':' && name[2] == '/'
	if !path.IsAbs(name) && !drive {
		return "", false
	}
	name = path.Clean("/" + strings.TrimLeft(name, "/"))
	root := path.Clean("/" + strings.TrimLeft(p.Root, "/"))
	switch {
	case name == root:
		return ".", true
	case root == "/":
		return name[1:], true
	}
	rest, in := strings.CutPrefix(name, root+"/")
	if in {
		return rest, true
	}
	if p.Real != nil { // by a link that leads here from outside
		if real := p.Real(name); real != name {
			return Place{Root: p.Root}.relative(real)
		}
	}
	return "..", true
}

// cwd is the folder a client starts a command in; ok is false where it is outside
// the repository.
func (p Place) cwd(s *source.Source) (string, bool) {
	if s.Cwd == "" {
		return p.Project, true
	}
	word := strings.ReplaceAll(p.expanded(strings.ReplaceAll(s.Cwd, "${workspaceFolder}", p.at(p.Project))), `\`, "/")
	if rel, ok := p.relative(word); ok {
		return rel, inside(rel)
	}
	if strings.Contains(word, "${") {
		return p.Project, true // it could be anywhere, so also here
	}
	joined := path.Join(p.Project, word)
	return joined, inside(joined)
}
