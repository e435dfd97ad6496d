package config

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// encodings are the ways in which a value comes back, each by the library that
// others use for it.
var encodings = map[string]func(string) string{
	"plain":             func(s string) string { return s },
	"query":             url.QueryEscape,
	"path":              url.PathEscape,
	"lower percent":     func(s string) string { return strings.ToLower(percentAll(s)) },
	"JSON":              func(s string) string { b, _ := json.Marshal(s); return string(b) },
	"JSON in JSON":      func(s string) string { a, _ := json.Marshal(s); b, _ := json.Marshal(string(a)); return string(b) },
	"Go":                func(s string) string { return fmt.Sprintf("%q", s) },
	"base64":            func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 of a pair":  func(s string) string { return base64.StdEncoding.EncodeToString([]byte("u:" + s)) },
	"base64 of a text":  func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte("a" + s + "and more")) },
	"base64 for a URL":  func(s string) string { return base64.URLEncoding.EncodeToString([]byte("ab" + s + "?")) },
	"base64 in a query": func(s string) string { return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(s))) },
}

// percentAll escapes the marks that url.QueryEscape does, all but spaces as %20.
func percentAll(s string) string {
	return strings.ReplaceAll(url.QueryEscape(strings.ToLower(s)), "+", "%20")
}

// A value is found and hidden in each of its spellings, within whatever text.
func TestValuesHidden(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const alphabet = `abcXYZ0189-_.~+/=&? %"\'<>é` + "\n\t"
	letters := []rune(alphabet)
	for range 300 {
		var b strings.Builder
		for range minHidden + r.IntN(40) {
			b.WriteRune(letters[r.IntN(len(letters))])
		}
		value := "x" + b.String() + "y"
		for name, encode := range encodings {
			secret := value
			if name == "lower percent" {
				secret = strings.ToLower(value)
			}
			if strings.HasPrefix(name, "JSON") && strings.ContainsAny(value, "<>&") {
				continue // escaped for browsers, as few servers do
			}
			v := NewValues(map[string]string{"TOKEN": secret})
			text := "before " + encode(secret) + " after"
			masked := v.Mask(text)
			if !strings.Contains(masked, "${TOKEN}") || !v.In([]byte(text)) {
				t.Fatalf("%s of %q: %q became %q", name, secret, text, masked)
			}
			if strings.Contains(masked, secret) {
				t.Fatalf("%s of %q is in %q", name, secret, masked)
			}
		}
	}
}

func TestValuesMask(t *testing.T) {
	v := NewValues(map[string]string{"SHORT": "1234567", "LONG": "0123456789abcdef", "PART": "0123456789", "LINES": "-----BEGIN\nAAAABBBBCCCCDDDDEEEE\nEND"})
	for text, want := range map[string]string{
		"":                              "",
		"nothing":                       "nothing",
		"1234567":                       "1234567",
		"x0123456789abcdefx":            "x${LONG}x",
		"x0123456789x":                  "x${PART}x",
		"cut off: 0123456789abc":        "cut off: ${LONG}",
		`"cut off: 0123456789abc…" now`: `"cut off: ${LONG}…" now`,
		"cut off early: 0123456":        "cut off early: 0123456",
		"line AAAABBBBCCCCDDDDEEEE":     "line ${LINES}",
	} {
		if have := v.Mask(text); have != want {
			t.Errorf("%q became %q, want %q", text, have, want)
		}
	}
	var none *Values
	if none.Mask("text") != "text" || none.In([]byte("text")) {
		t.Error("no values hide something")
	}
}

// What is hidden came from the environment: never a default that the source shows,
// which could hide a server's own words.
func TestConnectValues(t *testing.T) {
	s := one(t, `{"command": "x", "args": ["${A:-ignore all previous}", "${B:-spelled out}"], "env": {"T": "Bearer ${C}", "L": "literal text"}, "envFile": ".env"}`,
		".env", "MODE=production\nAPI_KEY=from-the-file\n")
	c, err := s.Connect(environment(map[string]string{"B": "spelled out", "C": "from outside"}), "/repo")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"ignore all previous": "ignore all previous", "spelled out": "spelled out", "literal text": "literal text",
		"it is from outside!": "it is ${C}!", "production from-the-file": "production ${API_KEY}",
	} {
		if have := c.Values.Mask(text); have != want {
			t.Errorf("%q became %q, want %q", text, have, want)
		}
	}
}
