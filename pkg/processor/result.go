package processor

import "errors"

// errForeign says that a result has a member which no result of its method has.
var errForeign = errors.New("a foreign member")

// judgeMembers judges a result that holds nothing of a definition. The gateway and
// clients match results by their id alone, and a server knows the ids of all that
// the client waits for: what it puts into this result's stream may be the answer to
// a list. So a result passes only with the members that its method's results have.
func (p *Processor) judgeMembers(v *Verdict, m *method, era Era, body []byte) {
	if len(body) > maxBody {
		v.Code = DeniedTooLarge
		return
	}
	r := p.reader(body)
	defer p.done(r)
	err := r.Object(func(name []byte) error {
		if !m.has(era, name) {
			v.Member = string(name)
			return errForeign
		}
		if m.nested == nil || string(name) != "result" {
			_, err := r.Raw()
			return err
		}
		return r.Object(func(name []byte) error {
			if !m.nested.has(era, name) {
				v.Member = "result." + string(name)
				return errForeign
			}
			_, err := r.Raw()
			return err
		})
	})
	if err == nil {
		err = r.End()
	}
	switch {
	case errors.Is(err, errForeign):
		v.Code = DeniedForeign
	case err != nil:
		v.Code = DeniedUnreadable
	}
}
