package gitrepo

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Identity is who and when, from an author, committer or tagger line.
type Identity struct {
	Name  string
	Email string
	When  time.Time // to the second, in the zone the line names
}

// Header is one header of a commit or tag beyond those with a field of their own.
type Header struct {
	Name  string
	Value []byte // continuation lines joined by "\n"
}

// maxHeaders bounds the headers of one object (a merge of many tags has many).
const maxHeaders = 4096

// headerLine is a header as it stands in an object.
type headerLine struct {
	Header
	start, end int // where it stands, with its continuation lines and last newline
}

// splitHeaders reads headers up to the empty line and gives the offset of what
// follows it. A header is a name, one space and a value; a line that begins
// with a space goes on with the one before.
func splitHeaders(kind Kind, raw []byte) (headers []headerLine, body int, err error) {
	fail := func(rule, format string, args ...any) ([]headerLine, int, error) {
		return nil, 0, &FormatError{Kind: kind, Rule: rule, Detail: fmt.Sprintf(format, args...)}
	}
	for at := 0; ; {
		n := bytes.IndexByte(raw[at:], '\n')
		if n < 0 {
			return fail("no-blank-line", "no empty line ends the headers")
		}
		line := raw[at : at+n]
		end := at + n + 1
		switch {
		case len(line) == 0:
			return headers, end, nil
		case bytes.IndexByte(line, 0) >= 0:
			return fail("nul", "a header holds a NUL byte")
		case bytes.IndexByte(line, '\r') >= 0:
			return fail("carriage-return", "a header holds a carriage return")
		case line[0] == ' ':
			if len(headers) == 0 {
				return fail("continuation", "the first line continues nothing")
			}
			last := &headers[len(headers)-1]
			last.Value = append(append(last.Value, '\n'), line[1:]...)
			last.end = end
			at = end
			continue
		}
		name, value, ok := bytes.Cut(line, []byte(" "))
		if !ok || !isHeaderName(name) {
			return fail("header", "a header line reads %q", clip(line))
		}
		if len(headers) == maxHeaders {
			return fail("too-many-headers", "more than %d headers", maxHeaders)
		}
		headers = append(headers, headerLine{
			Header: Header{Name: string(name), Value: bytes.Clone(value)}, start: at, end: end,
		})
		at = end
	}
}

func isHeaderName(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return len(name) > 0
}

func clip(b []byte) []byte {
	if len(b) > 80 {
		return b[:80]
	}
	return b
}

// parseIdentity reads "Name <email> seconds zone". Everything git writes passes;
// a line that two readers could take for two persons does not.
func parseIdentity(kind Kind, field string, value []byte) (Identity, error) {
	fail := func() (Identity, error) {
		return Identity{}, &FormatError{Kind: kind, Rule: field, Detail: fmt.Sprintf("the %s line reads %q", field, clip(value))}
	}
	text := string(value)
	name, rest, ok := strings.Cut(text, "<")
	email, when, ok2 := strings.Cut(rest, ">")
	if !ok || !ok2 || strings.ContainsAny(name, ">\n\x00") || strings.ContainsAny(email, "<\n\x00") || strings.ContainsAny(when, "<>\n") {
		return fail()
	}
	if name != "" && !strings.HasSuffix(name, " ") {
		return fail()
	}
	fields := strings.Split(when, " ")
	if len(fields) != 3 || fields[0] != "" {
		return fail()
	}
	seconds, err := strconv.ParseInt(fields[1], 10, 64)
	zone, ok := parseZone(fields[2])
	if err != nil || !ok || seconds < 0 || seconds > 1<<40 || strconv.FormatInt(seconds, 10) != fields[1] {
		return fail()
	}
	return Identity{Name: strings.TrimSuffix(name, " "), Email: email, When: time.Unix(seconds, 0).In(zone)}, nil
}

func parseZone(s string) (*time.Location, bool) {
	if len(s) != 5 || s[0] != '+' && s[0] != '-' || strings.Trim(s[1:], "0123456789") != "" {
		return nil, false
	}
	n, _ := strconv.Atoi(s[1:])
	offset := n/100*3600 + n%100*60
	if s[0] == '-' {
		offset = -offset
	}
	return time.FixedZone("", offset), true
}
