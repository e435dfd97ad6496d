package lockfile

import (
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

// Version is the only lockfileVersion this package reads and writes.
const Version = 1

// DefaultName is the name of the lockfile in a repository's root.
const DefaultName = "agentgateway.lock"

// A File is a lockfile in memory. Servers are sorted by name, items by the bytes
// of their names.
type File struct {
	// Path is where the file stands, relative to the repository and with slashes,
	// for findings; the empty string stands for DefaultName. It is not written.
	Path string

	GeneratedBy string
	GeneratedAt string           // RFC 3339 with milliseconds, UTC
	Trust       canonical.Digest // of the newest trust version; zero where there is none
	Servers     []*Server

	src       []byte     // as it was read; nil where it was not
	disorders []disorder // what stood in another order than Format writes
}

// disorder is a place where something stood before what it sorts after.
type disorder struct {
	line   int
	server string
	what   string
}

// Server is the entry of one MCP server.
type Server struct {
	Name   string
	Source *source.Source // nil in the original format
	Target string         // the gateway's target name, where it differs from Name
	Covers []string       // sorted; nil in the original format, which covers tools
	// Skipped is why a server that is known is on purpose not covered; empty for
	// one that is. Covers is empty then, and items that were decided are absent.
	Skipped string

	Decision       canonical.Digest // the newest pause or resume
	SourceDecision canonical.Digest

	SurfaceHash  canonical.Digest
	Instructions *Instructions
	// Lists holds the items of each kind that was offered; a covered kind without
	// an entry was not offered.
	Lists   map[surface.Kind][]Item
	Refused []surface.Refused
	Absent  bool

	// Line is where the entry starts in the file it was read from, from 1, and
	// SourceLine where its source does; 0 where it was not read.
	Line       int
	SourceLine int
	// entry is the whole entry as it was read, from the quote of its name on; its
	// value starts at the offset value. Format writes these bytes as long as they
	// say what the entry says, so nobody has to tell it what was changed.
	entry []byte
	value int
}

// Instructions are the locked instructions of a server.
type Instructions struct {
	Hash     canonical.Digest
	Decision canonical.Digest
	Absent   bool // no longer given; kept for its decision
	Line     int  // as in Server
}

// Item is one locked definition.
type Item struct {
	Name          string
	Tool          *surface.ToolHashes // of a tool, else nil
	Digest        canonical.Digest    // zero in the original format
	GatewayDigest canonical.Digest    // zero in the original format
	Decision      canonical.Digest
	Absent        bool
	Line          int // as in Server
}

// Server returns the entry of that name, or nil.
func (f *File) Server(name string) *Server {
	i, ok := slices.BinarySearchFunc(f.Servers, name, func(s *Server, name string) int { return strings.Compare(s.Name, name) })
	if !ok {
		return nil
	}
	return f.Servers[i]
}

// Put adds the entry s or replaces the one of its name.
func (f *File) Put(s *Server) {
	i, ok := slices.BinarySearchFunc(f.Servers, s.Name, func(s *Server, name string) int { return strings.Compare(s.Name, name) })
	if ok {
		f.Servers[i] = s
		return
	}
	f.Servers = slices.Insert(f.Servers, i, s)
}

// Remove drops the entry of that name.
func (f *File) Remove(name string) {
	f.Servers = slices.DeleteFunc(f.Servers, func(s *Server) bool { return s.Name == name })
}

// Item returns the item of that kind and name, or nil.
func (s *Server) Item(kind surface.Kind, name string) *Item {
	items := s.Lists[kind]
	i, ok := slices.BinarySearchFunc(items, name, func(it Item, name string) int { return strings.Compare(it.Name, name) })
	if !ok {
		return nil
	}
	return &items[i]
}

// CoversKind reports whether the entry covers what the word of covers names. An
// entry of the original format covers tools.
func (s *Server) CoversKind(cover string) bool {
	if s.Covers == nil {
		return cover == "tools"
	}
	return slices.Contains(s.Covers, cover)
}

// TargetName is the gateway's target for the server.
func (s *Server) TargetName() string {
	if s.Target != "" {
		return s.Target
	}
	return s.Name
}

// Clone returns a copy of the entry whose items and decisions can be changed
// without touching s. Sources are shared: they are never changed in place.
func (s *Server) Clone() *Server {
	c := *s
	c.Lists = make(map[surface.Kind][]Item, len(s.Lists))
	for kind, items := range s.Lists {
		c.Lists[kind] = slices.Clone(items)
	}
	if s.Instructions != nil {
		in := *s.Instructions
		c.Instructions = &in
	}
	return &c
}
