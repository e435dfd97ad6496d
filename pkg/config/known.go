package config

import (
	"strings"
)

// A Client is one row of the table of clients whose configurations are read, for
// docs/clients.md.
type Client struct {
	Name string
	// ID names the client in the name of a variant, as in files@vscode.
	ID string
	// Files are those of a repository, from its root, and User those of a person, with
	// {home}, {config}, {xdg}, {zed} and {goose} for folders that systems have in
	// different places. * stands for any name.
	Files, User []string
	// Members are the members under which servers are, joined with dots: "" is the
	// file itself.
	Members []string
	// Fields are the members of an entry that the client reads.
	Fields []string
	// Variable is how ${NAME} is written; "" where the client expands none.
	Variable string
	// ObeysDisabled holds where a server that its entry switches off is not started.
	ObeysDisabled bool
	// URLTransport is the transport of an address without a type; "" where both are
	// tried.
	URLTransport string
	// Documented is where the client's documentation or source says so.
	Documented string
}

// Clients returns the table of clients, in its order.
func Clients() []Client {
	out := make([]Client, 0, len(clients))
	for i := range clients {
		c := &clients[i]
		row := Client{
			Name: c.name, ID: c.id, Files: c.repository, User: c.user, ObeysDisabled: c.obeys,
			URLTransport: string(c.urlTransport), Documented: c.documented, Fields: c.spelled.fields(),
		}
		if c.variable != "" {
			row.Variable = strings.Replace(c.variable, "%s", "NAME", 1)
		}
		for _, path := range c.containers {
			row.Members = append(row.Members, strings.Join(path, "."))
		}
		if c.gateway {
			row.Members, row.Fields = []string{"mcp.targets"}, []string{"stdio.cmd", "stdio.args", "stdio.env", "mcp.host", "sse.host"}
		}
		out = append(out, row)
	}
	return out
}

// fields are the members of an entry in one spelling, with the values that name a
// transport.
func (s *spelling) fields() []string {
	var out []string
	for _, member := range []string{s.command, s.args, s.env, s.cwd, s.http, s.sse, s.headers} {
		if member != "" && (len(out) == 0 || out[len(out)-1] != member) {
			out = append(out, member)
		}
	}
	for _, kind := range []string{s.stdioKind, s.httpKind, s.sseKind} {
		if kind != "" {
			out = append(out, s.kind+": "+kind)
		}
	}
	return out
}
