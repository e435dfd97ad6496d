package seal

import (
	"errors"
	"fmt"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/textcheck"
	"agentgateway-lock/pkg/trust"
)

const (
	bundleSubject = "the bundle"
	hintRebundle  = "make the bundle again with agentgateway bundle"
)

func bundleError(detail string) *Error {
	return &Error{RuleBundle, bundleSubject, detail, hintRebundle, nil}
}

// WriteBundle returns the bytes of a bundle file. The same bundle gives the same
// bytes. A bundle that ParseBundle would refuse is an [*Error].
func WriteBundle(b *Bundle) ([]byte, error) {
	if detail := b.check(); detail != "" {
		return nil, bundleError(detail)
	}
	w := bundleWriter{make([]byte, 0, 1<<10+len(b.Lockfile)+len(b.Lockfile)/4)}
	w.dst = append(w.dst, '{')
	w.name("type")
	w.word(BundleType)
	w.name("path")
	w.word(b.Path)
	w.name("lockfile")
	w.text(b.Lockfile)
	w.list("trust", '[', ']', len(b.Trust), func(i int) { w.text(b.Trust[i].Data) })
	w.list("decisions", '{', '}', len(b.Decisions), func(i int) {
		id, _ := trust.ParseDecisionPath(b.Decisions[i].Path) // checked above
		w.word(id.String())
		w.dst = append(w.dst, ": "...)
		w.text(b.Decisions[i].Data)
	})
	w.list("instructions", '[', ']', len(b.Instructions), func(i int) { w.word(b.Instructions[i]) })
	w.name("seal")
	w.dst = append(w.dst, `{"kind": `...)
	w.word(string(b.Seal.Kind))
	w.dst = append(w.dst, `, "text": `...)
	w.text(b.Seal.Data)
	w.dst = append(w.dst, "}\n}\n"...)
	if len(w.dst) > MaxBundleSize {
		return nil, tooLarge(len(w.dst))
	}
	return w.dst, nil
}

func tooLarge(size int) *Error {
	return &Error{RuleBundleSize, bundleSubject, fmt.Sprintf("it has %d bytes; the limit is %d", size, MaxBundleSize), "serve from a repository instead", nil}
}

// A bundleWriter builds the text of a bundle, one member and one file a line.
type bundleWriter struct{ dst []byte }

func (w *bundleWriter) name(name string) {
	if w.dst[len(w.dst)-1] != '{' {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(w.dst, "\n  "...)
	w.word(name)
	w.dst = append(w.dst, ": "...)
}

func (w *bundleWriter) text(text []byte) { w.dst = canonical.AppendString(w.dst, text) }

func (w *bundleWriter) word(text string) { w.dst = canonical.AppendString(w.dst, text) }

func (w *bundleWriter) list(name string, open, closing byte, n int, element func(i int)) {
	w.name(name)
	w.dst = append(w.dst, open)
	for i := range n {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.dst = append(w.dst, "\n    "...)
		element(i)
	}
	if n > 0 {
		w.dst = append(w.dst, "\n  "...)
	}
	w.dst = append(w.dst, closing)
}

// ParseBundle reads a bundle file. It is strict: every member is there, once, and
// no other; lists are sorted and hold nothing twice. What is inside its files is
// judged by VerifyBundle. The bundle may share memory with src, which must not be
// changed afterwards. The error is an [*Error] that names the place.
func ParseBundle(src []byte) (*Bundle, error) {
	if len(src) > MaxBundleSize {
		return nil, tooLarge(len(src))
	}
	p := bundleParser{r: canonical.NewReader(src), b: &Bundle{}}
	err := p.whole()
	if err == nil {
		err = p.r.End()
	}
	if refusal, ok := errors.AsType[*canonical.Refusal](err); ok {
		line, column := canonical.Position(src, refusal.At)
		e := bundleError(fmt.Sprintf("line %d, column %d: %s", line, column, refusal.Detail))
		e.Err = refusal
		return nil, e
	}
	if detail := p.b.check(); detail != "" {
		return nil, bundleError(detail)
	}
	return p.b, nil
}

type bundleParser struct {
	r *canonical.Reader
	b *Bundle
}

// object reads an object that has exactly the given members.
func (p *bundleParser) object(members ...canonical.Field) error {
	err := p.r.Fields(members...)
	if wrong, ok := errors.AsType[*canonical.FieldError](err); ok {
		return p.r.Refuse(wrong.At, canonical.RuleShape, "%v", wrong)
	}
	return err
}

func (p *bundleParser) string(into *string) func() error {
	return func() (err error) { *into, err = p.r.String(); return err }
}

func (p *bundleParser) bytes(into *[]byte) func() error {
	return func() (err error) { *into, err = p.r.Bytes(); return err }
}

func (p *bundleParser) whole() error {
	var kind string
	b := p.b
	err := p.object(
		canonical.Field{Name: "type", Read: p.bundleType},
		canonical.Field{Name: "path", Read: p.string(&b.Path)},
		canonical.Field{Name: "lockfile", Read: p.bytes(&b.Lockfile)},
		canonical.Field{Name: "trust", Read: p.trust},
		canonical.Field{Name: "decisions", Read: p.decisions},
		canonical.Field{Name: "instructions", Read: p.instructions},
		canonical.Field{Name: "seal", Read: func() error {
			return p.object(canonical.Field{Name: "kind", Read: p.string(&kind)}, canonical.Field{Name: "text", Read: p.bytes(&b.Seal.Data)})
		}},
	)
	b.Seal.Kind = Require(kind)
	return err
}

func (p *bundleParser) bundleType() error {
	at := p.r.Offset()
	text, err := p.r.Bytes()
	if err == nil && string(text) != BundleType {
		return p.r.Refuse(at, canonical.RuleShape, "the type is %s, and this version reads %s", textcheck.Quote(text, textcheck.QuoteLength), BundleType)
	}
	return err
}

func (p *bundleParser) trust() error {
	return p.r.Array(func() error {
		at := p.r.Offset()
		if len(p.b.Trust) == trust.MaxVersions {
			return p.r.Refuse(at, canonical.RuleSize, "more than %d trust versions", trust.MaxVersions)
		}
		data, err := p.r.Bytes()
		p.b.Trust = append(p.b.Trust, trust.File{Number: len(p.b.Trust) + 1, Data: data})
		return err
	})
}

func (p *bundleParser) decisions() error {
	return p.r.Object(func(key []byte) error {
		id, err := canonical.ParseDigest(key)
		if err != nil {
			return p.r.Refuse(p.r.Offset(), canonical.RuleShape, "%s is not the id of a decision: %v", textcheck.Quote(key, textcheck.QuoteLength), err)
		}
		if len(p.b.Decisions) == trust.MaxDecisions {
			return p.r.Refuse(p.r.Offset(), canonical.RuleSize, "more than %d decisions", trust.MaxDecisions)
		}
		data, err := p.r.Bytes()
		p.b.Decisions = append(p.b.Decisions, trust.DecisionFile{Path: trust.DecisionPath(id), Data: data})
		return err
	})
}

func (p *bundleParser) instructions() error {
	return p.r.Array(func() error {
		at := p.r.Offset()
		if len(p.b.Instructions) == MaxInstructions {
			return p.r.Refuse(at, canonical.RuleSize, "more than %d instructions", MaxInstructions)
		}
		text, err := p.r.String()
		p.b.Instructions = append(p.b.Instructions, text)
		return err
	})
}
