package report

import (
	"strings"
	"unicode"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// op says where a piece of a text diff stands.
type op int

const (
	equal op = iota
	deleted
	inserted
)

// piece is a run of words that stand in both texts or in one of them.
type piece struct {
	op   op
	text string
}

// maxWords bounds the texts that are compared word by word; longer ones are
// compared line by line.
const maxWords = 4000

// diffWords compares two texts word by word.
func diffWords(old, fresh string) []piece {
	a, b := splitWords(old), splitWords(fresh)
	if len(a) > maxWords || len(b) > maxWords {
		a, b = strings.SplitAfter(old, "\n"), strings.SplitAfter(fresh, "\n")
	}
	if len(a) > maxWords || len(b) > maxWords {
		return []piece{{deleted, old}, {inserted, fresh}}
	}
	words := &dictionary{ids: map[string]rune{}}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 0 // the same texts always give the same diff; maxWords bounds the work
	diffs := dmp.DiffCleanupMerge(dmp.DiffMainRunes(words.encode(a), words.encode(b), false))
	pieces := make([]piece, 0, len(diffs))
	for _, d := range diffs {
		kind := equal
		switch d.Type {
		case diffmatchpatch.DiffDelete:
			kind = deleted
		case diffmatchpatch.DiffInsert:
			kind = inserted
		case diffmatchpatch.DiffEqual:
		}
		pieces = append(pieces, piece{kind, words.decode(d.Text)})
	}
	return pieces
}

// dictionary gives each word a character, since the library compares characters.
type dictionary struct {
	ids   map[string]rune
	words []string
}

// firstID is past ASCII and well before the surrogates, which no character may be.
const firstID = 0x100

func (d *dictionary) encode(words []string) []rune {
	out := make([]rune, len(words))
	for i, w := range words {
		id, ok := d.ids[w]
		if !ok {
			id = firstID + rune(len(d.words))
			d.ids[w] = id
			d.words = append(d.words, w)
		}
		out[i] = id
	}
	return out
}

func (d *dictionary) decode(text string) string {
	var b strings.Builder
	for _, id := range text {
		b.WriteString(d.words[id-firstID])
	}
	return b.String()
}

// splitWords splits a text into words, each with the space after it.
func splitWords(s string) []string {
	var words []string
	start, space := 0, false
	for i, r := range s {
		if unicode.IsSpace(r) {
			space = true
			continue
		}
		if space {
			words = append(words, s[start:i])
			start, space = i, false
		}
	}
	if start < len(s) {
		words = append(words, s[start:])
	}
	return words
}

// elide shortens what stands unchanged between changes, so that a long text shows
// what changed and its surroundings.
func elide(pieces []piece) []piece {
	const around, least = 60, 160
	out := make([]piece, len(pieces))
	for i, p := range pieces {
		out[i] = p
		runes := []rune(p.text)
		if p.op != equal || len(runes) < least {
			continue
		}
		head, tail := string(runes[:around]), string(runes[len(runes)-around:])
		switch i {
		case 0:
			out[i].text = "… " + tail
		case len(pieces) - 1:
			out[i].text = head + " …"
		default:
			out[i].text = head + " … " + tail
		}
	}
	return out
}
