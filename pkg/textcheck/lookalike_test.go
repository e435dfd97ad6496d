package textcheck

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

// TestSkeleton has values worked out by hand from confusables.txt.
func TestSkeleton(t *testing.T) {
	tests := map[string]string{
		"":                "",
		"paypal":          "paypal",
		"раypal":          "paypal", // U+0440, U+0430
		"ѕсоре":           "scope",  // all Cyrillic
		"modem":           "rnodern",
		"1Il|":            "llll",
		"O0":              "OO",
		"ﬁle":             "file",     // U+FB01
		"𝗋𝖾𝖺𝖽":            "read",     // mathematical
		"\u00e9":          "e\u0301",  // decomposed
		"a\u200bd\u2060m": "adrn",     // ignorable
		"a\u00a0b":        "a b",      // no-break space
		"\u2044\u2215":    "//",       // fraction and division slashes
		"Ǆ":               "DZ\u0306", // target decomposed and mapped again
		"\u0430\u0301":    "a\u0301",  // mapped beside a mark
		"日本":              "日本",       //
	}
	for in, want := range tests {
		if got := Skeleton(in); got != want {
			t.Errorf("Skeleton(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestConfusable(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"paypal", "раypal", true},
		{"scope", "ѕсоре", true},
		{"list", "1ist", true},
		{"list", "list\u200b", true},
		{"list", "list", false},
		{"list", "lost", false},
		{"read", "write", false},
	}
	for _, tt := range tests {
		if got := lookAlike(tt.a, tt.b); got != tt.want {
			t.Errorf("lookAlike(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

// TestConfusablesTable holds what the look-up and the skeleton rely on: sorted
// sources, targets within the pool, and that a target is its own skeleton.
func TestConfusablesTable(t *testing.T) {
	if len(confusables) != 6311 { // "# total" of version 15.0.0
		t.Errorf("%d mappings, want 6311", len(confusables))
	}
	for i, c := range confusables {
		if i > 0 && c.from <= confusables[i-1].from {
			t.Errorf("%U is out of order", c.from)
		}
		to := prototype(c.from)
		if to == "" || !utf8.ValidString(to) {
			t.Errorf("%U has the target %q", c.from, to)
		}
		if c.from < utf8.RuneSelf && !confusableASCII(byte(c.from)) {
			t.Errorf("%U is not in the ASCII set", c.from)
		}
		if again := Skeleton(to); again != to && !ignorable(c.from) {
			t.Errorf("%U: target %+q has the skeleton %+q", c.from, to, again)
		}
	}
}

func TestConfusableText(t *testing.T) {
	tests := []struct {
		name     string
		old, new string
		want     []string
	}{
		{"equal", "send to paypal", "send to paypal", nil},
		{"reworded", "send to paypal", "send it to the bank", nil},
		{"Cyrillic", "send to paypal.", "now send\nto раypal!", []string{`confusable 2:4 U+0440 "раypal" looks like "paypal" of the text before`}},
		{"whole field", "see example.com/path", "see example.com∕path", []string{`confusable 1:16 U+2215 "example.com∕path" looks like "example.com/path" of the text before`}},
		{"digit", "use file list", "use file 1ist", []string{`confusable 1:10 U+0031 "1ist" looks like "list" of the text before`}},
		{"zero width", "run admin", "run ad\u200bmin", []string{`confusable 1:7 U+200B "ad\u{200B}min" looks like "admin" of the text before`}},
		{"both words known", "modem modern", "modern modem", nil},
		{"empty", "", "раypal", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, p := range ConfusableText(tt.old, tt.new) {
				got = append(got, found(p)+" "+p.Detail)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestConfusableNames(t *testing.T) {
	names := []string{
		"read_file", "write_file", "read_file", "rеad_file", // 3: Cyrillic
		"List", "1ist", "LIST", // 5 looks like list, which LIST is but for case
		"other", "Open  file", "Open file", "", "",
	}
	want := [][]int{{0, 2, 3}, {4, 5, 6}, {8, 9}}
	if diff := cmp.Diff(want, ConfusableNames(names)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := ConfusableNames(nil); got != nil {
		t.Errorf("ConfusableNames(nil) = %v", got)
	}
}

func FuzzSkeleton(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, "paypal list")
	}
	f.Add("раypal", "paypal")
	f.Fuzz(func(t *testing.T, a, b string) {
		s := Skeleton(a)
		if len(s) > 40*len(a) {
			t.Errorf("Skeleton(%q) grew to %d bytes", a, len(s))
		}
		if utf8.ValidString(a) && !norm.NFD.IsNormalString(s) {
			t.Errorf("Skeleton(%q) is not decomposed: %q", a, s)
		}
		if lookAlike(a, b) != lookAlike(b, a) || lookAlike(a, a) {
			t.Errorf("lookAlike(%q, %q) is not symmetric", a, b)
		}
		for _, p := range ConfusableText(a, b) {
			checkProblem(t, b, p)
		}
		groups := ConfusableNames([]string{a, b})
		if lookAlike(a, b) && !slices.EqualFunc(groups, [][]int{{0, 1}}, slices.Equal) {
			t.Errorf("ConfusableNames(%q, %q) = %v", a, b, groups)
		}
	})
}

func BenchmarkConfusableText10KB(b *testing.B) {
	old := strings.ReplaceAll(prose, "complete", "whole")
	b.SetBytes(int64(len(prose)))
	b.ReportAllocs()
	for b.Loop() {
		ConfusableText(old, prose)
	}
}

func BenchmarkConfusableNames10k(b *testing.B) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = "tool_" + strings.Repeat(string(rune('a'+i%26)), 1+i/26%20) + string(rune('a'+i/520))
	}
	b.ReportAllocs()
	for b.Loop() {
		ConfusableNames(names)
	}
}

func lookAlike(a, b string) bool { return a != b && Skeleton(a) == Skeleton(b) }
