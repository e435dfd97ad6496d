package canonical

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// The limits of a definition. The text itself is level 1 of its nesting.
const (
	MaxDepth = 128
	MaxSize  = 1 << 20
)

// An Encoder makes canonical bytes. It keeps its working memory between texts,
// so one Encoder for many texts is faster than many. The zero value is ready to
// use; an Encoder is not safe for concurrent use.
type Encoder struct {
	// MaxSize bounds the length of a text in bytes; 0 means [MaxSize].
	MaxSize int

	src     []byte
	pos     int
	dst     []byte
	depth   int
	stack   []member // members of the objects now open
	scratch []byte
	steady  bool
	top     []Member
}

// A Member is one member of the outermost object, as offsets into the bytes the
// encoder wrote.
type Member struct {
	Key   []byte // decoded
	Start int    // the opening quote of the key
	Value int    // the first byte of the value
	End   int    // after the value
}

// member is one member of an open object, as offsets into dst.
type member struct {
	start  int // the opening quote of the key
	value  int
	end    int
	source int  // of the key, for messages
	ascii  bool // the key holds ASCII without escapes only: its bytes sort as its UTF-16 does
}

// Text is the canonical form of one JSON text.
type Text struct {
	Bytes []byte
	// Members are those of the outermost object, in canonical order; nil for
	// another value.
	Members []Member
	// Steady is false where a number could be moved by one unit in the last
	// place by a parser that does not round correctly.
	Steady bool
}

// Append appends the canonical form of the JSON text src to dst. The error is a
// [*Refusal]; dst is then returned as it was.
func Append(dst, src []byte) ([]byte, error) {
	var e Encoder
	return e.Append(dst, src)
}

// Append is like the function [Append] and reuses the working memory of e.
func (e *Encoder) Append(dst, src []byte) ([]byte, error) {
	if refusal := e.run(dst, src); refusal != nil {
		return dst, refusal
	}
	return e.dst, nil
}

// Encode returns the canonical form of src with the members of its outermost
// object. The result does not share memory with e or src.
func (e *Encoder) Encode(src []byte) (Text, error) {
	if refusal := e.run(make([]byte, 0, len(src)), src); refusal != nil {
		return Text{}, refusal
	}
	return Text{Bytes: e.dst, Members: e.top, Steady: e.steady}, nil
}

func (e *Encoder) run(dst, src []byte) *Refusal {
	limit := e.MaxSize
	if limit == 0 {
		limit = MaxSize
	}
	if len(src) > limit {
		return &Refusal{RuleSize, limit, "the text is longer than the limit"}
	}
	e.src, e.pos, e.dst, e.depth, e.stack, e.steady, e.top = src, 0, dst, 0, e.stack[:0], true, nil
	if refusal := e.value(); refusal != nil {
		return refusal
	}
	if e.pos = skipSpace(src, e.pos); e.pos < len(src) {
		return &Refusal{RuleSyntax, e.pos, "there is something after the value"}
	}
	return nil
}

func (e *Encoder) value() *Refusal {
	e.pos = skipSpace(e.src, e.pos)
	if e.pos >= len(e.src) {
		return &Refusal{RuleSyntax, e.pos, "the text ends before the value"}
	}
	switch e.src[e.pos] {
	case '{':
		return e.object()
	case '[':
		return e.array()
	case '"':
		_, refusal := e.text()
		return refusal
	case 't', 'f', 'n':
		end, refusal := scanLiteral(e.src, e.pos)
		if refusal == nil {
			e.dst = append(e.dst, e.src[e.pos:end]...)
			e.pos = end
		}
		return refusal
	default:
		return e.number()
	}
}

func (e *Encoder) number() *Refusal {
	n, refusal := scanNumber(e.src, e.pos)
	if refusal != nil {
		return refusal
	}
	var steady bool
	e.dst, steady, refusal = appendNumber(e.dst, e.src[e.pos:n.end], n.integer, e.pos)
	e.steady = e.steady && steady
	e.pos = n.end
	return refusal
}

