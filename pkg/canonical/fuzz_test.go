package canonical_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/gowebpki/jcs"

	"agentgateway-lock/pkg/canonical"
)

// FuzzAppend holds the canonical form against a library for RFC 8785. Both forms
// are put through the library, which rounds the integers that ours keeps.
func FuzzAppend(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		form, err := canonical.Append(nil, text)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q is no JSON", text)
		}
		again, err := canonical.Append(nil, form)
		if err != nil || !bytes.Equal(again, form) {
			t.Fatalf("not a fixed point: %q, then %q, %v", form, again, err)
		}
		want, err := jcs.Transform(inArray(text))
		if err != nil {
			t.Fatalf("the library refuses %q: %v", text, err)
		}
		have, err := jcs.Transform(inArray(form))
		if err != nil || !bytes.Equal(have, want) {
			t.Fatalf("of %q\n have %q, %v\n want %q", text, have, err, want)
		}
		var d canonical.Encoder
		if appended, err := d.Append([]byte("x"), text); err != nil || string(appended) != "x"+string(form) {
			t.Fatalf("appending: %q, %v", appended, err)
		}
	})
}

// inArray makes a text of any value one that the library takes.
func inArray(text []byte) []byte { return append(append([]byte{'['}, text...), ']') }

// FuzzReader holds that the pull reader takes exactly the grammar of the
// canonical form, but for what numbers hold.
func FuzzReader(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		_, refused := canonical.Append(nil, text)
		r := canonical.NewReader(text)
		err := readAll(r)
		if err == nil {
			err = r.End()
		}
		if refused == nil && err != nil {
			t.Fatalf("%q is read as %v", text, err)
		}
		var refusal *canonical.Refusal
		if errors.As(refused, &refusal) && err == nil && refusal.Rule != canonical.RuleNumber {
			t.Fatalf("%q is read, and refused by %v", text, refusal)
		}
	})
}

// readAll reads the value that comes next, whatever it is.
func readAll(r *canonical.Reader) error {
	switch r.Peek() {
	case canonical.KindObject:
		return r.Object(func([]byte) error { return readAll(r) })
	case canonical.KindArray:
		return r.Array(func() error { return readAll(r) })
	case canonical.KindString:
		_, err := r.Bytes()
		return err
	default:
		_, err := r.Raw()
		return err
	}
}
