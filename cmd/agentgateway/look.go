package main

import (
	"fmt"
	"strings"
	"time"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/project"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
	"agentgateway-lock/pkg/trust"
)

type listCmd struct {
	resultFlags

	Long bool `help:"Show who approved what is in force, and since when."`
}

// listed is one line of list.
type listed struct {
	Server string   `json:"server"`
	Kind   string   `json:"kind"`
	Name   string   `json:"name,omitempty"`
	State  string   `json:"state"`
	Digest string   `json:"digest,omitempty"`
	Source string   `json:"source,omitempty"`     // of a source: what runs or is contacted
	By     []string `json:"approvedBy,omitempty"` // the persons behind what is in force
	At     int64    `json:"approvedAt,omitempty"` // in seconds since 1970
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
	return a.result(c.resultFlags, rows, func() error {
		lines := [][]string{{"SERVER", "KIND", "NAME", "STATE", "DIGEST"}}
		if c.Long {
			lines[0] = append(lines[0], "APPROVED BY")
		}
		for _, r := range rows {
			line := []string{shown(r.Server), r.Kind, shown(r.Name + r.Source), r.State, r.Digest[:min(len(r.Digest), canonical.ShortDigits)]}
			if c.Long && len(r.By) > 0 {
				line = append(line, fmt.Sprintf("%s, %s", words(r.By), time.Unix(r.At, 0).UTC().Format(time.DateOnly)))
			}
			lines = append(lines, line)
		}
		if width := a.textOptions().Width; width > 0 {
			clipColumn(lines, 2, width)
		}
		_, err := fmt.Fprint(a.stdout, columns(lines))
		return err
	})
}

// clipColumn clips the cells of one column so that columns fits a terminal; show has
// them in full.
func clipColumn(rows [][]string, column, width int) {
	others := 0
	for i := range rows[0] {
		if i == column {
			continue
		}
		cells := 0
		for _, row := range rows {
			if i < len(row) {
				cells = max(cells, len([]rune(row[i])))
			}
		}
		others += cells + len("  ")
	}
	for _, row := range rows {
		row[column] = textcheck.Clip(row[column], max(width-others, 20))
	}
}

// shown escapes and clips a name for one cell.
func shown(s string) string { return textcheck.Terminal(textcheck.Clip(s, 60)) }

func listServer(s *lockfile.Server) []listed {
	var rows []listed
	for it := range s.Items() {
		row := listed{Server: it.Server, Kind: string(it.Kind), Name: it.Name, State: lockedState(it.Absent)}
		switch {
		case it.Rule != "":
			row.State = "refused: " + string(it.Rule)
		case !it.Digest.IsZero():
			row.Digest = it.Digest.String()
		}
		if it.Kind == surface.KindSource {
			row.Source = source.Describe(s.Source)
		}
		rows = append(rows, row)
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
		if it.InForce != nil {
			r.By, r.At = it.InForce.By, it.InForce.At.Unix()
		}
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
	Kind string `enum:",tool,prompt,resourceTemplate,resource,instructions,source" default:"" help:"The item's kind, where two kinds have one name."`
	Full bool   `help:"Of a server, show the readable copies of all items too."`
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
		if c.Full {
			if err := showItems(&b, p, found.Server); err != nil {
				return err
			}
		}
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

// showItems shows every item of a server as show does.
func showItems(b *strings.Builder, p *project.Project, s *lockfile.Server) error {
	for _, r := range listServer(s)[1:] {
		if r.Digest == "" || r.Kind == string(surface.KindSource) {
			continue // refused: there is no copy; the source is above
		}
		name := r.Name
		if name == "" {
			name = r.Kind
		}
		found, err := p.Find(s.Name+"/"+name, surface.Kind(r.Kind))
		if err != nil {
			return err
		}
		b.WriteString("\n")
		showItem(b, found)
	}
	return nil
}

func showItem(b *strings.Builder, f *project.Found) {
	name := shown(f.Server.Name)
	if f.Name != "" {
		name += "/" + shown(f.Name)
	}
	fmt.Fprintf(b, "%s %s\n", f.Kind, name)
	hash := func(name string, d canonical.Digest) {
		if !d.IsZero() {
			fmt.Fprintf(b, "%-15s %s\n", name, d) // 80 columns at most
		}
	}
	if it := f.Item; it != nil {
		hash("digest", it.Digest)
		hash("gatewayDigest", it.GatewayDigest)
		if t := it.Tool; t != nil {
			hash("nameHash", t.Name)
			hash("descriptionHash", t.Description)
			hash("inputSchemaHash", t.InputSchema)
		}
	} else {
		hash("hash", f.Server.Instructions.Hash)
	}
	if f.Copy == nil {
		b.WriteString("\nThe readable copy is not at hand.\n")
		return
	}
	b.WriteString("\n" + strings.TrimRight(textcheck.TerminalLines(string(f.Copy)), "\n") + "\n")
}
