package gatewaydouble

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is the deepest nesting that the gateway's parser follows, counted from
// the outermost value of a message.
const maxDepth = 128

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

// value is a JSON value in the order it was written. An object that was parsed
// still has every member, duplicates included, since whether they are fatal
// depends on what the object is decoded as; see [value.free].
type value struct {
	kind    kind
	text    string // the content of a string, or true, false or a number respelled
	number  parsedNumber
	items   []value
	members []member
}

type member struct {
	key   string
	value value
}

func textValue(s string) value { return value{kind: text, text: s} }
func intValue(n int) value {
	parsed := integer(n < 0, uint64(max(n, -n)))
	return value{kind: number, text: parsed.spell(), number: parsed}
}
func listValue(items []value) value            { return value{kind: list, items: items} }
func objectValue(members ...member) value      { return value{kind: object, members: members} }
func (v value) isText(s string) bool           { return v.kind == text && v.text == s }
func (v value) with(key string, w value) value { return v.edited(key, w, true) }
func (v value) without(key string) value       { return v.edited(key, value{}, false) }

// get returns the last member of that name.
func (v value) get(key string) (value, bool) {
	for _, m := range slices.Backward(v.members) {
		if m.key == key {
			return m.value, true
		}
	}
	return value{}, false
}

// getText returns the text of a member, or the empty string.
func (v value) getText(key string) string {
	if m, ok := v.get(key); ok && m.kind == text {
		return m.text
	}
	return ""
}

// edited returns a copy of an object in which a member is set or left out.
func (v value) edited(key string, w value, keep bool) value {
	out := make([]member, 0, len(v.members)+1)
	for _, m := range v.members {
		if m.key != key {
			out = append(out, m)
		} else if keep {
			out = append(out, member{key, w})
			keep = false
		}
	}
	if keep {
		out = append(out, member{key, w})
	}
	return value{kind: object, members: out}
}

// free is the value as an untyped JSON object keeps it: of members of one name
// the last value, at the place of the first.
func (v value) free() value {
	switch v.kind {
	case list:
		items := make([]value, len(v.items))
		for i, item := range v.items {
			items[i] = item.free()
		}
		return listValue(items)
	case object:
		members := make([]member, 0, len(v.members))
		place := make(map[string]int, len(v.members))
		for _, m := range v.members {
			if i, ok := place[m.key]; ok {
				members[i].value = m.value.free()
				continue
			}
			place[m.key] = len(members)
			members = append(members, member{m.key, m.value.free()})
		}
		return objectValue(members...)
	default:
		return v
	}
}

// encode writes a value without white space.
func encode(v value) []byte { return appendValue(nil, v) }

func appendValue(dst []byte, v value) []byte {
	switch v.kind {
	case null:
		return append(dst, "null"...)
	case text:
		return appendText(dst, v.text)
	case list:
		dst = append(dst, '[')
		for i, item := range v.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, item)
		}
		return append(dst, ']')
	case object:
		dst = append(dst, '{')
		for i, m := range v.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendText(dst, m.key), ':')
			dst = appendValue(dst, m.value)
		}
		return append(dst, '}')
	default:
		return append(dst, v.text...)
	}
}

var shortEscapes = map[byte]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

