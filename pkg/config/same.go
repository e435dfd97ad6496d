package config

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"agentgateway-lock/pkg/source"
)

// Same reports whether two sources say the same in the spellings of two clients:
// ${env:X} is ${X}, a command under cmd /c or with the suffix .cmd, as Windows needs
// it, is that command, ./x is ${workspaceFolder}/x, a backslash after a folder is a
// slash, and the names of headers are compared without regard to case. A word that
// only one reader would take for a path is not the same as that path: npx x gets a
// package, and npx ./x does not. A lockfile is compared by [source.Source.Equal].
func Same(a, b *source.Source) bool {
	if a == nil || b == nil {
		return a == b
	}
	return unify(a).Equal(unify(b))
}

// unify returns a source in the one spelling of what means the same.
func unify(s *source.Source) *source.Source {
	u := *s
	u.Command, u.Args = unwrap(unifyText(s.Command), unifyAll(s.Args))
	u.Cwd, u.URL = unifyPath(unifyText(s.Cwd)), unifyText(s.URL)
	if u.Cwd == "." {
		u.Cwd = ""
	}
	if u.Cwd == "" {
		unifyPaths(&u)
	}
	u.Env, u.Headers = make(map[string]string, len(s.Env)), make(map[string]string, len(s.Headers))
	for name, value := range s.Env {
		u.Env[name] = unifyText(value)
	}
	for name, value := range s.Headers {
		u.Headers[strings.ToLower(name)] = unifyText(value)
	}
	return &u
}

// unifyPaths gives the paths of a command that starts in the repository one
// spelling.
func unifyPaths(u *source.Source) {
	if u.Command = unifyPath(u.Command); strings.Contains(u.Command, "/") {
		u.Command = relative(u.Command)
	}
	u.Args = slices.Clone(u.Args)
	script := len(u.Args) > 0 && slices.Contains(interpreters, u.Command) && !strings.HasPrefix(u.Args[0], "-")
	for i, a := range u.Args {
		name, value, isOption := strings.Cut(a, "=")
		if isOption && strings.HasPrefix(name, "-") {
			u.Args[i] = name + "=" + unifyPath(value)
			continue
		}
		// What an interpreter is given to run is a path, however it is written, and
		// so are the paths that follow it.
		if u.Args[i] = unifyPath(a); script && looksLikePath(a) {
			u.Args[i] = relative(u.Args[i])
		}
	}
}

// interpreters run the file that their first word names, and look for it nowhere
// else.
var interpreters = []string{"node", "python", "python3", "ruby", "php", "tsx", "ts-node", "sh", "bash"}

var looksLikePathForm = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.\\/ -]*(?:[/\\][A-Za-z0-9_. -]+|\.[a-z]{1,4})$`)

func looksLikePath(word string) bool { return looksLikePathForm.MatchString(word) }

var (
	inWorkspace = regexp.MustCompile(`^\$\{workspaceFolder\}(?:[/\\]|\$\{/\}|\$\{pathSeparator\}|$)`)
	windowsPath = regexp.MustCompile(`^\.{1,2}\\|^(?:[A-Za-z0-9_.-]+\\)+[A-Za-z0-9_.-]+$`)
)

// unifyPath spells a path that is marked as one, by ${workspaceFolder} or ./ at its
// start or by backslashes, with ./ and slashes.
func unifyPath(word string) string {
	if m := inWorkspace.FindString(word); m != "" {
		word = "./" + word[len(m):]
	}
	word = strings.NewReplacer("${/}", "/", "${pathSeparator}", "/").Replace(word)
	if strings.HasPrefix(word, "./") || windowsPath.MatchString(word) {
		word = strings.ReplaceAll(word, `\`, "/")
	}
	if rest, ok := strings.CutPrefix(word, "./"); ok {
		return relative(rest)
	}
	return word
}

// relative is a path within the repository, beginning with ./ unless it is the root.
func relative(word string) string {
	if word == "" || path.IsAbs(word) || strings.HasPrefix(word, "$") || strings.HasPrefix(word, "~") {
		if word == "" {
			return "."
		}
		return word
	}
	if clean := path.Clean(word); clean != "." && !strings.HasPrefix(clean, "../") && clean != ".." {
		return "./" + clean
	} else {
		return clean
	}
}

func unifyAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = unifyText(s)
	}
	return out
}

func unifyText(s string) string {
	t, err := parseTemplate(common, s)
	if err != nil {
		return s
	}
	return t.unified()
}

// unwrap takes the command out of what Windows needs around it.
func unwrap(command string, args []string) (string, []string) {
	if name := strings.ToLower(command); (name == "cmd" || name == "cmd.exe") && len(args) > 1 && strings.EqualFold(args[0], "/c") {
		command, args = args[1], args[2:]
	}
	for _, suffix := range []string{".cmd", ".exe"} {
		if base, ok := strings.CutSuffix(command, suffix); ok {
			command = base
		}
	}
	return command, args
}
