package crawl

import (
	"errors"

	"agentgateway-lock/pkg/finding"
)

// tell tells an event without the values of variables.
func (l *Lister) tell(t Endpoint, kind EventKind, text string) {
	l.opts.Progress(Event{t.Name, kind, t.Values.Mask(text)})
}

// hide takes the values of variables out of an error: a server may repeat what it
// was given, and hosts and commands may be made of it.
func (t *Endpoint) hide(err error) error {
	if err == nil || t.Values == nil {
		return err
	}
	mask := t.Values.Mask
	var (
		egress      *EgressError
		unreachable *UnreachableError
		protocol    *ProtocolError
		auth        *AuthError
		start       *StartError
	)
	if errors.As(err, &egress) {
		egress.Host = mask(egress.Host)
	}
	if errors.As(err, &unreachable) {
		unreachable.Host = mask(unreachable.Host)
	}
	if errors.As(err, &protocol) {
		protocol.Detail = mask(protocol.Detail)
	}
	if errors.As(err, &auth) {
		auth.Host, auth.Challenge = mask(auth.Host), mask(auth.Challenge)
	}
	if errors.As(err, &start) {
		start.Command, start.Detail, start.Stderr = mask(start.Command), mask(start.Detail), mask(start.Stderr)
	}
	if text := err.Error(); mask(text) != text {
		return &maskedError{err, mask(text)}
	}
	return err
}

// maskedError is an error with other words. It does not unwrap to what still has
// the first ones, but for the types of this package, whose own are masked.
type maskedError struct {
	err  error
	text string
}

func (e *maskedError) Error() string { return e.text }

// As finds the types of this package.
func (e *maskedError) As(endpoint any) bool {
	switch endpoint.(type) {
	case **EgressError, **UnreachableError, **ProtocolError, **AuthError, **StartError, **LimitError, *finding.Hinter:
		return errors.As(e.err, endpoint)
	}
	return false
}

// Is reports what the error is of, as for the error that it masks.
func (e *maskedError) Is(endpoint error) bool { return errors.Is(e.err, endpoint) }
