package config

import (
	"net/url"
	"regexp"
	"strings"
)

// secretWords are the words by which a name gives away that its value is secret.
var secretWords = []string{"key", "token", "secret", "password", "auth", "sig"}

func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// A long run of letters and digits is how generated secrets look; words, paths and
// addresses have other characters in between.
var (
	longRun  = regexp.MustCompile(`[A-Za-z0-9_\-]{20,}`)
	shortRun = regexp.MustCompile(`^[A-Za-z0-9_\-+=!@#%^&*]{6,}$`)
	digit    = regexp.MustCompile(`[0-9]`)
	letter   = regexp.MustCompile(`[A-Za-z]`)
)

// holdsSecret says why the literal text of a template looks like a secret, or "".
func (t template) holdsSecret() string {
	for _, p := range t {
		if p.ref == nil {
			if looksGenerated(p.literal) {
				return "the text beside a reference looks like a secret"
			}
			continue
		}
		d := p.ref.fallback
		if looksGenerated(d) || secretName(p.ref.variable) && shortRun.MatchString(d) && digit.MatchString(d) {
			return "the default of ${" + p.ref.variable + "} looks like a secret"
		}
	}
	return ""
}

func looksGenerated(s string) bool {
	for _, run := range longRun.FindAllString(s, -1) {
		if digit.MatchString(run) && letter.MatchString(run) {
			return true
		}
	}
	return false
}

// referenceMark stands for references while a URL is taken apart: it is no
// character that divides one.
const referenceMark = "\uE000"

// judgeURL says what is wrong with a URL: that it is none, or that it holds a
// secret.
func judgeURL(t template) (problem, secret string) {
	var b strings.Builder
	for _, p := range t {
		if p.ref != nil {
			b.WriteString(referenceMark)
		} else {
			b.WriteString(p.literal)
		}
	}
	raw := b.String()
	scheme, rest, ok := strings.Cut(raw, "://")
	switch {
	case strings.HasPrefix(raw, referenceMark):
		// The variable holds the scheme, or the whole address.
		if ok {
			break
		}
		rest = strings.TrimPrefix(raw, referenceMark)
	case !ok:
		return "the url is not absolute: it starts with http:// or https://", ""
	case strings.ToLower(scheme) != "http" && strings.ToLower(scheme) != "https":
		return "the url is of another kind than http and https", ""
	}
	host := rest
	if i := strings.IndexAny(rest, "/?#\\"); i >= 0 {
		host = rest[:i]
	}
	if ok && host == "" {
		return "the url names no host", ""
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		if strings.Trim(host[:i], ":"+referenceMark) != "" {
			return "", "the url holds a user name or password"
		}
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "the url holds a space or control character", ""
	}
	return "", secretQuery(raw)
}

// secretQuery says which query member of a URL holds a literal secret, or "". What
// comes after # is judged alike: some servers read it.
func secretQuery(raw string) string {
	i := strings.IndexAny(raw, "?#")
	if i < 0 {
		return ""
	}
	for _, pair := range strings.FieldsFunc(raw[i:], func(r rune) bool { return strings.ContainsRune("?#&;", r) }) {
		name, value, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		if secretName(name) && value != "" && !strings.Contains(value, referenceMark) {
			return "the url holds a literal value for " + name
		}
	}
	return ""
}

// holdsSecretDefault is holdsSecret for a text whose literal part is judged by
// other rules.
func (t template) holdsSecretDefault() string {
	for _, p := range t {
		if p.ref != nil {
			if why := (template{p}).holdsSecret(); why != "" {
				return why
			}
		}
	}
	return ""
}
