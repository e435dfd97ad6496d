package config

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// minHidden is the length in bytes from which the value of a variable is hidden:
// shorter ones are words and numbers that occur everywhere.
const minHidden = 8

// Values are the values that variables of the environment had when a source was
// expanded. They are taken out of what is shown, in whatever of their usual
// spellings: as they are, escaped for a URL, for JSON or for Go, and in base64,
// alone or within a longer text. A nil *Values has none.
type Values struct {
	forms []valueForm // longest first
}

type valueForm struct{ text, name string }

// NewValues returns the values of variables, by their names. Those under 8 bytes
// are passed over.
func NewValues(variables map[string]string) *Values {
	v := &Values{}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		for _, text := range spellings(variables[name]) {
			if len(text) >= minHidden && !seen[text] {
				seen[text] = true
				v.forms = append(v.forms, valueForm{text, name})
			}
		}
	}
	if len(v.forms) == 0 {
		return nil
	}
	slices.SortStableFunc(v.forms, func(a, b valueForm) int { return len(b.text) - len(a.text) })
	return v
}

// In reports whether a text holds one of the values.
func (v *Values) In(text []byte) bool {
	return v != nil && slices.ContainsFunc(v.forms, func(f valueForm) bool { return bytes.Contains(text, []byte(f.text)) })
}

// Mask returns a text with ${NAME} in place of the values. Of a value that is cut
// off, at the end of the text or before an ellipsis, what is left is replaced too.
func (v *Values) Mask(text string) string {
	if v == nil || len(text) < minHidden {
		return text
	}
	pieces := strings.SplitAfter(text, "…")
	for i, piece := range pieces {
		body, end := piece, ""
		if i < len(pieces)-1 {
			body, end = strings.TrimSuffix(piece, "…"), "…"
		}
		pieces[i] = v.maskEnd(body) + end
	}
	text = strings.Join(pieces, "")
	for _, f := range v.forms {
		if strings.Contains(text, f.text) {
			text = strings.ReplaceAll(text, f.text, "${"+f.name+"}")
		}
	}
	return text
}

// maskEnd replaces the start of a value at the end of a text.
func (v *Values) maskEnd(text string) string {
	longest, name := 0, ""
	for _, f := range v.forms {
		if n := overlap(text, f.text); n > longest {
			longest, name = n, f.name
		}
	}
	if longest == 0 {
		return text
	}
	return text[:len(text)-longest] + "${" + name + "}"
}

// overlap is the length of the longest start of value with which text ends.
func overlap(text, value string) int {
	for n := min(len(text), len(value)-1); n >= minHidden; n-- {
		if strings.HasSuffix(text, value[:n]) {
			return n
		}
	}
	return 0
}

// spellings are the texts in which a value can come back.
func spellings(value string) []string {
	plain := []string{value, strings.TrimSpace(value)}
	if lines := strings.Fields(value); len(lines) > 1 {
		for _, line := range lines {
			if len(line) >= 2*minHidden {
				plain = append(plain, line)
			}
		}
	}
	var all []string
	for _, s := range plain {
		if len(s) < minHidden {
			continue
		}
		all = append(all, s)
		for _, escaped := range []string{url.QueryEscape(s), url.PathEscape(s), percent(s)} {
			all = append(all, escaped, lowerPercent(escaped))
		}
		all = append(all, base64Spellings(s)...)
	}
	for _, s := range slices.Clone(all) {
		// JSON within JSON is escaped twice.
		once := jsonText(s)
		all = append(all, once, jsonText(once), quotedText(s), quotedText(once))
	}
	return all
}

// percent escapes all but letters, digits and - _ . ~, as encodeURIComponent does
// but for a few marks.
func percent(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// lowerPercent has the digits of %XX in lower case.
func lowerPercent(s string) string {
	out := []byte(s)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:], bytes.ToLower(out[i+1:i+3]))
			i += 2
		}
	}
	return string(out)
}

// base64Spellings are what of a value is the same wherever it is in a text that is
// encoded as a whole.
func base64Spellings(s string) []string {
	var all []string
	for before := range 3 {
		encoded := base64.StdEncoding.EncodeToString(append(make([]byte, before), s...))
		encoded = encoded[[]int{0, 2, 3}[before]:]
		if (before+len(s))%3 != 0 {
			encoded = strings.TrimRight(encoded, "=")
			encoded = encoded[:len(encoded)-1] // it holds bits of what follows
		}
		all = append(all, encoded, strings.NewReplacer("+", "-", "/", "_").Replace(encoded), url.QueryEscape(encoded))
	}
	return all
}

// jsonText is a text as it is within the quotes of JSON, without what a browser
// would have escaped.
func jsonText(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}

func quotedText(s string) string {
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}
