package processor

import (
	"errors"

	"agentgateway-lock/pkg/canonical"
)

// judgeCall decides about a request that uses one item: tools/call, prompts/get,
// resources/read. What it finds goes into v.
func (p *Processor) judgeCall(v *Verdict, pol *Policy, r *route, m *method, body []byte) Code {
	v.Kind = m.kind.list().Kind
	if len(r.targets) != 1 {
		return DeniedUnreadable
	}
	s := pol.targets[r.targets[0]]
	name, err := p.readName(m.param, body)
	if err != nil {
		return DeniedUnreadable
	}
	it := s.find(m.kind, string(name))
	if it != nil {
		v.Name, v.Approved = it.name, it.inForce
	} else {
		v.Name = string(name)
	}
	switch {
	case it != nil && it.denied == DeniedByFile:
		return DeniedByFile
	case !s.source:
		return DeniedSource
	case m.kind == resource:
		return p.judgeRead(v, pol, r, s, it)
	case !s.covers[m.kind] && pol.options.Uncovered == UncoveredPass:
		return ""
	case !s.covers[m.kind]:
		return DeniedNotCovered
	case it == nil:
		return DeniedNotApproved
	}
	return p.judgeItem(v, pol, r, s, it)
}

// judgeItem decides about an item that is covered and known.
func (p *Processor) judgeItem(v *Verdict, pol *Policy, r *route, s *server, it *item) (code Code) {
	if v.Approved = it.inForce; it.denied != "" {
		return it.denied
	}
	code, v.Seen = p.evidence.of(s.target).judge(r.scope, it, v.At, pol.options.MaxEvidenceAge)
	return code
}

// judgeRead decides about a URI. it is the resource of that URI, where one stands
// in the server's entry.
func (p *Processor) judgeRead(v *Verdict, pol *Policy, r *route, s *server, it *item) Code {
	switch {
	case it != nil && it.denied != "":
		return it.denied
	case it != nil && s.covers[resource]:
		return p.judgeItem(v, pol, r, s, it)
	case it == nil && s.covers[resource] && p.evidence.of(s.target).shows(r.scope, key{resource, v.Name}):
		return DeniedNotApproved
	}
	if code, ok := p.judgeTemplates(v, pol, r, s); ok {
		return code
	}
	switch {
	case s.covers[resource]:
		return DeniedNotApproved
	case pol.options.Uncovered == UncoveredPass:
		return ""
	}
	return DeniedNotCovered
}

// judgeTemplates decides about a URI by the templates that it expands: one that
// allows it is enough. ok is false where it expands none.
func (p *Processor) judgeTemplates(v *Verdict, pol *Policy, r *route, s *server) (code Code, ok bool) {
	if len(v.Name) > maxURI || !s.covers[template] {
		return "", false
	}
	for i := range s.patterns {
		t := &s.patterns[i]
		if !t.expands(v.Name) {
			continue
		}
		found := DeniedTemplate
		switch {
		case t.item.denied == DeniedByFile:
			return DeniedByFile, true
		case t.item.denied != "":
		case !t.closed || leaves(v.Name):
			found = DeniedTemplateOpen
		default:
			found = p.judgeItem(v, pol, r, s, t.item)
		}
		if found == "" {
			return "", true
		}
		if !ok || code == DeniedTemplate {
			code, ok = found, true
		}
	}
	return code, ok
}

var errNoName = errors.New("no name")

// readName returns the member of the params that names the item. The rest of the
// params is checked for syntax and not looked at. The result is a part of body, or
// a copy.
func (p *Processor) readName(param string, body []byte) (name []byte, err error) {
	if len(body) > maxBody {
		return nil, errNoName
	}
	r := p.reader(body)
	defer p.done(r)
	err = r.Object(func(key []byte) error {
		var err error
		if string(key) == param {
			name, err = r.Bytes()
			return err
		}
		_, err = r.Raw()
		return err
	})
	if err == nil {
		err = r.End()
	}
	if err == nil && len(name) == 0 {
		err = errNoName
	}
	return name, err
}

// reader lends a reader of a body; done takes it back.
func (p *Processor) reader(body []byte) *canonical.Reader {
	r, _ := p.readers.Get().(*canonical.Reader)
	r.Reset(body)
	return r
}

func (p *Processor) done(r *canonical.Reader) {
	r.Reset(nil)
	p.readers.Put(r)
}
