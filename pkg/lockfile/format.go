package lockfile

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// Format returns the bytes of a lockfile: two-space indent, fixed member order,
// servers by name, items by the bytes of their names, one newline at the end. The
// same content gives the same bytes.
//
// An entry that [Parse] read and that still says what was read is written byte
// for byte as it stood, whatever its form; an entry that says anything else is
// written anew. That is found by reading the old bytes again, so that changing an
// entry needs no further step. [File.Reformat] makes all entries be written anew.
func Format(f *File) []byte { return format(f, (*writer).entry) }

// format writes a file, each entry by entry.
func format(f *File, entry func(*writer, *Server)) []byte {
	w := writer{dst: make([]byte, 0, len(f.src)+len(f.src)/8+1024)}
	w.open('{')
	w.member("lockfileVersion")
	w.dst = append(w.dst, '0'+Version)
	w.textMember("generatedBy", f.GeneratedBy)
	w.textMember("generatedAt", f.GeneratedAt)
	w.digestMember("trust", f.Trust)
	w.member("servers")
	w.open('{')
	for _, s := range inOrder(f.Servers, func(a, b *Server) int { return strings.Compare(a.Name, b.Name) }) {
		w.element()
		entry(&w, s)
	}
	w.close('}')
	w.close('}')
	return append(w.dst, '\n')
}

// Reformat makes [Format] write every entry in its own form.
func (f *File) Reformat() {
	for _, s := range f.Servers {
		s.entry = nil
	}
}

// inOrder returns list sorted, and list itself where it is.
func inOrder[E any](list []E, order func(a, b E) int) []E {
	if slices.IsSortedFunc(list, order) {
		return list
	}
	return slices.SortedStableFunc(slices.Values(list), order)
}

// A writer writes indented JSON. Empty members are left out.
type writer struct {
	dst   []byte
	depth int
	first bool // nothing stands yet in what was opened last
}

func (w *writer) open(bracket byte) {
	w.dst = append(w.dst, bracket)
	w.depth++
	w.first = true
}

func (w *writer) close(bracket byte) {
	w.depth--
	if !w.first {
		w.line()
	}
	w.dst = append(w.dst, bracket)
	w.first = false
}

func (w *writer) line() {
	w.dst = append(w.dst, '\n')
	for range w.depth {
		w.dst = append(w.dst, ' ', ' ')
	}
}

// element begins a member or element.
func (w *writer) element() {
	if !w.first {
		w.dst = append(w.dst, ',')
	}
	w.first = false
	w.line()
}

// member begins a member of the format, whose name needs no escape.
func (w *writer) member(name string) {
	w.element()
	w.dst = append(w.dst, '"')
	w.dst = append(w.dst, name...)
	w.dst = append(w.dst, '"', ':', ' ')
}

// text writes a string. Characters that a reader cannot see stand as escapes.
func (w *writer) text(s string) {
	start := len(w.dst)
	w.dst = canonical.AppendString(w.dst, s)
	for _, c := range w.dst[start:] {
		if c >= 0x7f {
			visible := string(w.dst[start:])
			w.dst = textcheck.EscapeUnicode(w.dst[:start], visible, 0)
			return
		}
	}
}

func (w *writer) textMember(name, value string) {
	if value != "" {
		w.member(name)
		w.text(value)
	}
}

func (w *writer) digestMember(name string, d canonical.Digest) {
	if !d.IsZero() {
		w.member(name)
		w.dst = append(w.dst, '"')
		w.dst, _ = d.AppendText(w.dst)
		w.dst = append(w.dst, '"')
	}
}

func (w *writer) flagMember(name string, value bool) {
	if value {
		w.member(name)
		w.dst = append(w.dst, "true"...)
	}
}

func (w *writer) textsMember(name string, list []string) {
	w.member(name)
	w.open('[')
	for _, s := range list {
		w.element()
		w.text(s)
	}
	w.close(']')
}

// entry writes a server, as it was read where that says the same.
func (w *writer) entry(s *Server) {
	start := len(w.dst)
	w.server(s)
	if s.entry == nil || bytes.Equal(w.dst[start:], s.entry) {
		return
	}
	read := &Server{}
	if name := bytes.TrimRight(s.entry[:s.value], ": \t\r\n"); json.Unmarshal(name, &read.Name) != nil || read.Name != s.Name {
		return // it was given another name
	}
	p := parser{r: canonical.NewReader(s.entry[s.value:]), src: s.entry[s.value:], server: s.Name}
	if err := p.entry(read); err != nil {
		return
	}
	again := writer{depth: w.depth}
	if again.server(read); bytes.Equal(again.dst, w.dst[start:]) {
		w.dst = append(w.dst[:start], s.entry...)
	}
}

// server writes the name and the value of an entry.
func (w *writer) server(s *Server) {
	w.text(s.Name)
	w.dst = append(w.dst, ':', ' ')
	w.open('{')
	w.reach(s)
	w.digestMember("decision", s.Decision)
	w.digestMember("sourceDecision", s.SourceDecision)
	w.digestMember("surfaceHash", s.SurfaceHash)
	if in := s.Instructions; in != nil {
		w.member("instructions")
		w.open('{')
		w.digestMember("hash", in.Hash)
		w.digestMember("decision", in.Decision)
		w.flagMember("absent", in.Absent)
		w.close('}')
	}
	for _, kind := range surface.ListKinds() {
		if items, ok := s.Lists[kind.Kind]; ok {
			w.items(kind, items)
		}
	}
	if len(s.Refused) > 0 {
		w.refused(s.Refused)
	}
	w.flagMember("absent", s.Absent)
	w.close('}')
}

// reach writes how a server is reached and what is asked of it.
func (w *writer) reach(s *Server) {
	if s.Source != nil {
		w.member("source")
		w.dst = appendIndented(w.dst, s.Source.JSON(), w.depth)
	}
	if s.Target != s.Name {
		w.textMember("target", s.Target)
	}
	if s.Covers != nil {
		w.textsMember("covers", slices.Sorted(slices.Values(s.Covers)))
	}
	w.textMember("skipped", s.Skipped)
}

func (w *writer) items(kind surface.ListKind, items []Item) {
	w.member(kind.Member)
	w.open('[')
	items = inOrder(items, func(a, b Item) int { return strings.Compare(a.Name, b.Name) })
	for i := range items {
		it := &items[i]
		w.element()
		w.open('{')
		w.textMember(kind.ID, it.Name)
		if it.Tool != nil {
			w.digestMember("nameHash", it.Tool.Name)
			w.digestMember("descriptionHash", it.Tool.Description)
			w.digestMember("inputSchemaHash", it.Tool.InputSchema)
		}
		w.digestMember("digest", it.Digest)
		w.digestMember("gatewayDigest", it.GatewayDigest)
		w.digestMember("decision", it.Decision)
		w.flagMember("absent", it.Absent)
		w.close('}')
	}
	w.close(']')
}

func (w *writer) refused(list []surface.Refused) {
	w.member("refused")
	w.open('[')
	for _, r := range list {
		w.element()
		w.open('{')
		w.textMember("kind", string(r.Kind))
		w.textMember("name", r.Name)
		w.textMember("rule", string(r.Rule))
		w.digestMember("raw", r.Raw)
		w.close('}')
	}
	w.close(']')
}
