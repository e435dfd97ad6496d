package textcheck

import (
	"strings"
	"unicode/utf8"
)

// ConfusableText returns the places in the new text where a word looks like
// another word of the old one, as RuleConfusable, in the order of the text. It
// is for a proposed text against the one in force, and finds at most
// [DefaultLimit] places. Words are compared twice: what stands between spaces,
// and the letters and digits within.
func ConfusableText(old, new string) []Problem {
	if old == new {
		return nil
	}
	known := map[string]bool{}
	words(old, func(_ int, w string) bool {
		known[w] = true
		return true
	})
	var bySkeleton map[string]string // built when the first unknown word is met
	c := newChecker(new, Options{})
	reported := 0 // where the last reported word ends
	words(new, func(at int, w string) bool {
		if known[w] || at < reported {
			return true
		}
		if bySkeleton == nil {
			bySkeleton = skeletons(known)
		}
		like, ok := bySkeleton[Skeleton(w)]
		if !ok {
			return true
		}
		reported = at + len(w)
		place := at + firstDifference(like, w)
		return c.add(RuleConfusable, place, quote(w)+" looks like "+quote(like)+" of the text before")
	})
	return c.result()
}

// skeletons maps the skeleton of every word to the word, the least one where
// several share it.
func skeletons(known map[string]bool) map[string]string {
	out := make(map[string]string, len(known))
	for w := range known {
		s := Skeleton(w)
		if s == "" {
			continue
		}
		if first, ok := out[s]; !ok || w < first {
			out[s] = w
		}
	}
	return out
}

// firstDifference returns the place in b of the first character in which it is
// not a, and 0 where b has no such character.
func firstDifference(a, b string) int {
	for i, r := range b {
		if other, _ := utf8.DecodeRuneInString(a[min(i, len(a)):]); other != r {
			return i
		}
	}
	return 0
}

// words calls f for every field of s, and for the words within a field that
// are not all of it, until f returns false.
func words(s string, f func(at int, word string) bool) {
	for start := 0; start < len(s); {
		if wide, size := spaceAt(s[start:]); wide > 0 || s[start] == '\n' || s[start] == '\r' {
			start += size
			continue
		}
		end := fieldEnd(s, start)
		if !f(start, s[start:end]) {
			return
		}
		for i := start; i < end; {
			stop, _ := wordAt(s[:end], i)
			if stop == i {
				_, size := utf8.DecodeRuneInString(s[i:end])
				i += size
				continue
			}
			if stop-i < end-start && !f(i, s[i:stop]) {
				return
			}
			i = stop
		}
		start = end
	}
}

func fieldEnd(s string, i int) int {
	for i < len(s) {
		wide, size := spaceAt(s[i:])
		if wide > 0 || s[i] == '\n' || s[i] == '\r' {
			break
		}
		i += size
	}
	return i
}

// ConfusableNames returns the groups of names that look alike, as indexes into
// names: names whose skeletons are equal, with or without regard to case, and
// however they are spaced. A group has at least two different names in it;
// equal names are in the same group. Groups and their indexes are in the order
// of names.
//
// It is meant for the names and titles of all items of every server at once.
func ConfusableNames(names []string) [][]int {
	parent := make([]int, len(names))
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	first := make(map[string]int, len(names))
	for i, name := range names {
		for _, key := range nameKeys(name) {
			j, ok := first[key]
			if !ok {
				first[key] = i
				continue
			}
			// The smaller index stays the root, so groups come in order.
			a, b := root(i), root(j)
			parent[max(a, b)] = min(a, b)
		}
	}
	members := make(map[int][]int)
	for i := range names {
		members[root(i)] = append(members[root(i)], i)
	}
	var groups [][]int
	for i := range names {
		if group := members[i]; differ(names, group) {
			groups = append(groups, group)
		}
	}
	return groups
}

// nameKeys returns what two names share where they look alike. Folding comes
// both before the skeleton (FILE and file) and after it (a capital I looks like
// a small l, not like a small i).
func nameKeys(name string) [2]string {
	spaced := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	return [2]string{
		"folded " + spaced(Skeleton(fold(name))),
		"skeleton " + spaced(Skeleton(fold(Skeleton(name)))),
	}
}

func differ(names []string, group []int) bool {
	for _, i := range group {
		if names[i] != names[group[0]] {
			return true
		}
	}
	return false
}
