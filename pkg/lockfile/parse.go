package lockfile

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
)

// MaxSize bounds the length of a lockfile in bytes.
const MaxSize = 64 << 20

// Source returns the bytes that the file was parsed from, which must not be changed;
// nil for one that was not.
func (f *File) Source() []byte { return f.src }

// Parse reads a lockfile. It is strict: a member it does not know, a wrong type, a
// member or name that stands twice, a digest with upper-case digits, an empty
// member that should have been left out are errors. Members and entries may stand
// in any order; [Check] reports an order that [Format] does not write. The error
// is an [*Error].
//
// The file keeps src, which must not be changed afterwards.
func Parse(src []byte) (*File, error) {
	switch {
	case len(src) > MaxSize:
		return nil, &Error{Line: 1, Column: 1, Summary: fmt.Sprintf("the file has %d bytes; the limit is %d", len(src), MaxSize), Advice: hintRestore}
	case bytes.HasPrefix(src, []byte("\xef\xbb\xbf")):
		return nil, &Error{Line: 1, Column: 1, Summary: "the file begins with a byte order mark", Advice: "save it as UTF-8 without a byte order mark, or run `git checkout -- agentgateway.lock`"}
	}
	p := parser{r: canonical.NewReader(src), src: src, line: 1}
	f, err := p.file()
	if err != nil {
		return nil, locate(src, err)
	}
	f.src, f.disorders = src, p.disorders
	return f, nil
}

// A parser reads one lockfile, or one entry of it.
type parser struct {
	r         *canonical.Reader
	src       []byte
	disorders []disorder
	server    string // the name of the entry that is read

	// line is the number of the line that holds the offset counted. Values are
	// read in the order they stand, so lines are counted once.
	line, counted int
}

// here returns the line of the value that comes next.
func (p *parser) here() int {
	at := p.r.Offset()
	p.line += bytes.Count(p.src[p.counted:at], []byte{'\n'})
	p.counted = at
	return p.line
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &Error{Summary: fmt.Sprintf(format, args...), Advice: hintRestore, Server: p.server, at: at}
}

// unknown is the error of a member that the format does not have.
func (p *parser) unknown(key []byte) error {
	return &Error{
		Summary: fmt.Sprintf("the format has no member %q here: it is a mistake, or the file was written by a newer version", key), Server: p.server, at: p.r.Offset(),
		Advice: "correct its name or remove it; where a newer agentgateway-lock wrote the file, use that version",
	}
}

// object reads an object whose members are read by member, and adds their names
// to the paths of errors. It is a second reader of objects beside
// [canonical.Reader.Fields]: a lockfile has an object for each of ten thousand items,
// and a list of fields for each would be most of what a parse allocates.
func (p *parser) object(member func(key []byte) error) error {
	return p.r.Object(func(key []byte) error {
		if err := member(key); err != nil {
			return within(err, memberStep(string(key)))
		}
		return nil
	})
}

func (p *parser) file() (*File, error) {
	f := &File{}
	var version int64
	var servers bool
	start := p.r.Offset()
	err := p.object(func(key []byte) (err error) {
		switch string(key) {
		case "lockfileVersion":
			at := p.r.Offset()
			if version, err = p.r.Int(); err == nil && version != Version {
				err = p.fail(at, "lockfileVersion is %d", version)
			}
			return err
		case "generatedBy":
			return p.text(&f.GeneratedBy)
		case "generatedAt":
			return p.instant(&f.GeneratedAt)
		case "trust":
			return p.digest(&f.Trust)
		case "servers":
			servers = true
			f.Servers, err = p.servers()
			return err
		}
		return p.unknown(key)
	})
	switch {
	case err != nil:
		return nil, err
	case version == 0:
		return nil, p.missing(start, "lockfileVersion")
	case !servers:
		return nil, p.missing(start, "servers")
	}
	return f, p.r.End()
}

func (p *parser) missing(at int, name string) error { return p.fail(at, "%s is missing", name) }

