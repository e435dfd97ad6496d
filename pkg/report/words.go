package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"

	"agentgateway-lock/pkg/textcheck"
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

// The marks around what went and what came, as git writes them for --word-diff.
var marks = [...]string{"[-", "-]", "{+", "+}"}

// unmark spells what would read as a mark by the code point of its sign, so that
// a text cannot say of itself which part of it is new.
var unmark = strings.NewReplacer("[-", `[\u{002D}`, "-]", `\u{002D}]`, "{+", `{\u{002B}`, "+}", `\u{002B}}`)

// marked is the text of a piece, not escaped, with marks where it went or came.
// They stand before the space it ends with.
func (p piece) marked() string {
	text := unmark.Replace(p.text)
	if p.op == equal {
		return text
	}
	body := strings.TrimRight(text, " \n")
	if body == "" {
		body = text
	}
	space := text[len(body):]
	open, end := marks[0], marks[1]
	if p.op == inserted {
		open, end = marks[2], marks[3]
	}
	if last := len(body) - 1; body[last] == open[0] { // would be a mark with the one after it
		body = fmt.Sprintf(`%s\u{%04X}`, body[:last], open[0])
	}
	return open + body + end + space
}

// A wordDiffer compares texts word by word, with a bound on the work for all that
// are shown in one report: texts are chosen by others.
type wordDiffer struct {
	left int // pairs of words that may still be compared
}

func newWordDiffer() *wordDiffer { return &wordDiffer{left: 1 << 26} }

// maxUnits is how many words are told apart.
const maxUnits = 50_000

// diff compares two texts word by word; line by line where that is too much work,
// and as a whole where that is, too.
func (d *wordDiffer) diff(old, fresh string) []piece {
	head := commonHead(old, fresh)
	tail := commonTail(old[head:], fresh[head:])
	pieces := appendPiece(nil, equal, old[:head])
	pieces = append(pieces, d.middle(splitWords(old[head:len(old)-tail]), splitWords(fresh[head:len(fresh)-tail]))...)
	return joinChanges(appendPiece(pieces, equal, old[len(old)-tail:]))
}

// commonHead is the length of the words that both texts start with.
func commonHead(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	if n == len(a) && n == len(b) {
		return n
	}
	for n > 0 && !wordStart(a, n) {
		n--
	}
	return n
}

// commonTail is the length of the words that both texts end with.
func commonTail(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for i := len(a) - n + 1; i < len(a); i++ {
		if wordStart(a, i) {
			return len(a) - i
		}
	}
	return 0
}

// wordStart reports whether a word starts at s[i], after a space. It knows only
// the spaces of ASCII; what it misses is compared word by word.
func wordStart(s string, i int) bool { return i < len(s) && asciiSpace(s[i-1]) && !asciiSpace(s[i]) }

func asciiSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }

// appendPiece leaves out what is empty.
func appendPiece(pieces []piece, op op, text string) []piece {
	if text == "" {
		return pieces
	}
	return append(pieces, piece{op, text})
}

// middle compares what is left when both texts start and end differently.
func (d *wordDiffer) middle(a, b []string) []piece {
	if !d.take(a, b) {
		old, fresh := strings.Join(a, ""), strings.Join(b, "")
		a, b = strings.SplitAfter(old, "\n"), strings.SplitAfter(fresh, "\n")
		if !d.take(a, b) {
			return appendPiece(appendPiece(nil, deleted, old), inserted, fresh)
		}
	}
	pieces := []piece{}
	for _, u := range compareUnits(a, b) {
		pieces = append(pieces, piece{u.op, strings.Join(u.units, "")})
	}
	return pieces
}

// unitPiece is a run of words or lines that stand in both texts or in one of them.
type unitPiece struct {
	op    op
	units []string
}

// compareUnits compares two texts word by word, or line by line.
func compareUnits(a, b []string) []unitPiece {
	words := &dictionary{ids: map[string]rune{}}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 0 // the same texts always give the same diff; take bounds the work
	diffs := dmp.DiffCleanupMerge(dmp.DiffMainRunes(words.encode(a), words.encode(b), false))
	pieces := make([]unitPiece, 0, len(diffs))
	for _, diff := range diffs {
		kind := equal
		switch diff.Type {
		case diffmatchpatch.DiffDelete:
			kind = deleted
		case diffmatchpatch.DiffInsert:
			kind = inserted
		case diffmatchpatch.DiffEqual:
		}
		pieces = append(pieces, unitPiece{kind, words.decode(diff.Text)})
	}
	return pieces
}

// take reports whether a and b may be compared, and counts the work.
func (d *wordDiffer) take(a, b []string) bool {
	work := len(a) * len(b)
	if len(a)+len(b) > maxUnits || work > d.left {
		return false
	}
	d.left -= work
	return true
}

// How many words two changes may be apart to count as one, and how many bytes.
const (
	maxBetween      = 3
	maxBetweenBytes = 100
)

// joinChanges makes one change of two that a few words keep apart by chance, so
// that a new sentence is shown as a whole. The words between them may not be more
// than either change has.
func joinChanges(pieces []piece) []piece {
	out := make([]piece, 0, len(pieces))
	var old, fresh strings.Builder
	flush := func() {
		for _, p := range []piece{{deleted, old.String()}, {inserted, fresh.String()}} {
			if p.text != "" {
				out = append(out, p)
			}
		}
		old.Reset()
		fresh.Reset()
	}
	before := 0 // words of the change that is open
	for i, p := range pieces {
		switch p.op {
		case deleted:
			old.WriteString(p.text)
			before = max(before, countWords(p.text))
		case inserted:
			fresh.WriteString(p.text)
			before = max(before, countWords(p.text))
		default:
			if before > 0 && len(p.text) <= maxBetweenBytes && countWords(p.text) <= min(maxBetween, before, changeAfter(pieces[i+1:])) {
				old.WriteString(p.text)
				fresh.WriteString(p.text)
				continue
			}
			flush()
			out = append(out, p)
			before = 0
		}
	}
	flush()
	return out
}

func countWords(text string) int { return len(strings.Fields(text)) }

// changeAfter is how many words the change has that pieces start with.
func changeAfter(pieces []piece) (n int) {
	for _, p := range pieces {
		if p.op == equal {
			break
		}
		n = max(n, countWords(p.text))
	}
	return n
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

func (d *dictionary) decode(text string) []string {
	var units []string
	for _, id := range text {
		units = append(units, d.words[id-firstID])
	}
	return units
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

// maxChanged is how much of a change is shown, in characters.
const maxChanged = 4000

// elide shortens what stands unchanged between changes, so that a long text shows
// what changed and its surroundings. Of a very long change it keeps the start.
func elide(pieces []piece) []piece {
	const around, least = 60, 160
	out := make([]piece, len(pieces))
	for i, p := range pieces {
		out[i] = p
		if p.op != equal {
			if n := utf8.RuneCountInString(p.text) - maxChanged; n > 0 {
				out[i].text = fmt.Sprintf("%s (%d more characters) ", textcheck.Clip(p.text, maxChanged), n)
			}
			continue
		}
		if len(p.text) < least {
			continue
		}
		head, tail := firstRunes(p.text, around), lastRunes(p.text, around)
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

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func lastRunes(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}
