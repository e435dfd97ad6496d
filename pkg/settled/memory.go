package settled

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"agentgateway-lock/pkg/canonical"
)

// MaxMemory bounds the file of a memory, in bytes.
const MaxMemory = 16 << 20

// maxRecords is how many records of one server are kept, and maxServers bounds the
// servers of one clone.
const (
	maxRecords = 16
	maxServers = 2000
)

// A Memory is what a user's machine remembers of one clone. It is kept outside the
// clone and never read in CI.
type Memory struct {
	// Clone is the folder that holds the clone's objects and references.
	Clone string `json:"clone"`
	// Remotes are the URLs of remotes that the user has accepted; the empty one is
	// that of a clone without a remote.
	Remotes []string `json:"remotes,omitempty"`
	// Records are of what the user's lock put into lockfiles, Allows of what the
	// user allowed, Looks of surroundings that the user has seen and accepted. The
	// newest is last.
	Records []Record `json:"records,omitempty"`
	Allows  []Allow  `json:"allows,omitempty"`
	Looks   []Look   `json:"looks,omitempty"`
}

// A Key names a server of a lockfile of a clone, as the remote was then.
type Key struct {
	Remote   string `json:"remote"`   // its URL
	Lockfile string `json:"lockfile"` // the path from the top of the work tree
	Server   string `json:"server"`
}

// A Record is what a lock left of one server.
type Record struct {
	Key
	Source       canonical.Digest `json:"source"` // of the source alone
	Items        []Item           `json:"items,omitempty"`
	Surroundings Print            `json:"surroundings"`
}

// An Item is what was locked of one item.
type Item struct {
	Kind   string           `json:"kind"`
	Name   string           `json:"name,omitempty"`
	Digest canonical.Digest `json:"digest"`
}

// An Allow is a source that the user settled until its words change.
type Allow struct {
	Key
	Source canonical.Digest `json:"source"`
}

// A Look is a source in surroundings that the user has seen.
type Look struct {
	Key
	Source       canonical.Digest `json:"source"`
	Surroundings canonical.Digest `json:"surroundings"`
}

// ParseMemory reads what [Memory.Format] wrote.
func ParseMemory(data []byte) (*Memory, error) {
	if len(data) > MaxMemory {
		return nil, fmt.Errorf("larger than %d MiB", MaxMemory>>20)
	}
	m := &Memory{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(m); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the end")
	}
	return m, nil
}

// Format spells a memory.
func (m *Memory) Format() []byte {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err) // it holds texts and digests alone
	}
	return append(data, '\n')
}

// Knows reports whether the user has accepted the URL of a remote; empty is that of
// a clone without one.
func (m *Memory) Knows(url string) bool { return slices.Contains(m.Remotes, url) }

// Accept makes a remote known.
func (m *Memory) Accept(url string) {
	if !m.Knows(url) {
		m.Remotes = append(m.Remotes, url)
	}
}

// Forget takes an acceptance back and reports whether there was one.
func (m *Memory) Forget(url string) bool {
	n := len(m.Remotes)
	m.Remotes = slices.DeleteFunc(m.Remotes, func(u string) bool { return u == url })
	return len(m.Remotes) < n
}

// Find returns the record of a source, or nil.
func (m *Memory) Find(key Key, source canonical.Digest) *Record {
	i := slices.IndexFunc(m.Records, func(r Record) bool { return r.Key == key && r.Source == source })
	if i < 0 {
		return nil
	}
	return &m.Records[i]
}

// Locked remembers what a lock left. A source that the lock put into the lockfile
// gets a record; one that it found there has its record renewed, and gets none where
// it has none: the entry may be a stranger's.
func (m *Memory) Locked(r Record, put bool) {
	switch was := m.Find(r.Key, r.Source); {
	case was != nil && !put:
		*was = r
	case put:
		m.Records = slices.DeleteFunc(m.Records, func(o Record) bool { return o.Key == r.Key && o.Source == r.Source })
		m.Records = keepNewest(append(m.Records, r), func(o Record) bool { return o.Key == r.Key })
	}
}

// Allow settles a source until its words change; one of other words is no longer.
func (m *Memory) Allow(key Key, source canonical.Digest) {
	m.Allows = slices.DeleteFunc(m.Allows, func(a Allow) bool { return a.Key == key })
	m.Allows = keepNewest(append(m.Allows, Allow{key, source}), func(Allow) bool { return false })
}

// Allowed reports whether the user settled a source.
func (m *Memory) Allowed(key Key, source canonical.Digest) bool {
	return slices.Contains(m.Allows, Allow{key, source})
}

// Look remembers that the user has seen a source in its surroundings.
func (m *Memory) Look(l Look) {
	m.Looks = slices.DeleteFunc(m.Looks, func(o Look) bool { return o == l })
	m.Looks = keepNewest(append(m.Looks, l), func(o Look) bool { return o.Key == l.Key })
}

// Looked reports whether the user has seen them.
func (m *Memory) Looked(l Look) bool { return slices.Contains(m.Looks, l) }

// keepNewest drops the oldest of those that same picks where they are too many, and
// the oldest of all.
func keepNewest[T any](list []T, same func(T) bool) []T {
	n := 0
	for _, e := range list {
		if same(e) {
			n++
		}
	}
	list = slices.DeleteFunc(list, func(e T) bool {
		drop := n > maxRecords && same(e)
		if drop {
			n--
		}
		return drop
	})
	if over := len(list) - maxServers*maxRecords; over > 0 {
		list = slices.Delete(list, 0, over)
	}
	return list
}
