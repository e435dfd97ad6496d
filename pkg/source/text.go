package source

import (
	"maps"
	"slices"
	"strings"

	"agentgateway-lock/pkg/textcheck"
)

// Text spells the terms for people who decide about them: all that the digest is
// over, one word a line, every character that a reader cannot see as an escape.
func (t Terms) Text() string {
	var l lines
	if s := t.Source; s != nil {
		l.one("transport", string(s.Transport))
		l.one("command", s.Command)
		l.many("args", s.Args)
		l.one("cwd", s.Cwd)
		l.table("env", s.Env)
		if s.EnvFile != nil {
			l.one("envFile", s.EnvFile.Path)
			l.one("envFile hash", s.EnvFile.Hash.String())
		}
		l.one("url", s.URL)
		l.table("headers", s.Headers)
		if s.AllowPrivate {
			l.one("allowPrivate", "true")
		}
		accepted := make([]string, len(s.AllowLiteral))
		for i, run := range s.AllowLiteral {
			accepted[i] = run.String()
		}
		l.many("allowLiteral", accepted)
	}
	l.one("target", t.Target)
	l.many("covers", t.Covers)
	l.one("skipped", t.Skipped)
	return l.String()
}

type lines struct{ strings.Builder }

func (l *lines) one(name, value string) {
	if value != "" {
		l.WriteString(name + ": ")
		l.word(value)
	}
}

func (l *lines) many(name string, values []string) {
	if len(values) == 0 {
		return
	}
	l.WriteString(name + ":\n")
	for _, v := range values {
		l.WriteString("  ")
		l.word(v)
	}
}

func (l *lines) table(name string, values map[string]string) {
	var entries []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		entries = append(entries, key+": "+values[key])
	}
	l.many(name, entries)
}

// word ends a line. A word that is empty, or has space at an end, is in quotes.
func (l *lines) word(word string) {
	text := string(textcheck.EscapeUnicode(nil, word, textcheck.DoubleBackslash))
	if strings.TrimSpace(text) != text || text == "" || text[0] == '"' {
		text = `"` + text + `"`
	}
	l.WriteString(text + "\n")
}