func (e *Encoder) enter() *Refusal {
	if e.depth++; e.depth > MaxDepth {
		return &Refusal{RuleDepth, e.pos, "nested deeper than 128 levels"}
	}
	return nil
}

func (e *Encoder) array() *Refusal {
	if refusal := e.enter(); refusal != nil {
		return refusal
	}
	e.pos++
	e.dst = append(e.dst, '[')
	if e.pos = skipSpace(e.src, e.pos); e.pos < len(e.src) && e.src[e.pos] == ']' {
		return e.leave(']')
	}
	for {
		if refusal := e.value(); refusal != nil {
			return refusal
		}
		more, refusal := e.more(']')
		if refusal != nil {
			return refusal
		}
		if !more {
			return e.leave(']')
		}
		e.dst = append(e.dst, ',')
	}
}

// more reads the comma between two elements; it reports false before the closing
// bracket, which it leaves.
func (e *Encoder) more(closing byte) (bool, *Refusal) {
	e.pos = skipSpace(e.src, e.pos)
	switch {
	case e.pos >= len(e.src):
		return false, &Refusal{RuleSyntax, e.pos, "the text ends inside a value"}
	case e.src[e.pos] == closing:
		return false, nil
	case e.src[e.pos] != ',':
		return false, &Refusal{RuleSyntax, e.pos, "neither a comma nor the end of the value"}
	}
	e.pos++
	return true, nil
}

func (e *Encoder) leave(closing byte) *Refusal {
	e.pos++
	e.dst = append(e.dst, closing)
	e.depth--
	return nil
}

func (e *Encoder) object() *Refusal {
	if refusal := e.enter(); refusal != nil {
		return refusal
	}
	e.pos++
	open, base, sorted := len(e.dst), len(e.stack), true
	e.dst = append(e.dst, '{')
	if e.pos = skipSpace(e.src, e.pos); e.pos < len(e.src) && e.src[e.pos] == '}' {
		return e.leave('}')
	}
	for {
		if refusal := e.member(); refusal != nil {
			return refusal
		}
		if n := len(e.stack); n > base+1 && sorted {
			sorted = e.compare(e.stack[n-2], e.stack[n-1]) < 0
		}
		more, refusal := e.more('}')
		if refusal != nil {
			return refusal
		}
		if !more {
			break
		}
		e.dst = append(e.dst, ',')
	}
	members := e.stack[base:]
	if !sorted {
		if refusal := e.sort(open, members); refusal != nil {
			return refusal
		}
	}
	if e.depth == 1 {
		e.keep(members)
	}
	e.stack = e.stack[:base]
	return e.leave('}')
}

func (e *Encoder) member() *Refusal {
	e.pos = skipSpace(e.src, e.pos)
	if e.pos >= len(e.src) || e.src[e.pos] != '"' {
		return &Refusal{RuleSyntax, e.pos, "a member name is missing"}
	}
	m := member{start: len(e.dst), source: e.pos}
	var refusal *Refusal
	if m.ascii, refusal = e.text(); refusal != nil {
		return refusal
	}
	if e.pos = skipSpace(e.src, e.pos); e.pos >= len(e.src) || e.src[e.pos] != ':' {
		return &Refusal{RuleSyntax, e.pos, "no colon after a member name"}
	}
	e.pos++
	e.dst = append(e.dst, ':')
	m.value = len(e.dst)
	if refusal := e.value(); refusal != nil {
		return refusal
	}
	m.end = len(e.dst)
	e.stack = append(e.stack, m)
	return nil
}

// sort puts the members that were written from the offset open on into canonical
// order, and refuses a repeated one.
func (e *Encoder) sort(open int, members []member) *Refusal {
	slices.SortFunc(members, e.compare)
	for i := 1; i < len(members); i++ {
		if e.compare(members[i-1], members[i]) == 0 {
			return &Refusal{RuleDuplicateKey, max(members[i-1].source, members[i].source), "a member is there twice in one object"}
		}
	}
	written := len(e.dst)
	e.scratch = append(e.scratch[:0], e.dst[open+1:]...)
	e.dst = e.dst[:open+1]
	for i := range members {
		m := &members[i]
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		moved := len(e.dst) - m.start
		e.dst = append(e.dst, e.scratch[m.start-open-1:m.end-open-1]...)
		m.start, m.value, m.end = m.start+moved, m.value+moved, m.end+moved
	}
	e.dst = e.dst[:written]
	return nil
}

