package config

import (
	"bytes"
	"errors"

	"agentgateway-lock/pkg/canonical"
)

// parseJSON reads JSON with comments and trailing commas. An empty text is an
// empty object, as editors have it.
func parseJSON(src []byte) (*node, error) {
	plain := blank(src)
	if len(bytes.TrimSpace(plain)) == 0 {
		return &node{kind: object, line: 1}, nil
	}
	p := jsonParser{r: canonical.NewReader(plain), src: plain, line: 1}
	n, err := p.value()
	if err == nil {
		err = p.r.End()
	}
	if err == nil {
		return n, nil
	}
	var refusal *canonical.Refusal
	if !errors.As(err, &refusal) {
		return nil, err
	}
	line, column := canonical.Position(src, refusal.At)
	return nil, &syntaxError{line, column, refusal.Detail}
}

type jsonParser struct {
	r   *canonical.Reader
	src []byte
	// at and line are the last offset whose line was counted, and its line:
	// values are read in order, so the text is counted through once.
	at, line int
}

func (p *jsonParser) lineOf(offset int) int {
	if offset > p.at {
		p.line += bytes.Count(p.src[p.at:offset], []byte{'\n'})
		p.at = offset
	}
	return p.line
}

func (p *jsonParser) value() (*node, error) {
	n := &node{line: p.lineOf(p.r.Offset())}
	var err error
	switch p.r.Peek() {
	case canonical.KindObject:
		n.kind = object
		err = p.r.Object(func(key []byte) error { return p.member(n, string(key)) })
	case canonical.KindArray:
		n.kind = array
		err = p.r.Array(func() error {
			item, err := p.value()
			n.items = append(n.items, item)
			return err
		})
	case canonical.KindString:
		n.kind = text
		n.text, err = p.r.String()
	case canonical.KindBool:
		n.kind = boolean
		n.yes, err = p.r.Bool()
	case canonical.KindNull:
		n.kind = null
		_, err = p.r.Null()
	default:
		n.kind = number
		var raw []byte
		raw, err = p.r.Raw()
		n.text = string(raw)
	}
	return n, err
}

func (p *jsonParser) member(n *node, key string) error {
	at := p.r.Offset()
	if why := forbiddenMember(key); why != "" {
		return p.r.Refuse(at, canonical.RuleShape, "%s", why)
	}
	line := p.lineOf(at)
	value, err := p.value()
	n.members = append(n.members, member{key, line, value})
	return err
}

// blank returns src with a byte order mark, comments and trailing commas replaced
// by spaces, so that offsets stay as they were.
func blank(src []byte) []byte {
	out := bytes.Clone(src)
	if bytes.HasPrefix(out, []byte("\xef\xbb\xbf")) {
		copy(out, "   ")
	}
	// comma is the offset of a comma that follows a value and after which only
	// space has come, or -1; last is the last byte that was no space.
	comma, last := -1, byte(0)
	for i := 0; i < len(out); {
		c := out[i]
		next := i + 1
		switch c {
		case ' ', '\t', '\n', '\r':
			i = next
			continue
		case '"':
			next = stringEnd(out, i)
		case '/':
			if next = commentEnd(out, i); next == 0 {
				return out // the reader refuses what stands here
			}
			for ; i < next; i++ {
				if out[i] != '\n' && out[i] != '\r' {
					out[i] = ' '
				}
			}
			continue
		}
		if (c == '}' || c == ']') && comma >= 0 {
			out[comma] = ' '
		}
		comma = -1
		if c == ',' && last != 0 && last != ',' && last != '[' && last != '{' && last != ':' {
			comma = i
		}
		last, i = c, next
	}
	return out
}

// stringEnd returns the offset after the string that starts at pos.
func stringEnd(src []byte, pos int) int {
	for pos++; pos < len(src); pos++ {
		switch src[pos] {
		case '\\':
			pos++
		case '"':
			return pos + 1
		}
	}
	return len(src)
}

// commentEnd returns the offset after the comment that starts at pos, or 0 where
// none does or it is not closed.
func commentEnd(src []byte, pos int) int {
	rest := src[pos:]
	if bytes.HasPrefix(rest, []byte("//")) {
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			return pos + end
		}
		return len(src)
	}
	if bytes.HasPrefix(rest, []byte("/*")) {
		if end := bytes.Index(rest[2:], []byte("*/")); end >= 0 {
			return pos + 2 + end + 2
		}
	}
	return 0
}
