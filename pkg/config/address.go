package config

import "strings"

// referenceMark stands for references while a URL is taken apart: it is no
// character that divides one.
const referenceMark = "\uE000"

// judgeURL says what is wrong with a URL, or "".
func judgeURL(t template) string {
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
		return "the url is not absolute: it starts with http:// or https://"
	case strings.ToLower(scheme) != "http" && strings.ToLower(scheme) != "https":
		return "the url is of another kind than http and https"
	}
	host := rest
	if i := strings.IndexAny(rest, "/?#\\"); i >= 0 {
		host = rest[:i]
	}
	if ok && host == "" {
		return "the url names no host"
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 && strings.Trim(host[:i], ":"+referenceMark) != "" {
		return "the url holds a user name or password, which clients do not send: use a header"
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "the url holds a space or control character"
	}
	return ""
}
