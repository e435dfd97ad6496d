package crawl

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
)

// A Difference is what a caller found when it held a surface against what it
// knows.
type Difference int

// What a surface may be, held against what is known.
const (
	Same    Difference = iota // nothing differs
	Unknown                   // nothing is known of the server yet
	Changed                   // something is new, gone, or another than before
)

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
	// FirstText and SecondText are its texts: of instructions as they are, of one
	// definition its canonical form; nil where there is none, or more than one.
	FirstText, SecondText []byte
}

// Confirm lists a server a second time before a listing is believed that differs
// from what the caller knows. Changed is confirmed by a fresh process or session,
// since texts can differ from start to start, and a server that has just started
// may not have its list yet. Unknown is listed again over the same connection, once
// the server had a moment where it showed nothing: what moves while it is listed
// is found, and it is started once. It returns the listing that counts, the second
// where there is one, and what was not the same in both.
func (l *Lister) Confirm(ctx context.Context, s *Session, covers []string, first *Listing, d Difference) (*Listing, []Unstable, error) {
	empty := first.Surface.IsEmpty()
	switch {
	case d == Same:
		return first, nil, nil
	case d == Changed:
		s.Close()
		fresh, err := l.Open(ctx, s.endpoint)
		if err != nil {
			return nil, nil, err
		}
		defer fresh.Close()
		s = fresh
	case empty:
		if err := s.await(ctx, l.opts.Limits.Settle); err != nil {
			return nil, nil, err
		}
	}
	second, err := s.List(ctx, covers)
	if err != nil || d == Unknown && empty {
		return second, nil, err // of a server that was not ready nothing moved
	}
	return second, compareSurfaces(first.Surface, second.Surface), nil
}

// await waits until the server tells that a list has changed, at most for d.
func (s *Session) await(ctx context.Context, d time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for !s.listChanged {
		message, err := s.link.conn.Read(waiting)
		if waiting.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return s.explain(ctx, "the wait for its lists", d, err)
		}
		if m, ok := message.(*jsonrpc.Request); ok {
			if err := s.serve(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// item names what can differ between two surfaces.
type item struct {
	kind surface.Kind
	name string
}

// compareSurfaces returns what differs, by kind and name.
func compareSurfaces(first, second surface.Surface) []Unstable {
	a, b := gather(first), gather(second)
	var found []Unstable
	for it, x := range a {
		y := b[it]
		if y == nil {
			y = &shown{}
		}
		if x.digest != y.digest {
			found = append(found, Unstable{it.kind, it.name, x.digest, y.digest, x.text, y.text})
		}
	}
	for it, y := range b {
		if _, ok := a[it]; !ok {
			found = append(found, Unstable{Kind: it.kind, Name: it.name, Second: y.digest, SecondText: y.text})
		}
	}
	slices.SortFunc(found, func(x, y Unstable) int {
		return cmp.Or(strings.Compare(string(x.Kind), string(y.Kind)), strings.Compare(x.Name, y.Name))
	})
	return found
}

// shown is what one listing shows of an item.
type shown struct {
	digest canonical.Digest
	text   []byte // nil where there are several
	parts  []canonical.Digest
}

// gather gives each item of a surface one digest.
func gather(s surface.Surface) map[item]*shown {
	all := map[item]*shown{}
	add := func(kind surface.Kind, name string, d canonical.Digest, text []byte) {
		it := item{kind, name}
		if all[it] == nil {
			all[it] = &shown{text: text}
		} else {
			all[it].text = nil
		}
		all[it].parts = append(all[it].parts, d)
	}
	if s.Instructions != nil {
		add(surface.KindInstructions, "", s.Instructions.Hash, []byte(s.Instructions.Text))
	}
	for kind, list := range s.Lists {
		add(kind, "", canonical.SumString("offered"), nil)
		for _, d := range list.Definitions {
			add(kind, d.Name, d.Digest, d.Canonical)
		}
	}
	for _, r := range s.Refused {
		add(r.Kind, r.Name, r.Raw, nil)
	}
	for _, it := range all {
		if it.digest = it.parts[0]; len(it.parts) > 1 {
			slices.SortFunc(it.parts, func(x, y canonical.Digest) int { return slices.Compare(x[:], y[:]) })
			var joined []byte
			for _, d := range it.parts {
				joined = append(joined, d[:]...)
			}
			it.digest = canonical.Sum(joined)
		}
	}
	return all
}
