package config

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// minSecret is the shortest value that is taken for a secret, in bytes.
const minSecret = 8

// A run is a stretch of a text that looks like a secret, in bytes from start to
// end.
type run struct {
	start, end int
	// what says what it looks like, as in "a token of GitHub".
	what string
	// variable is a good name for the variable to put in its place; it may be a
	// single word that says little, such as TOKEN.
	variable string
	// note holds for a run that is part of an address and may open it: it is said
	// and not refused.
	note bool
}

// findRuns returns the runs of a text of a source that look like secrets, in
// order and apart from each other. References, as in ${VAR}, are none; the default
// of one is a literal like any other. The name is what the value is given to: that
// of a variable, a header, or the option before it; it may be empty.
func findRuns(name, text string) []run {
	f := runFinder{text: []byte(text)}
	f.references(text)
	f.named(name)
	f.forms()
	f.pairs()
	f.random(name)
	return f.merged()
}

// mask returns a text with its runs replaced by their lengths.
func mask(text string, runs []run) string {
	return replaceRuns(text, runs, func(r run) string { return hidden(r.end - r.start) })
}

// replaceRuns puts other words in place of the runs of a text that are no notes.
func replaceRuns(text string, runs []run, with func(run) string) string {
	var b strings.Builder
	at := 0
	for _, r := range runs {
		if !r.note {
			b.WriteString(text[at:r.start] + with(r))
			at = r.end
		}
	}
	return b.String() + text[at:]
}

// runFinder looks for runs in one text, where zero bytes stand for references.
type runFinder struct {
	text  []byte
	found []run
}

func (f *runFinder) add(start, end int, what, variable string) {
	if end-start >= minSecret && !slices.Contains(f.text[start:end], 0) {
		f.found = append(f.found, run{start: start, end: end, what: what, variable: variable})
	}
}

// referenceSpan is a reference as it stands in a source, with its name and
// default.
var referenceSpan = regexp.MustCompile(`\$\{([^${}]*?)(?::-([^{}]*))?\}`)

// references takes the references out of the text and judges their defaults.
func (f *runFinder) references(text string) {
	for _, m := range referenceSpan.FindAllStringSubmatchIndex(text, -1) {
		if m[4] >= 0 {
			for _, r := range findRuns(text[m[2]:m[3]], text[m[4]:m[5]]) {
				r.start, r.end = r.start+m[4], r.end+m[4]
				r.what = "the default of ${" + text[m[2]:m[3]] + "}"
				r.variable = text[m[2]:m[3]]
				f.found = append(f.found, r)
			}
		}
		clear(f.text[m[0]:m[1]])
	}
}

// named judges the text as the value of a name.
func (f *runFinder) named(name string) {
	strength := nameStrength(name)
	if strings.EqualFold(name, "authorization") || strings.EqualFold(name, "proxy-authorization") {
		strength = strongName
	}
	f.userAndPassword(name)
	if strength == noName {
		return
	}
	for _, part := range parts(f.text) {
		start, end := part[0], part[1]
		if m := scheme.FindIndex(f.text[start:end]); m != nil {
			start += m[1]
		}
		f.value(start, end, "the value of "+name, name, strength)
	}
}

// scheme is the word before a credential in a header.
var scheme = regexp.MustCompile(`^(?i)(?:bearer|basic|digest|token|api-?key)\s+`)

// parts are what stands between references, without quotes and spaces around.
func parts(text []byte) [][2]int {
	var out [][2]int
	for start := 0; start < len(text); {
		end := start
		for end < len(text) && text[end] != 0 {
			end++
		}
		from, to := start, end
		for from < to && strings.IndexByte(" \t\"'", text[from]) >= 0 {
			from++
		}
		for to > from && strings.IndexByte(" \t\"'", text[to-1]) >= 0 {
			to--
		}
		if from < to {
			out = append(out, [2]int{from, to})
		}
		start = end + 1
	}
	return out
}

// value judges what is given to a name that speaks of secrets.
func (f *runFinder) value(start, end int, what, name string, strength nameClass) {
	value := string(f.text[start:end])
	if ordinary(value) || strength == weakName && !strings.ContainsFunc(value, unicode.IsDigit) {
		return
	}
	f.add(start, end, what, variableOf(name))
}

// userAndPassword judges the value of an option such as -u as name:password.
func (f *runFinder) userAndPassword(name string) {
	if name != "-u" && name != "--user" && name != "--userpwd" && name != "--proxy-user" {
		return
	}
	i := bytes.IndexByte(f.text, ':')
	if i > 0 && !ordinary(string(f.text[i+1:])) && !strings.Contains(string(f.text[i:]), "/") {
		f.add(i+1, len(f.text), "the password given to "+name, "PASSWORD")
	}
}

// forms finds what is a secret by its form, wherever it stands.
func (f *runFinder) forms() {
	for _, t := range tokenForms() {
		for _, m := range t.form.FindAllSubmatchIndex(f.text, -1) {
			group := m[len(m)-2:]
			f.add(group[0], group[1], t.what, t.variable)
		}
	}
}

// A pair is a name and a value in one word: --name=value, NAME=value, "Name: value",
// ?name=value, {"name": "value"}, or two words of a command that is given as one.
var pair = regexp.MustCompile(`([A-Za-z%][A-Za-z0-9_.%-]*)["']?(?:\s*[=:]\s*|\s+)["']?((?i:(?:bearer|basic|token|api-?key)\s+)?)([^\s"';,|<>{}()\[\]\x00]+)`)

