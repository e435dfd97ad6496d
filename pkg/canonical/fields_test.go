package canonical_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"agentgateway-lock/pkg/canonical"
)

// An object has each field once, in any order, and nothing else.
func TestFields(t *testing.T) {
	for src, want := range map[string]string{
		`{"a": "1", "b": "2"}`:                   "1 2",
		` {"b": "2", "a": "1", "c": "3"}`:        "1 2 3",
		`{"a": "1"}`:                             "at 0: the member b is missing",
		`  {}`:                                   "at 2: the member a is missing",
		`{"a": "1", "d": 4}`:                     `at 16: the format has no member "d" here`,
		`{"a": "1", "A": "1"}`:                   `at 16: the format has no member "A" here`,
		`{"` + strings.Repeat("x", 99) + `": 1}`: `no member "` + strings.Repeat("x", 60) + `" here`,
		`{"a": 1, "b": "2"}`:                     "a number in place of a string",
		`{"a": "1", "b": "2", "\u0061": "3"}`:    "twice",
		`[]`:                                     "an array in place of an object",
	} {
		var a, b, c string
		r := canonical.NewReader([]byte(src))
		text := func(into *string) func() error {
			return func() (err error) { *into, err = r.String(); return err }
		}
		err := r.Fields(canonical.Field{Name: "a", Read: text(&a)}, canonical.Field{Name: "b", Read: text(&b)}, canonical.Field{Name: "c", Read: text(&c), Optional: true})
		got := strings.TrimSpace(a + " " + b + " " + c)
		if err != nil {
			got = err.Error()
		}
		if wrong, ok := errors.AsType[*canonical.FieldError](err); ok {
			got = fmt.Sprintf("at %d: %v", wrong.At, wrong)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
}
