package config

import (
	"agentgateway-lock/pkg/source"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentgateway-lock/pkg/finding"
)

// merge makes one server of all entries of a name, or leaves it undecided.
func merge(entries []*entry) *Set {
	set := &Set{Undecided: map[string][]finding.Finding{}}
	byName := map[string][]*entry{}
	for _, e := range entries {
		byName[e.name] = append(byName[e.name], e)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		same := byName[name]
		on := slices.DeleteFunc(slices.Clone(same), func(e *entry) bool { return e.disabled })
		for _, e := range same {
			if e.disabled {
				set.Findings = append(set.Findings, finding.New(finding.ServerDisabled, e.place(e.line),
					fmt.Sprintf("%s is switched off", name)))
			}
		}
		if len(on) == 0 {
			set.Servers = append(set.Servers, server(same, true))
			continue
		}
		if problems := decide(on); len(problems) > 0 {
			set.Undecided[name] = problems
			set.Findings = append(set.Findings, problems...)
			continue
		}
		set.Servers = append(set.Servers, server(on, false))
		for _, e := range on {
			set.Findings = append(set.Findings, e.notes...)
		}
	}
	return set
}

func server(entries []*entry, disabled bool) *Server {
	first := entries[0]
	s := &Server{Name: first.name, Source: first.source, Disabled: disabled, launch: first.launch}
	for _, e := range entries {
		if e.file != nil {
			s.Places = append(s.Places, e.place(e.line))
		}
	}
	return s
}

// decide returns why the entries of one name make no server.
func decide(entries []*entry) []finding.Finding {
	var problems []finding.Finding
	for _, e := range entries {
		problems = append(problems, e.problems...)
	}
	if len(problems) > 0 {
		return problems
	}
	first := entries[0]
	for _, e := range entries[1:] {
		if !Same(first.source, e.source) {
			f := finding.New(finding.ConfigConflict, e.place(e.line), fmt.Sprintf("%s is configured with two different sources", e.name))
			var lines []string
			for _, e := range entries {
				where := finding.Place{File: e.place(0).File, Line: e.line}.String()
				if e.file == nil {
					where = "--server"
				}
				lines = append(lines, where+": "+source.Describe(e.source))
			}
			f.Detail = strings.Join(lines, "\n")
			return []finding.Finding{f}
		}
	}
	return nil
}

// Same reports whether two sources say the same in whatever spelling: ${env:X} is
// ${X}, a command under cmd /c or with the suffix .cmd, as Windows needs it, is
// that command, and the names of headers are compared without regard to case. It is
// for configurations of several clients; a lockfile is compared by
// [source.Source.Equal].
func Same(a, b *source.Source) bool {
	if a == nil || b == nil {
		return a == b
	}
	return unify(a).Equal(unify(b))
}

func unify(s *source.Source) *source.Source {
	u := *s
	u.Command, u.Args = unwrap(unifyText(s.Command), unifyAll(s.Args))
	u.Cwd, u.URL = unifyText(s.Cwd), unifyText(s.URL)
	u.Env, u.Headers = make(map[string]string, len(s.Env)), make(map[string]string, len(s.Headers))
	for name, value := range s.Env {
		u.Env[name] = unifyText(value)
	}
	for name, value := range s.Headers {
		u.Headers[strings.ToLower(name)] = unifyText(value)
	}
	return &u
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