// pairs judges names and values that stand in one word.
func (f *runFinder) pairs() {
	for at := 0; at < len(f.text); {
		m := pair.FindSubmatchIndex(f.text[at:])
		if m == nil {
			return
		}
		for i := range m {
			m[i] += at
		}
		name := string(f.text[m[2]:m[3]])
		between := string(f.text[m[3]:m[6]])
		if decoded, ok := unescape(name); ok {
			name = decoded
		}
		strength := nameStrength(name)
		// Words that only stand beside each other are a name and a value where the
		// first is an option.
		option := m[2] > 0 && f.text[m[2]-1] == '-'
		if strength != noName && (strings.ContainsAny(between, "=:") || option) && !strings.HasPrefix(string(f.text[m[6]:m[7]]), "//") {
			end := m[7]
			if i := bytes.IndexByte(f.text[m[6]:end], '&'); i >= 0 && bytes.ContainsAny(f.text[:m[2]], "?#&") {
				end = m[6] + i // the next member of a query
			} else if strings.Trim(string(f.text[:m[2]]), "-") == "" && !bytes.ContainsAny(f.text[m[6]:], " \x00") {
				end = len(f.text) // one word, so all of it is the value
			}
			f.value(m[6], end, "the value of "+name, name, strength)
			at = end
			continue
		}
		at = m[3]
	}
}

// unescape reads a name of a query, whose letters may be written as %XX.
func unescape(name string) (string, bool) {
	if !strings.Contains(name, "%") {
		return name, true
	}
	return queryUnescape(name)
}

// longRun is what a generated text is looked for in: it is cut at what divides
// words, paths and addresses.
var longRun = regexp.MustCompile(`[A-Za-z0-9_+~-]{20,}={0,2}`)

// random finds what looks generated.
func (f *runFinder) random(name string) {
	address := addressPath.FindAllIndex(f.text, -1)
	for _, m := range longRun.FindAllIndex(f.text, -1) {
		text := string(f.text[m[0]:m[1]])
		inPath := slices.ContainsFunc(address, func(a []int) bool { return m[0] >= a[0] && m[1] <= a[1] })
		switch {
		case pinned(string(f.text[:m[0]]), text):
		case inPath && (generated(text) || uuid.MatchString(text)):
			f.found = append(f.found, run{start: m[0], end: m[1], what: "a long run in an address", note: true})
		case uuid.MatchString(text), names(name) || names(nameBefore(f.text[:m[0]])), !generated(text):
		default:
			start, end := m[0], m[1]
			for start > 0 && f.text[start-1] != '=' && base64Mark(f.text[start-1]) {
				start--
			}
			for end < len(f.text) && base64Mark(f.text[end]) {
				end++
			}
			f.add(start, end, "what looks like a generated key", "SECRET")
		}
	}
}

// base64Mark reports a character of base64, which holds slashes.
func base64Mark(c byte) bool {
	return c == '+' || c == '/' || c == '=' || c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// addressPath is the host and path of an address, up to a query or fragment.
var addressPath = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^?#\s"']*`)

// uuid is a run that holds a UUID and little else.
var uuid = regexp.MustCompile(`^(?i)(?:[a-z]{0,12}[-_])?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// Where the digest of a version is given: after @, #, sha256: and the like, and in
// the paths and queries that lead to a commit.
var (
	digestForm   = regexp.MustCompile(`^(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$`)
	pinBefore    = regexp.MustCompile(`(?i)(?:[@#]|sha(?:1|256|384|512)[:=-]|(?:^|[^a-z])(?:rev|ref|refs|commit|sha|tag|checksum|digest|integrity|hash)[=:/ ]|/(?:commit|tree|blob|raw|archive)/|--hash=|(?:github|githubusercontent|gitlab)\.[^\s?#]*/)$`)
	digestPrefix = regexp.MustCompile(`^sha(?:-[0-9a-f]{40}$|1-|256-|384-|512-)`)
	goVersion    = regexp.MustCompile(`^\d+-(?:[a-z0-9]+\.)?\d{14}-[0-9a-f]{12}$`)
)

func pinned(before, text string) bool {
	return digestPrefix.MatchString(text) ||
		digestForm.MatchString(text) && pinBefore.MatchString(before) || goVersion.MatchString(text)
}

// nameBefore is the name that stands before a value in one word, or "".
func nameBefore(before []byte) string {
	m := endsInName.FindSubmatch(before)
	if m == nil {
		return ""
	}
	return string(m[1])
}

var endsInName = regexp.MustCompile(`([A-Za-z][A-Za-z0-9_.-]*)\s*[=:]\s*["']?$`)

// merged returns what was found, in order, with what overlaps made one.
func (f *runFinder) merged() []run {
	slices.SortStableFunc(f.found, func(a, b run) int { return a.start - b.start })
	var out []run
	for _, r := range f.found {
		if n := len(out); n > 0 && r.start < out[n-1].end {
			last := &out[n-1]
			if last.note && !r.note {
				last.what, last.variable, last.note = r.what, r.variable, false
				last.start, last.end = r.start, r.end
			} else if !r.note {
				last.end = max(last.end, r.end)
			}
			continue
		}
		out = append(out, r)
	}
	return out
}