func (e *Encoder) keep(members []member) {
	e.top = make([]Member, 0, len(members))
	for _, m := range members {
		key := e.dst[m.start+1 : m.value-2]
		if !m.ascii {
			key = unquote(key)
		}
		e.top = append(e.top, Member{Key: key, Start: m.start, Value: m.value, End: m.end})
	}
}

// compare orders members by the UTF-16 code units of their names (RFC 8785,
// section 3.2.3).
func (e *Encoder) compare(a, b member) int {
	if a.ascii && b.ascii {
		// Most names differ in their first byte; a quote there ends an empty one.
		if x, y := e.dst[a.start+1], e.dst[b.start+1]; x != y && x != '"' && y != '"' {
			return int(x) - int(y)
		}
	}
	ka, kb := e.dst[a.start+1:a.value-2], e.dst[b.start+1:b.value-2]
	if a.ascii && b.ascii {
		return bytes.Compare(ka, kb)
	}
	return compareUTF16(unquote(ka), unquote(kb))
}

// compareUTF16 compares valid UTF-8 as UTF-16 code units: as code points, but
// that what is beyond the basic plane comes before U+E000.
func compareUTF16(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		ra, na := utf8.DecodeRune(a)
		rb, nb := utf8.DecodeRune(b)
		if ra != rb {
			if high := ra > 0xffff; high != (rb > 0xffff) {
				if high {
					ra = 0xd800
				} else {
					rb = 0xd800
				}
			}
			return int(ra) - int(rb)
		}
		a, b = a[na:], b[nb:]
	}
	return len(a) - len(b)
}

// text appends the string at pos. It reports whether the string is ASCII without
// escapes.
func (e *Encoder) text() (ascii bool, refusal *Refusal) {
	ascii = true
	start := e.pos
	e.pos = plainRun(e.src, e.pos+1)
	for {
		if e.pos < len(e.src) && e.src[e.pos] == '"' {
			e.pos++
			e.dst = append(e.dst, e.src[start:e.pos]...)
			return ascii, nil
		}
		ascii = false
		r, end, refusal := stringPiece(e.src, e.pos)
		if refusal != nil {
			return false, refusal
		}
		if e.pos < len(e.src) && e.src[e.pos] == '\\' {
			e.dst = append(e.dst, e.src[start:e.pos]...)
			e.dst = appendEscaped(e.dst, r)
			start = end
		}
		e.pos = plainRun(e.src, end)
	}
}

// appendEscaped appends r as it stands inside a canonical string.
func appendEscaped(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\t':
		return append(dst, `\t`...)
	case '\n':
		return append(dst, `\n`...)
	case '\f':
		return append(dst, `\f`...)
	case '\r':
		return append(dst, `\r`...)
	}
	if r < 0x20 {
		return append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
	}
	return utf8.AppendRune(dst, r)
}

// AppendString appends s as a canonical JSON string, quotes included. Invalid
// UTF-8 becomes U+FFFD: callers hold strings that were read by this package.
func AppendString[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	for _, r := range string(s) {
		dst = appendEscaped(dst, r)
	}
	return append(dst, '"')
}

// Unquote returns the text of a canonical JSON string, quotes included.
func Unquote(canonical []byte) string {
	return string(unquote(canonical[1 : len(canonical)-1]))
}

// unquote decodes the inside of a JSON string that is known to be valid. It
// returns its argument where nothing is escaped.
func unquote(inside []byte) []byte {
	next := bytes.IndexByte(inside, '\\')
	if next < 0 {
		return inside
	}
	out := make([]byte, 0, len(inside))
	for next >= 0 {
		out = append(out, inside[:next]...)
		r, end, _ := stringPiece(inside, next)
		out = utf8.AppendRune(out, r)
		inside = inside[end:]
		next = bytes.IndexByte(inside, '\\')
	}
	return append(out, inside...)
}
