package main

import (
	"agentgateway-lock/pkg/source"
	"fmt"
	"strings"

	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/project"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
	"agentgateway-lock/pkg/trust"
)

type listCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// listed is one line of list.
type listed struct {
	Server string `json:"server"`
	Kind   string `json:"kind"`
	Name   string `json:"name,omitempty"`
	State  string `json:"state"`
	Digest string `json:"digest,omitempty"`
}

func (c *listCmd) Run(a *app, g *globals) error {
	p, err := a.open(g, sourcesFlags{})
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	file, err := p.Load()
	if err != nil {
		return err
	}
	state, err := p.State(file)
	if err != nil {
		return err
	}
	var rows []listed
	for _, s := range file.Servers {
		rows = append(rows, listServer(s)...)
	}
	if !state.Unsigned {
		decide(rows, state)
	}
	if c.JSON {
		return a.printJSON(rows)
	}
	lines := [][]string{{"SERVER", "KIND", "NAME", "STATE", "DIGEST"}}
	for _, r := range rows {
		digest := r.Digest
		if len(digest) > 12 {
			digest = digest[:12]
		}
		lines = append(lines, []string{shown(r.Server), r.Kind, shown(r.Name), r.State, digest})
	}
	_, err = fmt.Fprint(a.stdout, columns(lines))
	return err
}

// shown escapes and clips a name for one cell.
func shown(s string) string { return textcheck.Terminal(textcheck.Clip(s, 60)) }

func listServer(s *lockfile.Server) []listed {
	rows := []listed{{Server: s.Name, Kind: string(surface.KindServer), State: lockedState(s.Absent)}}
	if s.Instructions != nil {
		rows = append(rows, listed{s.Name, string(surface.KindInstructions), "", lockedState(s.Instructions.Absent), s.Instructions.Hash.String()})
	}
	for _, k := range surface.ListKinds() {
		for _, it := range s.Lists[k.Kind] {
			digest := ""
			if !it.Digest.IsZero() {
				digest = it.Digest.String()
			}
			rows = append(rows, listed{s.Name, string(k.Kind), it.Name, lockedState(it.Absent), digest})
		}
	}
	for _, r := range s.Refused {
		rows = append(rows, listed{s.Name, string(r.Kind), r.Name, "refused: " + string(r.Rule), ""})
	}
	return rows
}

// decide puts in what is decided about each item: a server, whose source stands in
// no line of its own, is only as approved as that.
func decide(rows []listed, state *trust.State) {
	for i := range rows {
		r := &rows[i]
		it := state.Item(surface.Key{Server: r.Server, Kind: surface.Kind(r.Kind), Name: r.Name})
		if it == nil {
			continue
		}
		r.State = string(it.Status)
		source := state.Item(surface.Key{Server: r.Server, Kind: surface.KindSource})
		if it.Kind == surface.KindServer && it.Status == trust.Approved && source != nil {
			r.State = string(source.Status)
		}
	}
}

func lockedState(absent bool) string {
	if absent {
		return "absent"
	}
	return "locked"
}

type showCmd struct {
	Item string `arg:"" help:"SERVER or SERVER/NAME."`
	Name string `arg:"" optional:"" help:"The item's name."`
	Kind string `enum:",tool,prompt,resourceTemplate,resource,instructions" default:"" help:"The item's kind, where two kinds bear one name."`
}

func (c *showCmd) Run(a *app, g *globals) error {
	p, err := a.open(g, sourcesFlags{})
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	item := c.Item
	if c.Name != "" {
		item += "/" + c.Name
	}
	found, err := p.Find(item, surface.Kind(c.Kind))
	if err != nil {
		return err
	}
	var b strings.Builder
	if found.Item == nil && found.Kind != surface.KindInstructions {
		showServer(&b, found.Server)
	} else {
		showItem(&b, found)
	}
	_, err = fmt.Fprint(a.stdout, b.String())
	return err
}

func showServer(b *strings.Builder, s *lockfile.Server) {
	rows := [][]string{{"server", shown(s.Name)}, {"source", textcheck.Terminal(source.Describe(s.Source))}}
	if s.Target != "" {
		rows = append(rows, []string{"target", shown(s.Target)})
	}
	if s.Source != nil {
		rows = append(rows, []string{"source digest", lockfile.SourceDigest(s).String()})
	}
	rows = append(rows, []string{"covers", strings.Join(s.Covers, ", ")}, []string{"surfaceHash", s.SurfaceHash.String()})
	b.WriteString(columns(rows) + "\n")
	lines := [][]string{}
	for _, r := range listServer(s)[1:] {
		lines = append(lines, []string{r.Kind, shown(r.Name), r.State})
	}
	b.WriteString(columns(lines))
}

func showItem(b *strings.Builder, f *project.Found) {
	rows := [][]string{{string(f.Kind), shown(f.Server.Name) + "/" + shown(f.Name)}}
	if it := f.Item; it != nil {
		for _, h := range []struct {
			name string
			text string
			zero bool
		}{
			{"digest", it.Digest.String(), it.Digest.IsZero()},
			{"gatewayDigest", it.GatewayDigest.String(), it.GatewayDigest.IsZero()},
		} {
			if !h.zero {
				rows = append(rows, []string{h.name, h.text})
			}
		}
		if t := it.Tool; t != nil {
			rows = append(rows, []string{"nameHash", t.Name.String()}, []string{"descriptionHash", t.Description.String()}, []string{"inputSchemaHash", t.InputSchema.String()})
		}
	} else {
		rows = append(rows, []string{"hash", f.Server.Instructions.Hash.String()})
	}
	b.WriteString(columns(rows))
	if f.Copy == nil {
		b.WriteString("\nThe readable copy is not at hand.\n")
		return
	}
	b.WriteString("\n" + strings.TrimRight(string(f.Copy), "\n") + "\n")
}