// appendText writes a string with the fewest escapes that JSON allows.
func appendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		c := s[i]
		switch escape, ok := shortEscapes[c]; {
		case ok:
			dst = append(dst, escape...)
		case c < ' ':
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// parse reads one JSON text with the limits of the gateway's parser.
func parse(data []byte) (value, error) {
	if !utf8.Valid(data) {
		return value{}, errors.New("invalid UTF-8")
	}
	p := parser{data: data}
	v, err := p.value(1)
	if err == nil {
		p.space()
		if p.at != len(data) {
			err = errors.New("trailing characters")
		}
	}
	if err != nil {
		return value{}, fmt.Errorf("%w at byte %d", err, p.at)
	}
	return v, nil
}

type parser struct {
	data []byte
	at   int
}

var errSyntax = errors.New("not JSON")

func (p *parser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	p.space()
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

func (p *parser) value(depth int) (value, error) {
	switch c := p.peek(); {
	case c == '{' || c == '[':
		if depth > maxDepth {
			return value{}, errors.New("recursion limit exceeded")
		}
		if c == '{' {
			return p.object(depth)
		}
		return p.list(depth)
	case c == '"':
		s, err := p.text()
		return textValue(s), err
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case c == 't':
		return value{kind: boolean, text: "true"}, p.word("true")
	case c == 'f':
		return value{kind: boolean, text: "false"}, p.word("false")
	case c == 'n':
		return value{}, p.word("null")
	default:
		return value{}, errSyntax
	}
}

func (p *parser) word(word string) error {
	if end := p.at + len(word); end <= len(p.data) && string(p.data[p.at:end]) == word {
		p.at = end
		return nil
	}
	return errSyntax
}

func (p *parser) list(depth int) (value, error) {
	p.at++
	v := value{kind: list}
	if p.peek() == ']' {
		p.at++
		return v, nil
	}
	for {
		item, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.items = append(v.items, item)
		switch p.peek() {
		case ',':
			p.at++
		case ']':
			p.at++
			return v, nil
		default:
			return v, errSyntax
		}
	}
}

func (p *parser) object(depth int) (value, error) {
	p.at++
	v := value{kind: object}
	if p.peek() == '}' {
		p.at++
		return v, nil
	}
	for {
		if p.peek() != '"' {
			return v, errSyntax
		}
		key, err := p.text()
		if err != nil {
			return v, err
		}
		if p.peek() != ':' {
			return v, errSyntax
		}
		p.at++
		w, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.members = append(v.members, member{key, w})
		switch p.peek() {
		case ',':
			p.at++
		case '}':
			p.at++
			return v, nil
		default:
			return v, errSyntax
		}
	}
}

func (p *parser) number() (value, error) {
	start := p.at
	if p.data[p.at] == '-' {
		p.at++
	}
	first := p.at
	if p.digits() == 0 || p.data[first] == '0' && p.at > first+1 {
		return value{}, errSyntax
	}
	if p.at < len(p.data) && p.data[p.at] == '.' {
		p.at++
		if p.digits() == 0 {
			return value{}, errSyntax
		}
	}
	if p.at < len(p.data) && (p.data[p.at] == 'e' || p.data[p.at] == 'E') {
		p.at++
		if p.at < len(p.data) && (p.data[p.at] == '+' || p.data[p.at] == '-') {
			p.at++
		}
		if p.digits() == 0 {
			return value{}, errSyntax
		}
	}
	parsed, err := parseNumber(string(p.data[start:p.at]))
	return value{kind: number, text: parsed.spell(), number: parsed}, err
}

// digits skips digits and returns how many there were.
func (p *parser) digits() int {
	start := p.at
	for p.at < len(p.data) && '0' <= p.data[p.at] && p.data[p.at] <= '9' {
		p.at++
	}
	return p.at - start
}

var unescaped = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (p *parser) text() (string, error) {
	p.at++
	var out []byte
	for p.at < len(p.data) {
		c := p.data[p.at]
		p.at++
		switch {
		case c == '"':
			return string(out), nil
		case c < ' ':
			return "", errors.New("control character in a string")
		case c != '\\':
			out = append(out, c)
		case p.at == len(p.data):
			return "", errSyntax
		case p.data[p.at] == 'u':
			r, err := p.escapedRune()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
		default:
			plain, ok := unescaped[p.data[p.at]]
			if !ok {
				return "", errSyntax
			}
			p.at++
			out = append(out, plain)
		}
	}
	return "", errSyntax
}

// escapedRune reads uXXXX, and the second half of a surrogate pair behind it.
func (p *parser) escapedRune() (rune, error) {
	first, err := p.hex()
	if err != nil || !utf16.IsSurrogate(first) {
		return first, err
	}
	if p.at >= len(p.data) || p.data[p.at] != '\\' {
		return 0, errors.New("lone surrogate")
	}
	p.at++
	second, err := p.hex()
	if err != nil {
		return 0, err
	}
	r := utf16.DecodeRune(first, second)
	if r == utf8.RuneError {
		return 0, errors.New("lone surrogate")
	}
	return r, nil
}

func (p *parser) hex() (rune, error) {
	if p.at+5 > len(p.data) || p.data[p.at] != 'u' {
		return 0, errSyntax
	}
	n, err := strconv.ParseUint(string(p.data[p.at+1:p.at+5]), 16, 16)
	if err != nil {
		return 0, errSyntax
	}
	p.at += 5
	return rune(n), nil
}
