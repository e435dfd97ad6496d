package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/source"
)

// Options say what is read.
type Options struct {
	// Root is the absolute path of the repository, and Repository its files, as
	// os.OpenRoot(Root).FS() gives them: links that lead out of it must be refused.
	Root       string
	Repository fs.FS
	// Files are the configurations to read in place of those at the root, as paths
	// from Root or absolute ones.
	Files []string
	// UserConfigs adds the user's own configurations.
	UserConfigs bool
	// Open opens a file or folder outside the repository, by its absolute path. It
	// is asked for Files outside, for UserConfigs and for env files outside; nil
	// refuses them.
	Open func(name string) (fs.File, error)
	// Home is the user's home and ConfigHome the folder that the operating system
	// has for settings, as os.UserConfigDir gives it. GOOS is the operating system.
	Home, ConfigHome, GOOS string
	// Direct are further servers, name to URL.
	Direct map[string]string
	// Locked is the source that the lockfile has for a server, or nil. Of entries that
	// differ the one that says the same keeps the plain name, and what its
	// AllowLiteral names is accepted there.
	Locked func(server string) *source.Source
	// AllowLiteral are servers in whose sources all that looks like a secret is
	// accepted.
	AllowLiteral []string
}

// Server is one configured server.
type Server struct {
	Name string
	// Source is what goes into the lockfile; it never holds a secret. It is nil
	// for a disabled server whose entry is bad.
	Source *source.Source
	// Disabled holds where no configuration has the server switched on.
	Disabled bool
	// Places are where it is named, in the order of reading; none for one of
	// [Options.Direct].
	Places []finding.Place

	launch launch
}

// Set is what the configurations say.
type Set struct {
	Servers []*Server // sorted by name; those that are undecided are missing
	// Undecided are the servers about which nothing can be said, with the reasons.
	Undecided map[string][]finding.Finding
	// Findings are all findings, those of Undecided included, sorted.
	Findings []finding.Finding
	// Read are the configurations that were read, as they are named in places.
	Read []string
}

// Server returns the server of that name, or nil.
func (s *Set) Server(name string) *Server {
	i, ok := slices.BinarySearchFunc(s.Servers, name, func(s *Server, name string) int { return strings.Compare(s.Name, name) })
	if !ok {
		return nil
	}
	return s.Servers[i]
}

// FileError says why a configuration cannot be read: the run cannot begin. Line
// and Column count from 1 and are 0 where the file as a whole is meant.
type FileError struct {
	File         string
	Line, Column int
	Detail       string
	Hint         string
	Err          error // what the file system said, or nil
}

// Error implements error.
func (e *FileError) Error() string {
	place := e.File
	if e.Line > 0 {
		place += fmt.Sprintf(":%d", e.Line)
		if e.Column > 0 {
			place += fmt.Sprintf(":%d", e.Column)
		}
	}
	return fmt.Sprintf("%s: %s: %s", place, e.Detail, e.Hint)
}

// Unwrap returns what the file system said.
func (e *FileError) Unwrap() error { return e.Err }

// Finding is the error as a finding.
func (e *FileError) Finding() finding.Finding {
	f := finding.New(finding.ConfigInvalid, finding.Place{File: e.File, Line: e.Line}, e.Detail)
	f.Hint = e.Hint
	return f
}

func (o *Options) locked(server string) *source.Source {
	if o.Locked == nil {
		return nil
	}
	return o.Locked(server)
}

// accepts reports whether a run that looks like a secret is accepted in the source
// of a server, by any name that the server may get.
func (o *Options) accepts(e *entry, run canonical.Digest) bool {
	for _, name := range []string{e.name, e.name + "@" + e.clientID()} {
		if slices.Contains(o.AllowLiteral, name) {
			return true
		}
		if locked := o.locked(name); locked != nil && slices.Contains(locked.AllowLiteral, run) {
			return true
		}
	}
	return false
}

// Load reads the configurations. The error holds a [*FileError] for each file that
// cannot be read, joined; bad entries are no error but stand in the set.
func Load(ctx context.Context, o Options) (*Set, error) {
	l := loader{o: &o, read: map[string]bool{}}
	if err := l.files(ctx); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(o.Direct)) {
		l.entries = append(l.entries, directEntry(&o, name, o.Direct[name]))
	}
	if len(l.failed) > 0 {
		return nil, errors.Join(l.failed...)
	}
	set := merge(l.entries, o.locked)
	set.Read = slices.Sorted(maps.Keys(l.read))
	unread, err := l.unread(ctx)
	if err != nil {
		return nil, err
	}
	set.Findings = slices.Concat(set.Findings, l.noted, unread)
	finding.Sort(set.Findings)
	return set, nil
}
