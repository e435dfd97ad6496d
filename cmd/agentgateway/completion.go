package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: ${enum}."`
}

func (c *completionCmd) Run(a *app) error {
	commands := commandWords(a.model.Node, "")
	script := map[string]func(string, []commandWord) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Shell]
	_, err := fmt.Fprint(a.stdout, script(a.program, commands))
	return err
}

// commandWord is one node of the command line: the words that lead to it and what
// may come next.
type commandWord struct {
	path string // words separated by a space; empty for the program itself
	help string
	next []string // sub-commands and flags
}

func commandWords(n *kong.Node, path string) []commandWord {
	w := commandWord{path: path, help: n.Help}
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			w.next = append(w.next, "--"+f.Name)
		}
	}
	var out []commandWord
	for _, child := range n.Children {
		if child.Hidden {
			continue
		}
		w.next = append(w.next, child.Name)
		out = append(out, commandWords(child, strings.TrimSpace(path+" "+child.Name))...)
	}
	sort.Strings(w.next)
	return append([]commandWord{w}, out...)
}

// cases spells the words after each path as the arms of a shell's case.
func cases(commands []commandWord) string {
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "    %q) words=%q ;;\n", c.path, strings.Join(c.next, " "))
	}
	return b.String()
}

// identifier makes a shell function's name of a program's.
func identifier(program string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, program)
}

func bashCompletion(program string, commands []commandWord) string {
	return fmt.Sprintf(`# bash completion of %[1]s: source it, or put it where bash-completion looks.
_%[2]s() {
  local path="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in -*) ;; *) path="${path:+$path }${COMP_WORDS[i]}" ;; esac
  done
  case "$path" in
%[3]s    *) COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")); return ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _%[2]s %[1]s
`, program, identifier(program), cases(commands))
}

func zshCompletion(program string, commands []commandWord) string {
	return fmt.Sprintf(`#compdef %[1]s
# zsh completion of %[1]s: put it in a folder of fpath as _%[1]s.
_%[2]s() {
  local path="" words="" word
  for word in "${(@)words_before}"; do path="${path:+$path }$word"; done
  case "$path" in
%[3]s    *) _files; return ;;
  esac
  compadd -- ${=words}
}
_%[2]s_entry() {
  local -a words_before
  local i
  for ((i = 2; i < CURRENT; i++)); do
    [[ "${words[i]}" == -* ]] || words_before+=("${words[i]}")
  done
  _%[2]s
}
compdef _%[2]s_entry %[1]s
`, program, identifier(program), cases(commands))
}

func fishCompletion(program string, commands []commandWord) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion of %s: put it in ~/.config/fish/completions.\n", program)
	for _, c := range commands[1:] {
		parent, word := "", c.path
		if i := strings.LastIndexByte(c.path, ' '); i >= 0 {
			parent, word = c.path[:i], c.path[i+1:]
		}
		condition := "__fish_use_subcommand"
		if parent != "" {
			condition = "__fish_seen_subcommand_from " + parent
		}
		fmt.Fprintf(&b, "complete -c %s -f -n %q -a %s -d %q\n", program, condition, word, c.help)
		for _, next := range c.next {
			if flag, ok := strings.CutPrefix(next, "--"); ok {
				fmt.Fprintf(&b, "complete -c %s -n %q -l %s\n", program, "__fish_seen_subcommand_from "+word, flag)
			}
		}
	}
	return b.String()
}
