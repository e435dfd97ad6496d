package report

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
)

// propertyTime is how long random definitions are tried: EVERY_WORD_FOR=10m tries
// them for ten minutes.
func propertyTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("EVERY_WORD_FOR")
	if text == "" {
		return time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// eachChange calls f with random definitions and changes of them; a nil old one is
// a definition that is new.
func eachChange(t *testing.T, f func(t *testing.T, a *author, old, fresh map[string]any)) {
	t.Helper()
	end := time.Now().Add(propertyTime(t))
	tried := 0
	for seed := uint64(1); time.Now().Before(end) && !t.Failed(); seed++ {
		a := &author{Rand: rand.New(rand.NewPCG(seed, 0))}
		old := a.definition()
		fresh := a.change(old)
		if a.IntN(5) == 0 {
			old = nil
		}
		if old != nil && bytes.Equal(canonicalForm(t, old), canonicalForm(t, fresh)) {
			continue
		}
		f(t, a, old, fresh)
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
		tried++
	}
	t.Logf("%d definitions", tried)
}

func changeOf(t *testing.T, old, fresh map[string]any) drift.Change {
	t.Helper()
	var before []byte
	if old != nil {
		before = canonicalForm(t, old)
	}
	return drift.Between(surface.KindTool, "tool", before, canonicalForm(t, fresh))
}

// TestReviewShowsEveryWord: whatever differs between two definitions stands in what
// review prints, on the side it belongs to, as it is or as an escape.
func TestReviewShowsEveryWord(t *testing.T) {
	eachChange(t, func(t *testing.T, a *author, old, fresh map[string]any) {
		t.Helper()
		c := changeOf(t, old, fresh)
		var b bytes.Buffer
		items := []ReviewItem{{Server: "s", Status: "changed", Grade: finding.Warning, Change: c}}
		if err := ReviewText(&b, Review{Items: items}, TextOptions{Width: 20 + a.IntN(150)}); err != nil {
			t.Fatal(err)
		}
		went, came := diffSides(b.String())
		for _, token := range onlyIn(fresh, old) {
			if !strings.Contains(came, token) {
				t.Errorf("new and not shown: %q", token)
			}
		}
		for _, token := range onlyIn(old, fresh) {
			if !strings.Contains(went, token) {
				t.Errorf("gone and not shown: %q", token)
			}
		}
	})
}

// TestReviewFormatsShowEveryWord: so it is in the other formats of a review.
func TestReviewFormatsShowEveryWord(t *testing.T) {
	eachChange(t, func(t *testing.T, _ *author, old, fresh map[string]any) {
		t.Helper()
		r := Review{Items: []ReviewItem{{Server: "s", Status: "changed", Digest: strings.Repeat("0", 64), Change: changeOf(t, old, fresh)}}, Digest: strings.Repeat("1", 64)}
		words := append(wordsOnlyIn(fresh, old), wordsOnlyIn(old, fresh)...)
		for name, render := range map[string]func(io.Writer, Review) error{"json": ReviewJSON, "markdown": ReviewMarkdown} {
			var b bytes.Buffer
			if err := render(&b, r); err != nil {
				t.Fatal(err)
			}
			for _, word := range words {
				if !strings.Contains(b.String(), word) {
					t.Fatalf("%s shows no %s", name, word)
				}
			}
			if name == "json" {
				if err := validate(t, "review", b.String()); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// diffSides puts together what a reader of a unified diff takes for the lines that
// went and that came, with the escapes read.
func diffSides(text string) (went, came string) {
	var sides [2]strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) < 6 || line[:4] != "    " {
			continue
		}
		side := strings.IndexByte("-+", line[4])
		if side < 0 {
			continue
		}
		switch line[5] {
		case ' ':
			sides[side].WriteString("\n" + line[6:])
		case '|':
			sides[side].WriteString(line[6:])
		}
	}
	return readEscapes(sides[0].String()), readEscapes(sides[1].String())
}

// readEscapes reads \u0041, \u{0041} and the escapes of JSON.
func readEscapes(s string) string {
	var b strings.Builder
	short := map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", '"': `"`, '\\': `\`}
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\' || i+1 == len(s):
			b.WriteByte(s[i])
		case s[i+1] == 'u':
			r, size := readCodePoint(s[i+2:])
			if r >= 0xd800 && r < 0xdc00 && strings.HasPrefix(s[i+2+size:], `\u`) {
				low, more := readCodePoint(s[i+4+size:])
				r, size = utf16.DecodeRune(r, low), size+2+more
			}
			b.WriteRune(r)
			i += 1 + size
		case short[s[i+1]] != "":
			b.WriteString(short[s[i+1]])
			i++
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func readCodePoint(s string) (r rune, size int) {
	digits, size := s[:min(4, len(s))], 4
	if strings.HasPrefix(s, "{") {
		end := strings.IndexByte(s, '}')
		digits, size = s[1:end], end+1
	}
	n, err := strconv.ParseInt(digits, 16, 32)
	if err != nil {
		panic(fmt.Sprintf("no code point: %q", digits))
	}
	return rune(n), size
}