// servers reads all entries and sorts them by name.
func (p *parser) servers() ([]*Server, error) {
	servers := []*Server{}
	end := p.r.Offset()
	err := p.r.Object(func(key []byte) error {
		// What stands between two entries is white space, a comma and the bracket.
		start := end + len(p.src[end:]) - len(bytes.TrimLeft(p.src[end:], " \t\r\n,{"))
		s := &Server{Name: string(key)}
		p.server = s.Name
		if s.Name == "" {
			return p.fail(start, "a server has an empty name")
		}
		value := p.r.Offset()
		if err := p.entry(s); err != nil {
			e := asError(err)
			e.Server = s.Name
			return within(e, memberStep(s.Name))
		}
		end = start + len(bytes.TrimRight(p.src[start:p.r.Offset()], " \t\r\n"))
		s.entry, s.value = p.src[start:end:end], value-start
		servers = append(servers, s)
		p.server = ""
		return nil
	})
	if err != nil {
		return nil, err
	}
	byName := func(a, b *Server) int { return strings.Compare(a.Name, b.Name) }
	for i := 1; i < len(servers); i++ {
		if byName(servers[i-1], servers[i]) > 0 {
			p.disorder(servers[i].Line, servers[i].Name, "server %q is after %q", servers[i].Name, servers[i-1].Name)
		}
	}
	slices.SortFunc(servers, byName)
	return servers, nil
}

func (p *parser) disorder(line int, server, format string, args ...any) {
	p.disorders = append(p.disorders, disorder{line, server, fmt.Sprintf(format, args...)})
}

// text reads a string that is not empty.
func (p *parser) text(into *string) error {
	at := p.r.Offset()
	s, err := p.r.String()
	if err == nil && s == "" {
		err = p.fail(at, "an empty string in place of one of a character or more")
	}
	*into = s
	return err
}

// digest reads a digest other than zero, which stands for none.
func (p *parser) digest(into *canonical.Digest) error {
	at := p.r.Offset()
	text, err := p.r.Bytes()
	if err != nil {
		return err
	}
	d, err := canonical.ParseDigest(text)
	if err != nil {
		return p.fail(at, "%v", err)
	}
	if d.IsZero() {
		return p.fail(at, "a digest of zeros only is not the digest of anything")
	}
	*into = d
	return nil
}

// digests reads a list of digests, one or more, and sorts it.
func (p *parser) digests(into *[]canonical.Digest, name string) error {
	at, line := p.r.Offset(), p.here()
	var list []canonical.Digest
	err := p.r.Array(func() error {
		var d canonical.Digest
		err := p.digest(&d)
		list = append(list, d)
		return within(err, elementStep(len(list)-1))
	})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return p.fail(at, "an empty array is given where the member is left out")
	}
	order := func(a, b canonical.Digest) int { return bytes.Compare(a[:], b[:]) }
	if !slices.IsSortedFunc(list, order) {
		p.disorder(line, p.server, "%s is not sorted", name)
		slices.SortFunc(list, order)
	}
	if n := len(list); n != len(slices.Compact(list)) {
		return p.fail(at, "a digest is there twice")
	}
	*into = list
	return nil
}

// yes reads a flag, which is left out where it does not hold.
func (p *parser) yes(into *bool) error {
	at := p.r.Offset()
	value, err := p.r.Bool()
	if err == nil && !value {
		err = p.fail(at, "false is given where the member is left out")
	}
	*into = value
	return err
}

// instantForm is RFC 3339 in UTC.
var instantForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$`)

func (p *parser) instant(into *string) error {
	at := p.r.Offset()
	s, err := p.r.String()
	if err != nil {
		return err
	}
	if _, err := time.Parse(time.RFC3339, s); err != nil || !instantForm.MatchString(s) {
		return p.fail(at, "not a time in UTC such as 2026-11-30T12:00:00.000Z")
	}
	*into = s
	return nil
}

// strings reads an array of strings.
func (p *parser) strings() ([]string, error) {
	list := []string{}
	err := p.r.Array(func() error {
		s, err := p.r.String()
		if err != nil {
			return within(err, elementStep(len(list)))
		}
		list = append(list, s)
		return nil
	})
	return list, err
}

// covers reads the words of covers and sorts them.
func (p *parser) covers(s *Server) error {
	at, line := p.r.Offset(), p.here()
	covers, err := p.strings()
	if err != nil {
		return err
	}
	for i, word := range covers {
		if !slices.Contains(surface.AllCovers(), word) {
			return within(p.fail(at, "%q is not what an entry can cover; it is one of %s", word, strings.Join(surface.AllCovers(), ", ")), elementStep(i))
		}
	}
	if !slices.IsSorted(covers) {
		p.disorder(line, s.Name, "covers is not sorted")
		slices.Sort(covers)
	}
	if n := len(covers); n != len(slices.Compact(covers)) {
		return p.fail(at, "a word is there twice")
	}
	s.Covers = covers
	return nil
}
