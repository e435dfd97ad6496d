package trust

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/textcheck"
)

// A parser reads the strict formats of this package.
type parser struct {
	r   *canonical.Reader
	src []byte
}

// A field is one member of an object and how its value is read.
type field struct {
	name string
	read func() error
}

// fail is an error at the value that comes next.
func (p *parser) fail(rule Rule, format string, args ...any) error {
	return p.failAt(p.r.Offset(), rule, format, args...)
}

func (p *parser) failAt(at int, rule Rule, format string, args ...any) error {
	line, column := canonical.Position(p.src, at)
	return &FormatError{Rule: rule, Line: line, Column: column, Detail: fmt.Sprintf(format, args...)}
}

// within adds a step to the path of an error, from the inside out.
func (p *parser) within(step string, err error) error {
	fe, ok := errors.AsType[*FormatError](err)
	if !ok {
		fe = asFormatError("", p.src, err)
	}
	switch {
	case fe.Path == "":
		fe.Path = step
	case fe.Path[0] == '[':
		fe.Path = step + fe.Path
	default:
		fe.Path = step + "." + fe.Path
	}
	return fe
}

// object reads an object that has exactly the members of fields, in any order.
func (p *parser) object(fields ...field) error { return p.objectWith(nil, fields...) }

// objectWith reads an object that has the members of fields, and may have those of
// optional, in any order. A member that may be left out is left out where it is
// empty, so that the object has one form.
func (p *parser) objectWith(optional []field, fields ...field) error {
	all := make([]canonical.Field, 0, len(fields)+len(optional))
	for i, f := range slices.Concat(fields, optional) {
		all = append(all, canonical.Field{Name: f.name, Optional: i >= len(fields), Read: func() error {
			if err := f.read(); err != nil {
				return p.within(f.name, err)
			}
			return nil
		}})
	}
	err := p.r.Fields(all...)
	if wrong, ok := errors.AsType[*canonical.FieldError](err); ok {
		rule := RuleMember
		if wrong.Missing {
			rule = RuleMissing
		}
		return p.failAt(wrong.At, rule, "%v", wrong)
	}
	return err
}

// array reads a list of at most limit elements.
func (p *parser) array(limit int, element func() error) error {
	n := 0
	return p.r.Array(func() error {
		if n == limit {
			return p.fail(RuleSize, "more than %d entries", limit)
		}
		if err := element(); err != nil {
			return p.within("["+strconv.Itoa(n)+"]", err)
		}
		n++
		return nil
	})
}

// text reads a string of at most limit bytes.
func (p *parser) text(into *string, limit int) func() error {
	return func() error {
		at := p.r.Offset()
		s, err := p.r.String()
		if err == nil && len(s) > limit {
			err = p.failAt(at, RuleSize, "longer than %d bytes", limit)
		}
		*into = s
		return err
	}
}

// literal reads a string that must be one text.
func (p *parser) literal(want string) func() error {
	return func() error {
		at := p.r.Offset()
		s, err := p.r.String()
		if err == nil && s != want {
			err = p.failAt(at, RuleType, "%s in place of %q", textcheck.Quote(s, textcheck.QuoteLength), want)
		}
		return err
	}
}

func (p *parser) flag(into *bool) func() error {
	return func() (err error) {
		*into, err = p.r.Bool()
		return err
	}
}

// integer reads an integer from low to high.
func (p *parser) integer(into *int64, low, high int64) func() error {
	return func() error {
		at := p.r.Offset()
		n, err := p.r.Int()
		if err == nil && (n < low || n > high) {
			err = p.failAt(at, RuleValue, "%d is not between %d and %d", n, low, high)
		}
		*into = n
		return err
	}
}

// digest reads a digest; where optional, the empty string stands for none.
func (p *parser) digest(into *canonical.Digest, optional bool) func() error {
	return func() error {
		at := p.r.Offset()
		text, err := p.r.Bytes()
		if err != nil {
			return err
		}
		if len(text) == 0 && optional {
			*into = canonical.Digest{}
			return nil
		}
		d, err := canonical.ParseDigest(text)
		if err != nil {
			return p.failAt(at, RuleValue, "%v", err)
		}
		if d.IsZero() {
			return p.failAt(at, RuleValue, "a digest of zeros only is not the digest of anything")
		}
		*into = d
		return nil
	}
}

