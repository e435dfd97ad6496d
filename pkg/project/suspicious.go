package project

import (
	"fmt"

	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// SuspiciousError says that text which may not be what it looks like is not
// approved without saying so.
type SuspiciousError struct {
	Key       surface.Key
	Suspicion Suspicion
}

// Error implements error.
func (e *SuspiciousError) Error() string {
	p := e.Suspicion.Problem
	what := p.Detail
	if p.CodePoint != 0 {
		what = fmt.Sprintf("U+%04X, %s", p.CodePoint, what)
	}
	return fmt.Sprintf("%q: %s, line %d column %d: %s: %s", e.Key.String(), e.Suspicion.Where, p.Line, p.Column, p.Rule, what)
}

// Hint says how to go on.
func (e *SuspiciousError) Hint() string {
	return "look at it with `review`; where the text is right all the same, pass --accept-suspicious " + textcheck.Terminal(ItemWords(e.Key))
}

// suspicious returns what the checks warn of first in the text of an item; nil
// where there is nothing.
func (r *Review) suspicious(key surface.Key) *Suspicion {
	for i := range r.Items {
		if it := &r.Items[i]; it.Key == key && len(it.Suspicious) > 0 {
			return &it.Suspicious[0]
		}
	}
	return nil
}

// leftOut returns the chosen items whose text the checks warn of and that are not
// among the accepted ones.
func (r *Review) leftOut(chosen func(surface.Key) bool, accepted []string) ([]surface.Key, error) {
	named := map[surface.Key]bool{}
	for _, word := range accepted {
		known := false
		for i := range r.Items {
			// A name that cannot be typed is named as it is shown.
			if words := ItemWords(r.Items[i].Key); word == words || word == textcheck.Terminal(words) {
				named[r.Items[i].Key], known = true, true
			}
		}
		if !known {
			return nil, &hintError{fmt.Errorf("--accept-suspicious %s: no item of that name waits for a decision", word), "name each item, as SERVER/NAME"}
		}
	}
	var out []surface.Key
	for i := range r.Items {
		if it := &r.Items[i]; chosen(it.Key) && len(it.Suspicious) > 0 && !named[it.Key] {
			out = append(out, it.Key)
		}
	}
	return out, nil
}
