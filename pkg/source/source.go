package source

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
)

// Transport is how a server is reached.
type Transport string

// The transports.
const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http" // streamable HTTP
	SSE   Transport = "sse"  // legacy HTTP with server-sent events
)

// A Source is how a server is reached. Values of Env and Headers are templates such
// as ${VAR}, or sha256:… of a literal. A source is never changed in place.
type Source struct {
	Transport Transport `json:"transport,omitempty"`

	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	EnvFile *EnvFile          `json:"envFile,omitempty"`

	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// AllowPrivate says that private addresses may be contacted; the lockfile's own.
	AllowPrivate bool `json:"allowPrivate,omitempty"`

	// AllowLiteral are the SHA-256 sums of the runs of text that look like secrets
	// and are accepted where they are, sorted; the lockfile's own.
	AllowLiteral []canonical.Digest `json:"allowLiteral,omitempty"`
}

// EnvFile is a file of variables that a configuration names.
type EnvFile struct {
	Path string           `json:"path,omitempty"` // as configured, relative to the repository where it is inside
	Hash canonical.Digest `json:"hash,omitzero"`
}

// Equal reports whether two sources start or contact the same: AllowPrivate and
// AllowLiteral, which are the lockfile's own, take no part.
func (s *Source) Equal(o *Source) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.Transport == o.Transport && s.Command == o.Command && slices.Equal(s.Args, o.Args) &&
		s.Cwd == o.Cwd && maps.Equal(s.Env, o.Env) && s.URL == o.URL && maps.Equal(s.Headers, o.Headers) &&
		(s.EnvFile == nil) == (o.EnvFile == nil) && (s.EnvFile == nil || *s.EnvFile == *o.EnvFile)
}

// JSON returns the source as a lockfile holds it, without white space: members in
// the order of the format, empty members left out.
func (s *Source) JSON() []byte {
	sorted := *s
	sorted.AllowLiteral = slices.SortedFunc(slices.Values(s.AllowLiteral), func(a, b canonical.Digest) int { return bytes.Compare(a[:], b[:]) })
	return encode(&sorted)
}

// CanonicalJSON returns the canonical form of the source. It is nil for a source
// with two names that are the same text once invalid UTF-8 is replaced, which no
// file can hold.
func (s *Source) CanonicalJSON() []byte { return canonicalForm(s.JSON()) }

// Digest is over the canonical form, and zero where there is none.
func (s *Source) Digest() canonical.Digest { return digestOf(s.CanonicalJSON()) }

// Terms are what a decision about a source is about: the source and what is asked
// of the server.
type Terms struct {
	Source  *Source
	Target  string   // the gateway's target name, where it differs from the server's
	Covers  []string // nil where the entry has none
	Skipped string
}

// Digest is over the canonical JSON of {source, target, covers, skipped}, of which
// the absent are left out. It is zero where there is no source, or none that can
// be written.
func (t Terms) Digest() canonical.Digest {
	if t.Source == nil {
		return canonical.Digest{}
	}
	covers := slices.Clone(t.Covers)
	slices.Sort(covers)
	return digestOf(canonicalForm(encode(struct {
		Source  json.RawMessage `json:"source"`
		Target  string          `json:"target,omitempty"`
		Covers  []string        `json:"covers,omitzero"`
		Skipped string          `json:"skipped,omitempty"`
	}{t.Source.JSON(), t.Target, covers, t.Skipped})))
}

func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a source holds nothing that fails
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func canonicalForm(text []byte) []byte {
	// A lockfile, in which the source stands, has its own limit.
	enc := canonical.Encoder{MaxSize: max(len(text), 1)}
	form, err := enc.Append(nil, text)
	if err != nil {
		return nil
	}
	return form
}

func digestOf(form []byte) canonical.Digest {
	if form == nil {
		return canonical.Digest{}
	}
	return canonical.Sum(form)
}

// Describe spells a source on one line for people, as a command line would be.
// It is not escaped.
func Describe(s *Source) string {
	if s == nil {
		return "not recorded"
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		words = append(words, name+"="+quoteWord(s.Env[name]))
	}
	if s.Transport == Stdio {
		words = append(words, quoteWord(s.Command))
		for _, arg := range s.Args {
			words = append(words, quoteWord(arg))
		}
	} else {
		words = append(words, s.URL)
		for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
			words = append(words, "-H", quoteWord(name+": "+s.Headers[name]))
		}
		if s.Transport == SSE {
			words = append(words, "(sse)")
		}
		if s.AllowPrivate {
			words = append(words, "(private addresses allowed)")
		}
	}
	if s.Cwd != "" {
		words = append(words, "(in "+s.Cwd+")")
	}
	if s.EnvFile != nil {
		words = append(words, "(variables of "+s.EnvFile.Path+", "+s.EnvFile.Hash.Short()+")")
	}
	return strings.Join(words, " ")
}

// quoteWord quotes what would be read as several words.
func quoteWord(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n\"'\\|&;<>()*?#~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
