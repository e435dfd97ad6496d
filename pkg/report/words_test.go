package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sides puts together the two texts a diff is of.
func sides(pieces []piece) (old, fresh string) {
	for _, p := range pieces {
		if p.op != inserted {
			old += p.text
		}
		if p.op != deleted {
			fresh += p.text
		}
	}
	return old, fresh
}

func TestWordDiff(t *testing.T) {
	for _, tt := range []struct {
		name, old, fresh string
		want             []piece
	}{
		{"nothing", "", "", []piece{}},
		{"all new", "", "a b", []piece{{inserted, "a b"}}},
		{"all gone", "a b", "", []piece{{deleted, "a b"}}},
		{"one word", "a b c", "a x c", []piece{{equal, "a "}, {deleted, "b "}, {inserted, "x "}, {equal, "c"}}},
		{"at the end", "a b", "a b c", []piece{{equal, "a "}, {deleted, "b"}, {inserted, "b c"}}},
		{"space alone", "a  b", "a b", []piece{{deleted, "a  "}, {inserted, "a "}, {equal, "b"}}},
		{"a word between by chance", "p u v the w x q", "p a b the c d q",
			[]piece{{equal, "p "}, {deleted, "u v the w x "}, {inserted, "a b the c d "}, {equal, "q"}}},
		{"words between", "p u b c d e v q", "p x b c d e y q",
			[]piece{{equal, "p "}, {deleted, "u "}, {inserted, "x "}, {equal, "b c d e "}, {deleted, "v "}, {inserted, "y "}, {equal, "q"}}},
	} {
		if diff := cmp.Diff(tt.want, newWordDiffer().diff(tt.old, tt.fresh), cmp.AllowUnexported(piece{})); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tt.name, diff)
		}
	}
}

// TestWordDiffBound: less work gives a coarser diff, but never a wrong one.
func TestWordDiffBound(t *testing.T) {
	var a, b []string
	for i := range 300 {
		a, b = append(a, fmt.Sprintf("line %d", i)), append(b, fmt.Sprintf("line %d", i))
		if i%50 == 20 {
			b[i] = "changed " + b[i]
		}
	}
	old, fresh := strings.Join(a, "\n"), strings.Join(b, "\n")
	pieces := map[int]int{}
	for _, left := range []int{0, 100_000, 1 << 26} {
		d := &wordDiffer{left: left}
		got := d.diff(old, fresh)
		if gotOld, gotFresh := sides(got); gotOld != old || gotFresh != fresh {
			t.Errorf("with %d the diff is of other texts", left)
		}
		if d.left < 0 {
			t.Errorf("more work than %d was done", left)
		}
		pieces[left] = len(got)
	}
	if pieces[0] != 4 || pieces[100_000] <= 4 || pieces[1<<26] <= 4 {
		t.Errorf("pieces by work: %v", pieces)
	}
}

func TestElide(t *testing.T) {
	long := strings.Repeat("ü", 200)
	got := elide([]piece{{equal, long}, {inserted, strings.Repeat("x", 5000)}, {equal, long}, {deleted, "y"}, {equal, long}})
	part := strings.Repeat("ü", 60)
	want := []piece{
		{equal, "… " + part},
		{inserted, strings.Repeat("x", 3999) + "… (1000 more characters) "},
		{equal, part + " … " + part},
		{deleted, "y"},
		{equal, part + " …"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(piece{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestMarks: a text cannot hold marks of its own.
func TestMarks(t *testing.T) {
	for _, tt := range []struct {
		piece piece
		want  string
	}{
		{piece{equal, "a [-b-] {+c+} "}, `a [\u{002D}b\u{002D}] {\u{002B}c\u{002B}} `},
		{piece{deleted, "a b \n"}, "[-a b-] \n"},
		{piece{inserted, "a b"}, "{+a b+}"},
		{piece{inserted, "seen+} unseen"}, `{+seen\u{002B}} unseen+}`},
		{piece{deleted, "a["}, `[-a\u{005B}-]`},
		{piece{inserted, "a{"}, `{+a\u{007B}+}`},
		{piece{inserted, "[-]"}, `{+[\u{002D}]+}`},
		{piece{inserted, "\n\n"}, "{+\n\n+}"},
	} {
		if got := tt.piece.marked(); got != tt.want {
			t.Errorf("%v is %q, want %q", tt.piece, got, tt.want)
		}
	}
}
