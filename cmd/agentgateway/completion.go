package main

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/alecthomas/kong"

	"agentgateway-lock/pkg/surface"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: ${enum}."`
}

func (c *completionCmd) Run(a *app) error {
	commands := commandWords(a.model.Node, "")
	script := map[string]func(string, []commandWord) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Shell]
	_, err := fmt.Fprint(a.rawOut, script(a.program, commands))
	return err
}

// commandWord is one node of the command line: the words that lead to it and what
// may come next.
type commandWord struct {
	path  string // words separated by a space; empty for the program itself
	help  string
	next  []string // sub-commands and flags
	names string   // what its arguments name: server, item, or nothing that is known
}

func commandWords(n *kong.Node, path string) []commandWord {
	w := commandWord{path: path, help: n.Help}
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			w.next = append(w.next, "--"+f.Name)
		}
	}
	for _, p := range n.Positional {
		if p.Name == "server" || p.Name == "item" {
			w.names = p.Name
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

// paths spells the words that lead to a command as a pattern of a shell's case.
func paths(commands []commandWord) string {
	var quoted []string
	for _, c := range commands[1:] {
		quoted = append(quoted, fmt.Sprintf("%q", c.path))
	}
	return strings.Join(quoted, "|")
}

// cases spells the words after each path as the arms of a shell's case.
func cases(commands []commandWord) string {
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "    %q) words=%q names=%q ;;\n", c.path, strings.Join(c.next, " "), c.names)
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
  local path="" words="" names="" current="${COMP_WORDS[COMP_CWORD]}" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${path:+$path }${COMP_WORDS[i]}" in
    %[3]s) path="${path:+$path }${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path" in
%[4]s  esac
  [[ -n "$names" && "$current" != -* ]] && words+=" $(%[1]s complete "$names" 2>/dev/null)"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _%[2]s %[1]s
`, program, identifier(program), paths(commands), cases(commands))
}

func zshCompletion(program string, commands []commandWord) string {
	return fmt.Sprintf(`#compdef %[1]s
# zsh completion of %[1]s: put it in a folder of fpath as _%[1]s.
_%[2]s() {
  local path_words="" words_next="" names="" i
  for ((i = 2; i < CURRENT; i++)); do
    case "${path_words:+$path_words }${words[i]}" in
    %[3]s) path_words="${path_words:+$path_words }${words[i]}" ;;
    esac
  done
  case "$path_words" in
%[4]s  esac
  [[ -n "$names" && "${words[CURRENT]}" != -* ]] && words_next+=" $(%[1]s complete "$names" 2>/dev/null)"
  compadd -- ${=words_next} || _files
}
compdef _%[2]s %[1]s
`, program, identifier(program), paths(commands), strings.ReplaceAll(cases(commands), " words=", " words_next="))
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
		if c.names != "" {
			fmt.Fprintf(&b, "complete -c %s -f -n %q -a %q\n", program, "__fish_seen_subcommand_from "+word, "("+program+" complete "+c.names+" 2>/dev/null)")
		}
	}
	return b.String()
}

// completeCmd prints the names that completion scripts offer.
type completeCmd struct {
	What string `arg:"" enum:"server,item" help:"What to name: ${enum}."`
}

// completable are the names that a shell takes as they are: a completion script
// must not evaluate what a lockfile says.
var completable = regexp.MustCompile(`^[A-Za-z0-9_.@+][A-Za-z0-9_.@+/-]*$`)

func (c *completeCmd) Run(a *app, g *globals) error {
	p, err := a.open(g, sourcesFlags{})
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	file, err := p.Load()
	if err != nil {
		return err
	}
	var names []string
	for _, s := range file.Servers {
		names = append(names, s.Name)
		for _, k := range surface.ListKinds() {
			for _, it := range s.Lists[k.Kind] {
				if c.What == "item" {
					names = append(names, s.Name+"/"+it.Name)
				}
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !completable.MatchString(name) })
	for _, name := range slices.Compact(names) {
		fmt.Fprintln(a.stdout, name)
	}
	return nil
}
