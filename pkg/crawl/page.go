package crawl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/textcheck"
)

// A page is one answer to a list method.
type page struct {
	definitions [][]byte // the exact bytes, parts of the answer
	next        *string  // the cursor of the next page; nil on the last
}

// errShape means that a text does not have the brackets and quotes of JSON.
var errShape = errors.New("it is not the JSON of a list")

// readPage splits the result of a list method. Definitions are cut out by their
// brackets and quotes alone, so that one which breaks a rule is refused by itself
// and does not take the others with it. Everything else must be sound.
func readPage(result []byte, member string) (page, error) {
	var (
		p     page
		seen  = map[string]bool{}
		found bool
	)
	end, err := eachMember(result, 0, func(key string, value []byte) (err error) {
		if seen[key] {
			return fmt.Errorf("its member %s is there twice", textcheck.Quote(key, maxQuoted))
		}
		seen[key] = true
		switch key {
		case member:
			found = true
			p.definitions, err = elements(value)
		case "nextCursor":
			p.next, err = readCursor(value)
		case "resultType":
			if string(value) != `"complete"` {
				err = fmt.Errorf("it is of the type %s and not complete", textcheck.Quote(string(value), maxQuoted))
			}
		}
		return err
	})
	switch {
	case err != nil:
		return page{}, err
	case len(bytes.TrimLeft(result[end:], space)) > 0:
		return page{}, errShape
	case !found:
		return page{}, fmt.Errorf("it has no member %s", member)
	}
	return p, nil
}

func readCursor(value []byte) (*string, error) {
	if string(value) == "null" {
		return nil, nil
	}
	r := canonical.NewReader(value)
	cursor, err := r.String()
	if err != nil {
		return nil, errors.New("its nextCursor is not a string")
	}
	return &cursor, nil
}

const space = " \t\r\n"

// skipSpace returns the offset of what comes after white space.
func skipSpace(text []byte, pos int) int {
	for pos < len(text) && (text[pos] == ' ' || text[pos] == '\n' || text[pos] == '\r' || text[pos] == '\t') {
		pos++
	}
	return pos
}

// eachMember calls member for each member of the object that starts at pos, and
// returns the offset after it.
func eachMember(text []byte, pos int, member func(key string, value []byte) error) (int, error) {
	return eachPart(text, pos, '{', '}', func(pos int) (int, error) {
		end, err := valueEnd(text, pos)
		if err != nil || text[pos] != '"' {
			return 0, errShape
		}
		var key string
		if json.Unmarshal(text[pos:end], &key) != nil {
			return 0, errShape
		}
		if pos = skipSpace(text, end); pos >= len(text) || text[pos] != ':' {
			return 0, errShape
		}
		pos = skipSpace(text, pos+1)
		if end, err = valueEnd(text, pos); err != nil {
			return 0, err
		}
		return end, member(key, text[pos:end])
	})
}

// elements cuts an array into its elements.
func elements(text []byte) ([][]byte, error) {
	var parts [][]byte
	_, err := eachPart(text, 0, '[', ']', func(pos int) (int, error) {
		end, err := valueEnd(text, pos)
		if err == nil {
			parts = append(parts, text[pos:end])
		}
		return end, err
	})
	return parts, err
}

// eachPart walks over what stands between two brackets, separated by commas. part
// gets the offset where one starts and returns the one after it.
func eachPart(text []byte, pos int, opening, closing byte, part func(pos int) (int, error)) (int, error) {
	if pos = skipSpace(text, pos); pos >= len(text) || text[pos] != opening {
		return pos, errShape
	}
	pos = skipSpace(text, pos+1)
	if pos < len(text) && text[pos] == closing {
		return pos + 1, nil
	}
	for pos < len(text) {
		end, err := part(pos)
		if err != nil {
			return end, err
		}
		if pos = skipSpace(text, end); pos >= len(text) {
			break
		}
		if text[pos] == closing {
			return pos + 1, nil
		}
		if text[pos] != ',' {
			break
		}
		pos = skipSpace(text, pos+1)
	}
	return pos, errShape
}

// valueEnd returns the offset after the value that starts at pos, by its brackets
// and quotes.
func valueEnd(text []byte, pos int) (int, error) {
	depth := 0
	for start := pos; pos < len(text); {
		switch c := text[pos]; c {
		case '"':
			end, err := stringEnd(text, pos)
			if err != nil {
				return 0, err
			}
			pos = end
		case '{', '[':
			depth++
			pos++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return 0, errShape
			}
			pos++
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return 0, errShape
			}
			pos++
			continue
		default:
			pos = literalEnd(text, pos)
		}
		if depth == 0 {
			if pos == start {
				return 0, errShape
			}
			return pos, nil
		}
	}
	return 0, errShape
}

// literalEnd returns the offset after a number or a word.
func literalEnd(text []byte, pos int) int {
	if next := bytes.IndexAny(text[pos:], "{}[],:\" \t\r\n"); next >= 0 {
		return pos + next
	}
	return len(text)
}

// stringEnd returns the offset after the string that starts at pos.
func stringEnd(text []byte, pos int) (int, error) {
	pos++
	for quote := pos - 1; pos <= len(text); {
		if quote < pos {
			next := bytes.IndexByte(text[pos:], '"')
			if next < 0 {
				break
			}
			quote = pos + next
		}
		escape := bytes.IndexByte(text[pos:quote], '\\')
		if escape < 0 {
			return quote + 1, nil
		}
		pos += escape + 2
	}
	return 0, errShape
}
