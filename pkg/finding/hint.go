package finding

import "errors"

// A Hinter is an error that says what to do next, in lower case and without a full
// stop. Every error with advice is one, so that nobody needs to know its type.
type Hinter interface {
	error
	Hint() string
}

// HintOf returns what an error says to do next; the empty string where no error of
// the chain says anything.
func HintOf(err error) string {
	for err != nil {
		h, ok := errors.AsType[Hinter](err)
		if !ok {
			return ""
		}
		if hint := h.Hint(); hint != "" {
			return hint
		}
		err = errors.Unwrap(h)
	}
	return ""
}

// CodeOf returns the code of the finding that an error would be, as its method Code
// gives it; the empty string where no error of the chain has one.
func CodeOf(err error) Code {
	if c, ok := errors.AsType[interface {
		error
		Code() Code
	}](err); ok {
		return c.Code()
	}
	return ""
}
