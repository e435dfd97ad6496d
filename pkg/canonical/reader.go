package canonical

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A Reader pulls values out of a JSON text in the order they stand, under the
// same grammar as the canonical form: a repeated member, a lone surrogate,
// invalid UTF-8 and nesting over [MaxDepth] are refused. Every error is a
// [*Refusal] with the place, or the error a callback returned.
//
// The caller asks for the type it wants; another type is refused by the rule
// shape.
type Reader struct {
	src   []byte
	pos   int
	depth int
	keys  [][]byte // names of the members of the objects now open
}

// NewReader returns a Reader of src, which must not change while it is read.
func NewReader(src []byte) *Reader { return &Reader{src: src} }

// Reset makes r read src from its start. It keeps the working memory of r, so one
// Reader for many texts allocates less than many.
func (r *Reader) Reset(src []byte) { *r = Reader{src: src, keys: r.keys[:0]} }

// A Kind is the type of a JSON value.
type Kind byte

// The kinds; KindNone is no value at all.
const (
	KindNone   Kind = 0
	KindObject Kind = '{'
	KindArray  Kind = '['
	KindString Kind = '"'
	KindNumber Kind = '0'
	KindBool   Kind = 't'
	KindNull   Kind = 'n'
)

var kindNames = map[Kind]string{
	KindNone: "nothing", KindObject: "an object", KindArray: "an array", KindString: "a string",
	KindNumber: "a number", KindBool: "a boolean", KindNull: "null",
}

// String returns the kind with its article, as in "an object".
func (k Kind) String() string { return kindNames[k] }

// Peek returns the kind of the value that comes next, judged by its first byte.
func (r *Reader) Peek() Kind {
	r.pos = skipSpace(r.src, r.pos)
	if r.pos >= len(r.src) {
		return KindNone
	}
	switch c := r.src[r.pos]; c {
	case '{', '[', '"', 'n', 't':
		return Kind(c)
	case 'f':
		return KindBool
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return KindNumber
	}
	return KindNone
}

// Offset returns the offset of the value that comes next.
func (r *Reader) Offset() int {
	r.pos = skipSpace(r.src, r.pos)
	return r.pos
}

// Refuse returns a refusal at the offset at, for what the caller finds wrong.
func (r *Reader) Refuse(at int, rule Rule, format string, args ...any) error {
	return &Refusal{rule, at, fmt.Sprintf(format, args...)}
}

// End refuses whatever but white space is left.
func (r *Reader) End() error {
	if r.pos = skipSpace(r.src, r.pos); r.pos < len(r.src) {
		return &Refusal{RuleSyntax, r.pos, "there is something after the value"}
	}
	return nil
}

func (r *Reader) expect(want Kind) error {
	switch have := r.Peek(); have {
	case want:
		return nil
	case KindNone:
		return &Refusal{RuleSyntax, r.pos, "not a JSON value"}
	default:
		return &Refusal{RuleShape, r.pos, fmt.Sprintf("%v in place of %v", have, want)}
	}
}

func (r *Reader) enter() error {
	if r.depth++; r.depth > MaxDepth {
		return &Refusal{RuleDepth, r.pos, "nested deeper than 128 levels"}
	}
	r.pos++
	return nil
}

// Object reads an object and calls member for each of its members, with the
// decoded name; member must read the value. The name is valid until the next
// member.
func (r *Reader) Object(member func(key []byte) error) error {
	if err := r.expect(KindObject); err != nil {
		return err
	}
	if err := r.enter(); err != nil {
		return err
	}
	base := len(r.keys)
	var large map[string]struct{}
	for first := true; ; first = false {
		done, err := r.next('}', first)
		if err != nil {
			return err
		}
		if done {
			r.keys = r.keys[:base]
			return nil
		}
		at := r.pos
		key, err := r.key()
		if err != nil {
			return err
		}
		if large, err = r.once(base, large, key, at); err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
	}
}

// manyKeys is how many members an object may have before a map finds repeated
// ones.
const manyKeys = 16

// once refuses a member name that the open object has already.
func (r *Reader) once(base int, large map[string]struct{}, key []byte, at int) (map[string]struct{}, error) {
	switch n := len(r.keys) - base; {
	case n < manyKeys:
		for _, k := range r.keys[base:] {
			if string(k) == string(key) {
				return nil, repeatedMember(at)
			}
		}
		r.keys = append(r.keys, key)
		return nil, nil
	case large == nil:
		large = make(map[string]struct{}, 4*manyKeys)
		for _, k := range r.keys[base:] {
			large[string(k)] = struct{}{}
		}
	}
	if _, ok := large[string(key)]; ok {
		return nil, repeatedMember(at)
	}
	large[string(key)] = struct{}{}
	return large, nil
}

func repeatedMember(at int) *Refusal {
	return &Refusal{RuleDuplicateKey, at, "a member is there twice in one object"}
}

func (r *Reader) key() ([]byte, error) {
	if r.pos >= len(r.src) || r.src[r.pos] != '"' {
		return nil, &Refusal{RuleSyntax, r.pos, "a member name is missing"}
	}
	key, err := r.Bytes()
	if err != nil {
		return nil, err
	}
	if r.pos = skipSpace(r.src, r.pos); r.pos >= len(r.src) || r.src[r.pos] != ':' {
		return nil, &Refusal{RuleSyntax, r.pos, "no colon after a member name"}
	}
	r.pos++
	return key, nil
}

