package surface

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
)

// A Surface is all that one server shows an agent, of the kinds that were asked
// for.
type Surface struct {
	// Instructions is nil where the server gives none.
	Instructions *Instructions
	// Lists has an entry for each kind that was asked for and offered; a kind that
	// the server does not offer has none.
	Lists map[Kind]List
	// Refused holds what is not hashed, in the order of [SortRefused].
	Refused []Refused
}

// IsEmpty reports whether a server lists nothing at all; its instructions do not
// count.
func (s *Surface) IsEmpty() bool {
	for _, l := range s.Lists {
		if len(l.Definitions) > 0 {
			return false
		}
	}
	return len(s.Refused) == 0
}

// Instructions are the text a server gives for its use.
type Instructions struct {
	Text string
	Hash canonical.Digest // over the UTF-8 text
}

// NewInstructions hashes a text.
func NewInstructions(text string) *Instructions {
	return &Instructions{Text: text, Hash: canonical.SumString(text)}
}

// A List holds the definitions of one kind, sorted by the bytes of their names.
type List struct {
	Definitions []Definition
}

// Refused is a definition that is not hashed, or instructions that hold a secret.
type Refused struct {
	Kind Kind
	Name string // where it could be read, else empty
	Rule canonical.Rule
	Raw  canonical.Digest // over the exact bytes; of instructions over their text
}

// NewList judges the definitions of one kind, in whatever order they were listed.
// All that bear one name are refused by the rule duplicate-name.
func NewList(kind Kind, raws [][]byte) (List, []Refused) {
	return NewListWithout(kind, raws, nil)
}

// NewListWithout is [NewList] that refuses, by the rule secret, each definition whose
// canonical form holds what must not be shown, and leaves out the name of one whose
// name does. Nil holds nothing.
func NewListWithout(kind Kind, raws [][]byte, secret func(text []byte) bool) (List, []Refused) {
	var (
		r       Reader
		list    = List{Definitions: make([]Definition, 0, len(raws))}
		refused []Refused
		count   = make(map[string]int, len(raws))
	)
	id, _ := ListKindOf(kind)
	for _, raw := range raws {
		d, err := r.Read(kind, raw)
		if err != nil {
			name := peekName(raw, id.ID)
			if name != "" {
				count[name]++
			}
			refused = append(refused, Refused{kind, name, ruleOf(err), canonical.Sum(raw)})
			continue
		}
		count[d.Name]++
		if secret != nil && secret(d.Canonical) {
			refused = append(refused, Refused{kind, d.Name, canonical.RuleSecret, canonical.Sum(raw)})
			continue
		}
		list.Definitions = append(list.Definitions, d)
	}
	list.Definitions, refused = dropDuplicates(kind, id.ID, list.Definitions, refused, count, raws)
	for i := range refused {
		if secret != nil && secret([]byte(refused[i].Name)) {
			refused[i].Name = ""
		}
	}
	slices.SortFunc(list.Definitions, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	SortRefused(refused)
	return list, refused
}

// dropDuplicates moves every definition whose name was borne more than once to
// refused.
func dropDuplicates(kind Kind, id string, kept []Definition, refused []Refused, count map[string]int, raws [][]byte) ([]Definition, []Refused) {
	if !slices.ContainsFunc(slices.Collect(maps.Values(count)), func(n int) bool { return n > 1 }) {
		return kept, refused
	}
	kept = slices.DeleteFunc(kept, func(d Definition) bool { return count[d.Name] > 1 })
	refused = slices.DeleteFunc(refused, func(r Refused) bool { return count[r.Name] > 1 })
	for _, raw := range raws {
		if name := peekName(raw, id); count[name] > 1 {
			refused = append(refused, Refused{kind, name, canonical.RuleDuplicateName, canonical.Sum(raw)})
		}
	}
	return kept, refused
}

func ruleOf(err error) canonical.Rule {
	var refusal *canonical.Refusal
	if errors.As(err, &refusal) {
		return refusal.Rule
	}
	return canonical.RuleSyntax
}

// peekName returns the identifying member of a definition as far as it can be
// read, or the empty string. Of a repeated member the last counts, as most
// readers take it.
func peekName(raw []byte, id string) string {
	name := ""
	r := canonical.NewReader(raw)
	_ = r.Object(func(key []byte) error {
		if string(key) == id && r.Peek() == canonical.KindString {
			s, err := r.String()
			name = s
			return err
		}
		_, err := r.Raw()
		return err
	})
	return name
}

// SortRefused puts refused definitions in the order of a lockfile entry: by kind,
// name, rule and bytes.
func SortRefused(refused []Refused) {
	slices.SortFunc(refused, func(a, b Refused) int {
		return cmp.Or(
			strings.Compare(string(a.Kind), string(b.Kind)),
			strings.Compare(a.Name, b.Name),
			strings.Compare(string(a.Rule), string(b.Rule)),
			slices.Compare(a.Raw[:], b.Raw[:]),
		)
	})
}

// Hash is the surfaceHash of tools that are sorted by the bytes of their names:
// over the canonical JSON of the array of their three hashes.
func Hash(tools []ToolHashes) canonical.Digest {
	const entry = len(`["","",""],`) + 3*2*len(canonical.Digest{})
	text := make([]byte, 0, 2+entry*len(tools))
	text = append(text, '[')
	for i, t := range tools {
		if i > 0 {
			text = append(text, ',')
		}
		for j, h := range []canonical.Digest{t.Name, t.Description, t.InputSchema} {
			text = append(text, "[,,"[j], '"')
			text, _ = h.AppendText(text)
			text = append(text, '"')
		}
		text = append(text, ']')
	}
	return canonical.Sum(append(text, ']'))
}
