package gatewaydouble

import (
	"encoding/json"
	"testing"
)

// FuzzParse holds that what is not JSON is refused, and that what is written is
// JSON and can be read again. (Go's own reader takes more than this one: lone
// surrogates, invalid UTF-8. Numbers may move by a unit in the last place each
// time, as the gateway's do.)
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-0,1.5e3,"\u00e9\n"],"a":null}`, `1e400`, `"\ud800"`, `[[[[]]]]`, `18446744073709551616.5e-3`, ` true `, `{"":{}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parsed, err := parse(data)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q is not JSON and was read", data)
		}
		written := encode(parsed.free())
		if !json.Valid(written) {
			t.Fatalf("%q was written as %q, which is not JSON", data, written)
		}
		if _, err := parse(written); err != nil {
			t.Fatalf("%q was written as %q, which does not read: %v", data, written, err)
		}
		_, decoded := decodeResult(parsed)
		if !json.Valid(encode(decoded)) {
			t.Fatalf("%q was decoded to %q, which is not JSON", data, encode(decoded))
		}
	})
}