// next reads what stands between two elements and leaves pos on the next one. It
// reports true after the closing bracket.
func (r *Reader) next(closing byte, first bool) (done bool, err error) {
	r.pos = skipSpace(r.src, r.pos)
	switch {
	case r.pos >= len(r.src):
		return false, &Refusal{RuleSyntax, r.pos, "the text ends inside a value"}
	case r.src[r.pos] == closing:
		r.pos++
		r.depth--
		return true, nil
	case first:
		return false, nil
	case r.src[r.pos] != ',':
		return false, &Refusal{RuleSyntax, r.pos, "neither a comma nor the end of the value"}
	}
	r.pos = skipSpace(r.src, r.pos+1)
	if r.pos < len(r.src) && r.src[r.pos] == closing {
		return false, &Refusal{RuleSyntax, r.pos, "there is a comma before the end of the value"}
	}
	return false, nil
}

// Array reads an array and calls element for each of its elements, which must
// read the value.
func (r *Reader) Array(element func() error) error {
	if err := r.expect(KindArray); err != nil {
		return err
	}
	if err := r.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		done, err := r.next(']', first)
		if done || err != nil {
			return err
		}
		if err := element(); err != nil {
			return err
		}
	}
}

// String reads a string.
func (r *Reader) String() (string, error) {
	b, err := r.Bytes()
	return string(b), err
}

// Bytes reads a string as decoded UTF-8. The result may be a part of the text
// that is read: it must not be changed.
func (r *Reader) Bytes() ([]byte, error) {
	if err := r.expect(KindString); err != nil {
		return nil, err
	}
	start := r.pos + 1
	end := plainRun(r.src, start)
	if end < len(r.src) && r.src[end] == '"' {
		r.pos = end + 1
		return r.src[start:end], nil
	}
	end, escaped, refusal := scanString(r.src, end)
	if refusal != nil {
		return nil, refusal
	}
	r.pos = end
	inside := r.src[start : end-1]
	if !escaped {
		return inside, nil
	}
	out := make([]byte, 0, len(inside))
	for pos := start; pos < end-1; {
		next := plainRun(r.src, pos)
		out = append(out, r.src[pos:next]...)
		if pos = next; pos < end-1 {
			var c rune
			c, pos, _ = stringPiece(r.src, pos)
			out = utf8.AppendRune(out, c)
		}
	}
	return out, nil
}

// scanString reads on inside a string and returns the offset after its closing
// quote.
func scanString(src []byte, pos int) (end int, escaped bool, refusal *Refusal) {
	for {
		pos = plainRun(src, pos)
		if pos < len(src) && src[pos] == '"' {
			return pos + 1, escaped, nil
		}
		escaped = escaped || pos < len(src) && src[pos] == '\\'
		if _, pos, refusal = stringPiece(src, pos); refusal != nil {
			return pos, escaped, refusal
		}
	}
}

// Bool reads a boolean.
func (r *Reader) Bool() (bool, error) {
	if err := r.expect(KindBool); err != nil {
		return false, err
	}
	value := r.src[r.pos] == 't'
	end, refusal := scanLiteral(r.src, r.pos)
	if refusal != nil {
		return false, refusal
	}
	r.pos = end
	return value, nil
}

// Null reads null where it stands and reports whether it did.
func (r *Reader) Null() (bool, error) {
	if r.Peek() != KindNull {
		return false, nil
	}
	end, refusal := scanLiteral(r.src, r.pos)
	if refusal != nil {
		return false, refusal
	}
	r.pos = end
	return true, nil
}

// Int reads a number written in plain digits that fits int64.
func (r *Reader) Int() (int64, error) {
	if err := r.expect(KindNumber); err != nil {
		return 0, err
	}
	n, refusal := scanNumber(r.src, r.pos)
	if refusal != nil {
		return 0, refusal
	}
	value, err := strconv.ParseInt(string(r.src[r.pos:n.end]), 10, 64)
	if err != nil || !n.integer || value == 0 && r.src[r.pos] == '-' {
		return 0, &Refusal{RuleNumber, r.pos, "not an integer in plain digits within 64 bits"}
	}
	r.pos = n.end
	return value, nil
}

// Raw reads any value and returns its exact bytes, a part of the text that is
// read. Of the value it checks all but repeated members and what numbers hold.
func (r *Reader) Raw() ([]byte, error) {
	start := r.Offset()
	if err := r.skip(); err != nil {
		return nil, err
	}
	return r.src[start:r.pos], nil
}

func (r *Reader) skip() error {
	var refusal *Refusal
	switch r.Peek() {
	case KindObject:
		return r.skipNested('}', true)
	case KindArray:
		return r.skipNested(']', false)
	case KindString:
		r.pos, _, refusal = scanString(r.src, r.pos+1)
	case KindNumber:
		var n number
		n, refusal = scanNumber(r.src, r.pos)
		r.pos = n.end
	case KindBool, KindNull:
		r.pos, refusal = scanLiteral(r.src, r.pos)
	default:
		refusal = &Refusal{RuleSyntax, r.pos, "not a JSON value"}
	}
	if refusal != nil {
		return refusal
	}
	return nil
}

func (r *Reader) skipNested(closing byte, object bool) error {
	if err := r.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		done, err := r.next(closing, first)
		if done || err != nil {
			return err
		}
		if object {
			if err := r.skipKey(); err != nil {
				return err
			}
		}
		if err := r.skip(); err != nil {
			return err
		}
	}
}

func (r *Reader) skipKey() error {
	if r.pos >= len(r.src) || r.src[r.pos] != '"' {
		return &Refusal{RuleSyntax, r.pos, "a member name is missing"}
	}
	end, _, refusal := scanString(r.src, r.pos+1)
	if refusal != nil {
		return refusal
	}
	if end = skipSpace(r.src, end); end >= len(r.src) || r.src[end] != ':' {
		return &Refusal{RuleSyntax, end, "no colon after a member name"}
	}
	r.pos = end + 1
	return nil
}
