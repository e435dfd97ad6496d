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

	maxOther    = 256 << 10 // bytes of a file of no known name
	maxOtherAll = 16 << 20  // bytes of all of them
)

// passedOver are folders of what others wrote, and of what tests read.
var (
	passedOver = []string{"node_modules", "vendor", "third_party", "site-packages", "venv", "__pycache__", "target", "dist", "build",
		".git", ".venv", ".tox", ".cache", ".yarn", ".next", ".terraform", ".gradle", ".agentgateway"}
	testData = []string{"testdata", "test", "tests", "__tests__", "fixtures", "spec", "examples", "example"}
)

// unread finds configurations that were not read: of a known name, or with servers
// under one of the members that clients use.
func (l *loader) unread(ctx context.Context) ([]finding.Finding, error) {
	var notes []finding.Finding
	type folder struct {
		name  string
		level int
	}
	left, others := maxWalk, int64(maxOtherAll)
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
			case !l.read[name] && (l.holds(name) || l.looksLike(f, name, &others)):
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

// searched reports whether a folder is looked into: not what others wrote.
func searched(name string) bool { return !slices.Contains(passedOver, name) }

// looksLike reports whether a file of no known name holds servers. left is what may
// still be read of such files.
func (l *loader) looksLike(entry fs.DirEntry, name string, left *int64) bool {
	if _, ok := parserOf(name); !ok || !entry.Type().IsRegular() || inTestData(name) {
		return false
	}
	info, err := entry.Info()
	if err != nil || info.Size() > maxOther || info.Size() > *left {
		return false
	}
	*left -= info.Size()
	src, err := l.readFile(name, true, maxOther)
	if err != nil || !anyClient.mayHold(src) {
		return false
	}
	read, _ := parserOf(name)
	root, err := read(src)
	if err != nil {
		return false // no client reads it either
	}
	return slices.ContainsFunc(anyClient.containers, func(container []string) bool {
		n := root
		for _, key := range container {
			n = n.get(key)
		}
		if n == nil || len(container) == 0 {
			return false
		}
		for _, m := range n.members {
			if reached(m.value) {
				return true
			}
		}
		return slices.ContainsFunc(n.items, func(item *node) bool { return item.get("name") != nil && reached(item) })
	})
}

// reached reports whether a value says how a server is reached: by a command, or by
// an address of a known transport.
func reached(n *node) bool {
	if kind := n.get("type"); kind != nil && kind.kind == text {
		if _, ok := transports[kind.text]; !ok {
			return false
		}
	}
	for _, member := range []string{"command", "url", "httpUrl", "serverUrl"} {
		if v := n.get(member); v != nil && (v.kind == text && v.text != "" || v.kind == array && member == "command") {
			return member == "command" || strings.Contains(v.text, "://")
		}
	}
	return false
}

func inTestData(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(folder string) bool { return slices.Contains(testData, folder) })
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
