package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// manCmd prints the manual page, made of the command line's own description.
type manCmd struct{}

func (manCmd) Run(a *app) error {
	m := &manual{}
	m.page(a.program, a.model)
	_, err := fmt.Fprint(a.rawOut, m.String())
	return err
}

// manual writes in the language of man(7).
type manual struct{ strings.Builder }

func (m *manual) page(program string, model *kong.Application) {
	m.line(".TH", strings.ToUpper(program), "1", "", "agentgateway-lock "+version)
	m.line(".SH", "NAME")
	m.text(program + " - " + lowerFirst(strings.TrimSuffix(model.Help, ".")))
	m.line(".SH", "SYNOPSIS")
	m.line(".B", program)
	m.text("COMMAND [FLAGS] [ARGUMENTS]")
	m.line(".SH", "GLOBAL FLAGS")
	m.flags(model.Node)
	m.line(".SH", "COMMANDS")
	for _, group := range groups {
		m.line(".SS", strings.TrimSuffix(group.Title, ":"))
		for _, child := range model.Children {
			if child.Group != nil && child.Group.Key == group.Key {
				m.command(child)
			}
		}
	}
	m.line(".SH", "EXIT STATUS")
	for _, row := range [][2]string{
		{"0", "everything was checked, and nothing was found"},
		{"1", "a finding at or above the failing grade"},
		{"2", "the run could not begin"},
		{"3", "something could not be checked"},
	} {
		m.line(".TP")
		m.text(row[0])
		m.text(row[1])
	}
	m.line(".SH", "FILES")
	m.text("agentgateway.lock, .agentgateway/")
}

// command describes a command, or those under it.
func (m *manual) command(n *kong.Node) {
	if n.Hidden {
		return
	}
	if !n.Leaf() {
		for _, child := range n.Children {
			m.command(child)
		}
		return
	}
	m.line(".TP")
	m.line(".B", strings.TrimSpace(n.Summary()))
	m.text(n.Help)
	m.line(".RS")
	m.flags(n)
	m.line(".RE")
}

func (m *manual) flags(n *kong.Node) {
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		name := "--" + f.Name
		if f.Short != 0 {
			name = "-" + string(f.Short) + ", " + name
		}
		if !f.IsBool() {
			name += "=" + f.FormatPlaceHolder()
		}
		m.line(".TP")
		m.line(".B", name)
		m.text(f.Help)
	}
}

// line writes a request with its arguments.
func (m *manual) line(request string, args ...string) {
	m.WriteString(request)
	for _, arg := range args {
		m.WriteString(` "` + strings.ReplaceAll(roff(arg), `"`, `\(dq`) + `"`)
	}
	m.WriteByte('\n')
}

// text writes a line of text, which no word at its start makes a request.
func (m *manual) text(s string) { m.WriteString(`\&` + roff(s) + "\n") }

// roff spells a text so that it is shown as it is.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
}

// lowerFirst begins a phrase with a small letter.
func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
