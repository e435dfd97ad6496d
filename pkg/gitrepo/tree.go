package gitrepo

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
)

// maxTreeEntries bounds what one folder may hold.
const maxTreeEntries = 1 << 20

// ParseTree splits the raw body of a tree whose ids are idSize bytes long (20
// or 32). Entries come in the order they stand in: git's own, where a folder
// sorts as if its name ended in a slash. Refused, each by a named rule: a tree
// cut short, an odd mode, a name that is empty, ".", "..", holds a slash or
// spells ".git", an order other than git's, and a name that stands twice.
func ParseTree(raw []byte, idSize int) ([]Entry, error) {
	if idSize != 20 && idSize != 32 {
		return nil, treeError("id-size", fmt.Sprintf("ids of %d bytes are unknown", idSize))
	}
	entries := make([]Entry, 0, len(raw)/(idSize+20)+1)
	for len(raw) > 0 {
		if len(entries) == maxTreeEntries {
			return nil, treeError("too-many-entries", fmt.Sprintf("more than %d entries", maxTreeEntries))
		}
		nul := bytes.IndexByte(raw, 0)
		if nul < 0 || len(raw) < nul+1+idSize {
			return nil, treeError("truncated", "the last entry is cut short")
		}
		modeText, name, ok := bytes.Cut(raw[:nul], []byte(" "))
		if !ok {
			return nil, treeError("truncated", "an entry has no mode")
		}
		mode, err := parseMode(modeText)
		if err != nil {
			return nil, err
		}
		if err := checkTreeName(name); err != nil {
			return nil, err
		}
		entry := Entry{Name: string(name), Mode: mode, ID: rawHash(raw[nul+1 : nul+1+idSize])}
		if n := len(entries); n > 0 && !treeLess(entries[n-1], entry) {
			return nil, treeError("order", fmt.Sprintf("%q is after %q", entry.Name, entries[n-1].Name))
		}
		entries = append(entries, entry)
		raw = raw[nul+1+idSize:]
	}
	return entries, checkTwins(entries)
}

func parseMode(text []byte) (Mode, error) {
	if len(text) == 0 || len(text) > 6 || text[0] == '0' {
		return 0, treeError("mode", fmt.Sprintf("mode %q", text))
	}
	var m Mode
	for _, c := range text {
		if c < '0' || c > '7' {
			return 0, treeError("mode", fmt.Sprintf("mode %q", text))
		}
		m = m<<3 | Mode(c-'0')
	}
	return m, nil
}

func checkTreeName(name []byte) error {
	switch {
	case len(name) == 0:
		return treeError("name", "an entry has no name")
	case bytes.IndexByte(name, '/') >= 0, string(name) == ".", string(name) == "..",
		len(name) == 4 && bytes.EqualFold(name, []byte(".git")):
		return treeError("name", fmt.Sprintf("an entry is named %q", name))
	}
	return nil
}

// treeKey is the text git sorts an entry by, from position len(common) on.
func treeKey(e Entry, at int) int {
	switch {
	case at < len(e.Name):
		return int(e.Name[at])
	case at == len(e.Name) && e.Mode == ModeFolder:
		return '/'
	}
	return -1
}

func treeLess(a, b Entry) bool {
	n := min(len(a.Name), len(b.Name))
	if c := strings.Compare(a.Name[:n], b.Name[:n]); c != 0 {
		return c < 0
	}
	return treeKey(a, n) < treeKey(b, n)
}

// checkTwins finds a file and a folder of one name, which git's order does not
// bring together: "a" and "a/" have "a-b" and "a.b" between them.
func checkTwins(entries []Entry) error {
	for i, e := range entries {
		if e.Mode != ModeFolder {
			continue
		}
		twin := Entry{Name: e.Name, Mode: ModeFile}
		j := sort.Search(i, func(k int) bool { return !treeLess(entries[k], twin) })
		if j < i && entries[j].Name == e.Name {
			return treeError("duplicate-name", fmt.Sprintf("%q is there twice", e.Name))
		}
	}
	return nil
}

func treeError(rule, detail string) error {
	return &FormatError{Kind: KindTree, Rule: rule, Detail: detail}
}

// findEntry looks a name up in a parsed tree: as a file, then as a folder.
func findEntry(entries []Entry, name string) (Entry, bool) {
	for _, mode := range [...]Mode{ModeFile, ModeFolder} {
		want := Entry{Name: name, Mode: mode}
		i := sort.Search(len(entries), func(k int) bool { return !treeLess(entries[k], want) })
		if i < len(entries) && entries[i].Name == name {
			return entries[i], true
		}
	}
	return Entry{}, false
}
