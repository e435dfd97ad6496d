package project

import (
	"cmp"
	"fmt"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
)

// entryCopies returns the readable copies of one entry of a lockfile.
type entryCopies func(*lockfile.Server) drift.Copies

// copies reads the readable copies of a lockfile from the work tree.
func (p *Project) copies(file *lockfile.File) entryCopies {
	return copiesOf(file, p.store.ReadCopy)
}

// copiesOf reads the readable copies of a lockfile. A copy that does not have the
// locked digest is as good as none: it would show other words than those that
// were locked.
func copiesOf(file *lockfile.File, read func(path string) ([]byte, error)) entryCopies {
	layout := lockfile.NewLayout(file)
	return func(s *lockfile.Server) drift.Copies {
		return func(kind surface.Kind, name string) []byte {
			c, ok := layout.Copy(surface.Key{Server: s.Name, Kind: kind, Name: name})
			if !ok {
				return nil
			}
			text, err := read(c.Path)
			if err != nil {
				return nil
			}
			return copyText(s, kind, name, text)
		}
	}
}

func copyText(s *lockfile.Server, kind surface.Kind, name string, text []byte) []byte {
	if kind == surface.KindInstructions {
		words, err := lockfile.ParseInstructions(text)
		if err != nil {
			return nil
		}
		return []byte(words)
	}
	definition, err := lockfile.ParseCopy(text)
	it := s.Item(kind, name)
	if err != nil || it == nil || canonical.Sum(definition) != it.Digest {
		return nil
	}
	return definition
}

// Found is what a name on the command line means.
type Found struct {
	Server *lockfile.Server
	Kind   surface.Kind   // of the item; server where the whole server is meant
	Name   string         // of the item
	Item   *lockfile.Item // nil for a server and for instructions
	Copy   []byte         // the readable copy, as it stands; nil where it is not at hand
}

// Find resolves SERVER or SERVER/NAME in the lockfile of the work tree. A name
// that two kinds bear needs kind.
func (p *Project) Find(item string, kind surface.Kind) (*Found, error) {
	file, err := p.Load()
	if err != nil {
		return nil, err
	}
	names := make([]string, len(file.Servers))
	for i, s := range file.Servers {
		names[i] = s.Name
	}
	server, name, ok := SplitItem(item, names)
	if !ok {
		return nil, &hintError{fmt.Errorf("%q is neither a server nor an item of one", item), "the servers are: " + joinOrNone(names)}
	}
	f := &Found{Server: file.Server(server), Kind: surface.KindServer, Name: name}
	if err := f.choose(kind); err != nil {
		return nil, err
	}
	if c, ok := lockfile.NewLayout(file).Copy(surface.Key{Server: server, Kind: f.Kind, Name: f.Name}); ok {
		f.Copy, _ = p.store.ReadCopy(c.Path) // said to be not at hand where it cannot be read
	}
	return f, nil
}

// choose finds the item of f's name, the whole server where there is none.
// Instructions and the source go by the word for their kind, and by the kind alone.
func (f *Found) choose(kind surface.Kind) error {
	if f.Name == "" && kind == "" {
		return nil
	}
	var found []lockfile.Locked
	var kinds []surface.Kind
	for it := range f.Server.Items() {
		named := it.Item != nil && it.Name == f.Name
		if it.Kind == surface.KindInstructions || it.Kind == surface.KindSource {
			named = f.Name == string(it.Kind) || f.Name == "" && it.Kind == kind
		}
		if named && (kind == "" || it.Kind == kind) {
			found, kinds = append(found, it), append(kinds, it.Kind)
		}
	}
	switch {
	case len(found) == 0 && (f.Name == "" || f.Name == string(surface.KindInstructions)):
		return fmt.Errorf("%s has no %s in the lockfile", f.Server.Name, cmp.Or(string(kind), f.Name))
	case len(found) == 0:
		return fmt.Errorf("%s has no item %q in the lockfile", f.Server.Name, f.Name)
	case len(found) > 1:
		return &hintError{fmt.Errorf("%s has several items %q: %v", f.Server.Name, f.Name, kinds), "say which with --kind"}
	}
	f.Kind, f.Name, f.Item = found[0].Kind, found[0].Name, found[0].Item
	return nil
}
