package crawl

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
)

// A Difference is what a caller found when it held a surface against what it
// knows.
type Difference struct {
	Changed  bool // something is new or another than before
	Vanished bool // something is gone, or a list came back empty
}

// Unstable is an item that was not the same in two listings of one run.
type Unstable struct {
	Kind surface.Kind
	// Name is empty for the instructions, for definitions without a name, and
	// where a kind was offered in one listing only.
	Name string
	// First and Second are its digests in the two listings; zero where it was not
	// listed. Of a refused definition it is that of its bytes, of several with one
	// name that of theirs together.
	First, Second canonical.Digest
}

// Confirm lists a server a second time where its first listing differs from what
// the caller knows: over the same connection what changed, over a fresh one what
// vanished, since a server that has just started may not have its list yet. It
// returns the listing that counts, the second where there is one, and what was
// not the same in both. Without a difference the first counts and nothing is
// listed.
func (l *Lister) Confirm(ctx context.Context, s *Session, covers []string, first *Listing, d Difference) (*Listing, []Unstable, error) {
	if d == (Difference{}) {
		return first, nil, nil
	}
	if d.Vanished {
		s.Close()
		fresh, err := l.Open(ctx, s.target)
		if err != nil {
			return nil, nil, err
		}
		defer fresh.Close()
		s = fresh
	}
	second, err := s.List(ctx, covers)
	if err != nil {
		return nil, nil, err
	}
	return second, compareSurfaces(first.Surface, second.Surface), nil
}

// item names what can differ between two surfaces.
type item struct {
	kind surface.Kind
	name string
}

// compareSurfaces returns what differs, by kind and name.
func compareSurfaces(first, second surface.Surface) []Unstable {
	a, b := digests(first), digests(second)
	var found []Unstable
	for it, d := range a {
		if b[it] != d {
			found = append(found, Unstable{it.kind, it.name, d, b[it]})
		}
	}
	for it, d := range b {
		if _, ok := a[it]; !ok {
			found = append(found, Unstable{Kind: it.kind, Name: it.name, Second: d})
		}
	}
	slices.SortFunc(found, func(x, y Unstable) int {
		return cmp.Or(strings.Compare(string(x.Kind), string(y.Kind)), strings.Compare(x.Name, y.Name))
	})
	return found
}

// digests gives each item of a surface one digest.
func digests(s surface.Surface) map[item]canonical.Digest {
	parts := map[item][]canonical.Digest{}
	add := func(kind surface.Kind, name string, d canonical.Digest) {
		it := item{kind, name}
		parts[it] = append(parts[it], d)
	}
	if s.Instructions != nil {
		add(surface.KindInstructions, "", s.Instructions.Hash)
	}
	for kind, list := range s.Lists {
		add(kind, "", canonical.SumString("offered"))
		for _, d := range list.Definitions {
			add(kind, d.Name, d.Digest)
		}
	}
	for _, r := range s.Refused {
		add(r.Kind, r.Name, r.Raw)
	}
	out := make(map[item]canonical.Digest, len(parts))
	for it, ds := range parts {
		if out[it] = ds[0]; len(ds) > 1 {
			slices.SortFunc(ds, func(x, y canonical.Digest) int { return slices.Compare(x[:], y[:]) })
			var all []byte
			for _, d := range ds {
				all = append(all, d[:]...)
			}
			out[it] = canonical.Sum(all)
		}
	}
	return out
}
