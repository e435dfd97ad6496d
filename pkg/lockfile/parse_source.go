package lockfile

import (
	"slices"
	"strings"

	"agentgateway-lock/pkg/source"
)

// ofURL are the members of a source that is reached by URL; all others but those
// of ofAny are those of a stdio source.
var (
	ofURL = []string{"url", "headers", "allowPrivate"}
	ofAny = []string{"transport", "allowLiteral"}
)

func (p *parser) source() (*source.Source, error) {
	src := &source.Source{}
	start := p.r.Offset()
	var transport string
	var seen []string
	err := p.object(func(key []byte) (err error) {
		if !slices.Contains(ofAny, string(key)) {
			seen = append(seen, string(key))
		}
		switch string(key) {
		case "transport":
			return p.text(&transport)
		case "command":
			return p.text(&src.Command)
		case "args":
			at := p.r.Offset()
			if src.Args, err = p.strings(); err == nil && len(src.Args) == 0 {
				err = p.fail(at, "an empty array is given where the member is left out")
			}
			return err
		case "cwd":
			return p.text(&src.Cwd)
		case "env":
			src.Env, err = p.table()
			return err
		case "envFile":
			src.EnvFile, err = p.envFile()
			return err
		case "url":
			return p.text(&src.URL)
		case "headers":
			src.Headers, err = p.table()
			return err
		case "allowPrivate":
			return p.yes(&src.AllowPrivate)
		case "allowLiteral":
			return p.digests(&src.AllowLiteral, "allowLiteral")
		}
		return p.unknown(key)
	})
	if err != nil {
		return nil, err
	}
	src.Transport = source.Transport(transport)
	return src, p.sourceFits(start, src, seen)
}

// sourceFits checks that a source has the members of its transport.
func (p *parser) sourceFits(start int, src *source.Source, seen []string) error {
	byURL := false
	switch src.Transport {
	case "":
		return p.missing(start, "transport")
	case source.Stdio:
	case source.HTTP, source.SSE:
		byURL = true
	default:
		return within(p.fail(start, "%q is not a transport; it is one of stdio, http, sse", string(src.Transport)), ".transport")
	}
	for _, name := range seen {
		if slices.Contains(ofURL, name) != byURL {
			return within(p.fail(start, "a source of the transport %s has no such member", src.Transport), memberStep(name))
		}
	}
	switch {
	case byURL && src.URL == "":
		return p.missing(start, "url")
	case !byURL && src.Command == "":
		return p.missing(start, "command")
	}
	return nil
}

// table reads an object of strings, which has a member or more.
func (p *parser) table() (map[string]string, error) {
	table := map[string]string{}
	at, line, last := p.r.Offset(), p.here(), ""
	err := p.object(func(key []byte) (err error) {
		name := string(key)
		if name == "" {
			return p.fail(p.r.Offset(), "a name is empty")
		}
		if strings.Compare(last, name) > 0 {
			p.disorder(line, p.server, "%q is after %q", name, last)
		}
		last = name
		table[name], err = p.r.String()
		return err
	})
	if err == nil && len(table) == 0 {
		err = p.fail(at, "an empty object is given where the member is left out")
	}
	return table, err
}

func (p *parser) envFile() (*source.EnvFile, error) {
	file := &source.EnvFile{}
	start := p.r.Offset()
	err := p.object(func(key []byte) error {
		switch string(key) {
		case "path":
			return p.text(&file.Path)
		case "hash":
			return p.digest(&file.Hash)
		}
		return p.unknown(key)
	})
	switch {
	case err != nil:
	case file.Path == "":
		err = p.missing(start, "path")
	case file.Hash.IsZero():
		err = p.missing(start, "hash")
	}
	return file, err
}
