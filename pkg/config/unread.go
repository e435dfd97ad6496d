package config

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"agentgateway-lock/pkg/finding"
)

// The bounds of the search for configurations that were not read.
const (
	maxWalk  = 20_000 // entries
	maxLevel = 8      // folders below the root
	maxNotes = 50
)

// passedOver are folders of what others wrote.
var passedOver = []string{"node_modules", "vendor", "third_party", "site-packages", "venv", "__pycache__", "target", "dist", "build"}

// unread finds configurations of a known name that were not read.
func (l *loader) unread(ctx context.Context) ([]finding.Finding, error) {
	var notes []finding.Finding
	type folder struct {
		name  string
		level int
	}
	left := maxWalk
	for queue := []folder{{".", 0}}; len(queue) > 0 && left > 0 && len(notes) < maxNotes; queue = queue[1:] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		dir := queue[0]
		found, err := l.list(dir.name, left)
		if err != nil {
			continue // what cannot be read here is read by no client either
		}
		left -= len(found)
		for _, f := range found {
			name := path.Join(dir.name, f.Name())
			switch {
			case f.IsDir():
				if dir.level < maxLevel && searched(f.Name()) {
					queue = append(queue, folder{name, dir.level + 1})
				}
			case !l.read[name] && l.holds(name):
				notes = append(notes, finding.New(finding.ConfigUnread, finding.Place{File: name}, "this configuration was not read"))
			}
		}
	}
	if left <= 0 {
		notes = append(notes, finding.New(finding.ConfigUnread, finding.Place{},
			fmt.Sprintf("the tree has more than %d entries: configurations were looked for in the first of them only", maxWalk)))
	}
	return notes, nil
}

// list returns at most limit entries of a folder, sorted.
func (l *loader) list(name string, limit int) ([]fs.DirEntry, error) {
	f, err := l.o.Repository.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, fs.ErrInvalid
	}
	found, err := dir.ReadDir(limit)
	slices.SortFunc(found, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if len(found) > 0 {
		err = nil
	}
	return found, err
}

// searched reports whether a folder is looked into: not what others wrote, and of
// the hidden ones those of clients.
func searched(name string) bool {
	if !strings.HasPrefix(name, ".") {
		return !slices.Contains(passedOver, name)
	}
	return slices.ContainsFunc(clients, func(c client) bool {
		return slices.ContainsFunc(c.repository, func(known string) bool { return strings.HasPrefix(known, name+"/") })
	})
}

// holds reports whether a file has a known name and seems to name servers.
func (l *loader) holds(name string) bool {
	c := clientOf(name)
	if c == nil || c.shared {
		return false
	}
	src, err := l.readFile(name, true, maxFile)
	if err != nil {
		return false
	}
	return c.mayHold(src)
}

// clientOf is the client whose file a path ends in, by the longest known path, or
// nil.
func clientOf(name string) *client {
	var best *client
	length := 0
	try := func(c *client, known string) {
		if n := strings.Count(known, "/") + 1; n > length && fits(name, known) {
			best, length = c, n
		}
	}
	for i := range clients {
		c := &clients[i]
		for _, known := range c.repository {
			try(c, known)
		}
		for _, known := range c.user {
			// The names below other folders are too common to tell a client by.
			if below, ok := strings.CutPrefix(known, "{home}/"); ok {
				try(c, below)
			}
		}
	}
	return best
}
