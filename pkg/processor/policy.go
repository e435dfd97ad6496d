package processor

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
)

// kind is a kind of definition: an index of surface.ListKinds.
type kind uint8

const (
	tool kind = iota
	prompt
	template
	resource
)

const kinds = 4

// list describes the kind.
func (k kind) list() surface.ListKind { return surface.ListKinds()[k] }

func kindOf(k surface.Kind) (kind, bool) {
	i := slices.IndexFunc(surface.ListKinds(), func(l surface.ListKind) bool { return l.Kind == k })
	return kind(i), i >= 0
}

// A Policy is what is approved, and how that is applied. It does not change, but
// for what it remembers of verdicts.
type Policy struct {
	input   Input
	options Options
	targets map[string]*server // by the gateway's target
	names   map[string]*server // by the lockfile's name
	cache   *cache
}

// server is one server of a policy.
type server struct {
	name, target string
	denied       Code // why every method is denied
	source       bool // approved
	covers       [kinds]bool
	items        [kinds]map[string]*item
	apps         [kinds]map[string]*item // of the scheme ui, by their URI with a lower-case scheme
	patterns     []pattern               // of the resource templates
	instructions instructions
}

// item is one item of a policy.
type item struct {
	kind    kind
	name    string
	inForce canonical.Digest
	denied  Code // why it is not served whatever its digest
}

// instructions are those of one server.
type instructions struct {
	covered bool
	hash    canonical.Digest // in force; zero where none is
	text    string
	denied  Code
}

// stateCodes says why an item of a state is not served.
var stateCodes = map[State]Code{
	StateApproved: "", StateChanged: "", StateNew: DeniedNotApproved, StateRejected: DeniedRejected,
	StateDisabled: DeniedDisabled, StateRefused: DeniedRefused, StateAbsent: DeniedAbsent, StateConflict: DeniedConflict,
}

// NewPolicy compiles a policy. It refuses an input that contradicts itself: two
// servers with one name or one target, an item that stands twice, and values that
// no constant of this package has. The policy keeps the input, which must not be
// changed thereafter.
func NewPolicy(in Input) (*Policy, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	p := &Policy{
		input: in, options: in.Options, cache: newCache(maphash.MakeSeed()),
		targets: make(map[string]*server, len(in.Servers)), names: make(map[string]*server, len(in.Servers)),
	}
	for i := range in.Servers {
		s, err := newServer(&in.Servers[i])
		if err != nil {
			return nil, err
		}
		if p.names[s.name] != nil {
			return nil, fmt.Errorf("server %q is there twice", s.name)
		}
		if other := p.targets[s.target]; other != nil {
			return nil, fmt.Errorf("servers %q and %q have one target, %q: give one of them another target", other.name, s.name, s.target)
		}
		p.names[s.name], p.targets[s.target] = s, s
	}
	for _, ref := range in.Deny {
		if s := p.names[ref.Server]; s != nil {
			s.deny(ref)
		}
	}
	return p, nil
}

func (in *Input) check() error {
	switch {
	case !slices.Contains([]Uncovered{"", UncoveredDeny, UncoveredPass}, in.Uncovered):
		return fmt.Errorf("%q says nothing about kinds that are not covered: use deny or pass", in.Uncovered)
	case !slices.Contains([]Mode{"", Enforce, Observe}, in.Mode):
		return fmt.Errorf("mode %q: use enforce or observe", in.Mode)
	case !slices.Contains([]NameMode{NamesByCount, NamesRaw, NamesPrefixed, NamesNever}, in.Names):
		return fmt.Errorf("names %q: use raw, prefixed or never", in.Names)
	case in.MaxEvidenceAge < 0 || in.MaxListTTL < 0:
		return errors.New("a limit of time is negative")
	}
	return nil
}

func newServer(in *Server) (*server, error) {
	s := &server{name: in.Name, target: in.Target, source: in.SourceApproved}
	if s.target == "" {
		s.target = s.name
	}
	if s.target == "" {
		return nil, errors.New("a server has no name")
	}
	switch {
	case in.Skipped:
		s.denied = DeniedSkipped
	case in.Paused:
		s.denied = DeniedPaused
	}
	s.instructions.covered = slices.Contains(in.Covers, surface.CoverInstructions)
	for k := range kind(kinds) {
		s.covers[k] = slices.Contains(in.Covers, k.list().Cover)
		s.items[k], s.apps[k] = map[string]*item{}, map[string]*item{}
	}
	s.instructions.denied = DeniedNotApproved
	if i := in.Instructions; i != nil {
		code, ok := stateCodes[i.State]
		if !ok {
			return nil, fmt.Errorf("server %q: %q is no state", in.Name, i.State)
		}
		if code == "" && i.Hash.IsZero() {
			code = DeniedNotApproved
		}
		s.instructions.hash, s.instructions.text, s.instructions.denied = i.Hash, i.Text, code
	}
	for _, it := range in.Items {
		if err := s.add(it); err != nil {
			return nil, fmt.Errorf("server %q: %w", in.Name, err)
		}
	}
	return s, nil
}

func (s *server) add(in Item) error {
	k, ok := kindOf(in.Kind)
	code, known := stateCodes[in.State]
	switch {
	case !ok:
		return fmt.Errorf("%q is no kind of definition", in.Kind)
	case !known:
		return fmt.Errorf("%s %q: %q is no state", in.Kind, in.Name, in.State)
	case s.items[k][in.Name] != nil:
		return fmt.Errorf("%s %q is there twice", in.Kind, in.Name)
	}
	it := &item{kind: k, name: in.Name, inForce: in.InForce, denied: code}
	if code == "" && in.InForce.IsZero() {
		it.denied = DeniedNotApproved
	}
	s.put(it)
	return nil
}

// find returns what the entry holds of a name, or nil. The gateway writes the scheme
// ui in lower case; where an entry has the same URI in two spellings, it is only
// found as it is spelled.
func (s *server) find(k kind, name string) *item {
	if it := s.items[k][name]; it != nil {
		return it
	}
	return s.apps[k][name]
}

func (s *server) put(it *item) {
	s.items[it.kind][it.name] = it
	if rest, ok := cutApp(it.name); ok && (it.kind == template || it.kind == resource) {
		found := it
		if other, taken := s.apps[it.kind][app+rest]; taken && (other == nil || other.name != it.name) {
			found = nil
		}
		s.apps[it.kind][app+rest] = found
	}
	if it.kind == template {
		s.patterns = append(s.patterns, newPattern(it))
	}
}

// deny applies one line of the deny file. A name that the server's entry does not
// hold needs no line: it is denied in any case, unless it is not covered.
func (s *server) deny(ref Ref) {
	switch {
	case ref.Name != "":
		for k := range kind(kinds) {
			if ref.Kind != "" && ref.Kind != k.list().Kind {
				continue
			}
			if it := s.items[k][ref.Name]; it != nil {
				it.denied = DeniedByFile
				continue
			}
			s.put(&item{kind: k, name: ref.Name, denied: DeniedByFile})
		}
	case ref.Kind == surface.KindInstructions:
		s.instructions.denied = DeniedByFile
	default:
		s.denied = DeniedByFile
	}
}

// Input returns what the policy was compiled from. It is shared, and not to be
// changed.
func (p *Policy) Input() Input { return p.input }