// digests reads a sorted list of digests.
func (p *parser) digests(into *[]canonical.Digest, limit int) func() error {
	return func() error {
		list := []canonical.Digest{}
		err := p.array(limit, func() error {
			at := p.r.Offset()
			var d canonical.Digest
			if err := p.digest(&d, false)(); err != nil {
				return err
			}
			if n := len(list); n > 0 && bytes.Compare(list[n-1][:], d[:]) >= 0 {
				return p.failAt(at, RuleOrder, "the list is not sorted, or holds something twice")
			}
			list = append(list, d)
			return nil
		})
		*into = list
		return err
	}
}

// texts reads a sorted list of strings of 1 to size bytes.
func (p *parser) texts(into *[]string, limit, size int) func() error {
	return func() error {
		list := []string{}
		err := p.array(limit, func() error {
			at := p.r.Offset()
			var s string
			if err := p.text(&s, size)(); err != nil {
				return err
			}
			if s == "" {
				return p.failAt(at, RuleValue, "an empty string in place of one of a character or more")
			}
			if n := len(list); n > 0 && list[n-1] >= s {
				return p.failAt(at, RuleOrder, "the list is not sorted, or holds something twice")
			}
			list = append(list, s)
			return nil
		})
		*into = list
		return err
	}
}

// signatures reads the blobs of signatures, sorted by key.
func (p *parser) signatures(into *[][]byte) func() error {
	return func() error {
		list := [][]byte{}
		err := p.array(MaxSignatures, func() error {
			at := p.r.Offset()
			text, err := p.r.Bytes()
			if err != nil {
				return err
			}
			if len(text) > maxSignatureText {
				return p.failAt(at, RuleSize, "longer than %d bytes", maxSignatureText)
			}
			blob, err := base64.StdEncoding.Strict().DecodeString(string(text))
			if err != nil || len(blob) == 0 || base64.StdEncoding.EncodedLen(len(blob)) != len(text) {
				return p.failAt(at, RuleValue, "not the one base64 text of a signature")
			}
			if n := len(list); n > 0 && bytes.Compare(list[n-1], blob) >= 0 {
				return p.failAt(at, RuleOrder, "the signatures are not sorted by key, or one is there twice")
			}
			list = append(list, blob)
			return nil
		})
		*into = list
		return err
	}
}

// readWhole reads one record: src within size, the members of body and
// signatures, and nothing after them. It returns the bytes of the member body as
// they stand.
func readWhole(subject string, src []byte, size int, body string, read func(*parser) error, signatures *[][]byte) ([]byte, error) {
	if len(src) > size {
		return nil, &FormatError{Subject: subject, Rule: RuleSize, Detail: fmt.Sprintf("the file has %d bytes; the limit is %d", len(src), size)}
	}
	p := &parser{r: canonical.NewReader(src), src: src}
	var raw []byte
	err := p.object(
		field{body, func() error {
			start := p.r.Offset()
			if err := read(p); err != nil {
				return err
			}
			raw = bytes.TrimRight(src[start:p.r.Offset()], " \t\r\n")
			return nil
		}},
		field{"signatures", p.signatures(signatures)},
	)
	if err == nil {
		err = p.r.End()
	}
	if err != nil {
		return nil, asFormatError(subject, src, err)
	}
	return raw, nil
}

// sameForm holds that what was read, written again, is what stood there: its
// canonical form is the one form of what it says.
func sameForm(subject string, raw, written []byte) error {
	enc := canonical.Encoder{MaxSize: maxBody}
	text, err := enc.Append(make([]byte, 0, len(written)), raw)
	if err != nil {
		return asFormatError(subject, raw, err)
	}
	if !bytes.Equal(text, written) {
		return &FormatError{Subject: subject, Rule: RuleForm, Detail: "not the one form of what it says"}
	}
	return nil
}
