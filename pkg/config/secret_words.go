package config

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

func hidden(n int) string { return fmt.Sprintf("[%d characters hidden]", n) }

func queryUnescape(s string) (string, bool) {
	out, err := url.QueryUnescape(s)
	return out, err == nil
}

// tokenForms are secrets that are known by how they are written. The last group of
// a form is the secret.
var tokenForms = sync.OnceValue(func() []tokenForm {
	return []tokenForm{
		{"a token of GitHub", "GITHUB_TOKEN", token(`gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}`)},
		{"a token of GitLab", "GITLAB_TOKEN", token(`gl(?:pat|dt|rt|ptt|cbt|oas)-[A-Za-z0-9_.-]{16,}`)},
		{"a key of a model's API", "API_KEY", token(`sk-[A-Za-z0-9_-]{16,}|(?:gsk|hf|nvapi|r8|xai|pplx|fw|tvly|fc|jina|ctx7sk|exa|csk|lsv2_pt|lsv2_sk)[_-][A-Za-z0-9_-]{16,}`)},
		{"a key of Stripe", "STRIPE_KEY", token(`(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}`)},
		{"a token of Slack", "SLACK_TOKEN", token(`xox[abcdeprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}`)},
		{"a webhook of Slack", "SLACK_WEBHOOK", regexp.MustCompile(`hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{16,})`)},
		{"a webhook of Discord", "DISCORD_WEBHOOK", regexp.MustCompile(`discord(?:app)?\.com/api/webhooks/([0-9]+/[A-Za-z0-9_-]{16,})`)},
		{"a key of AWS", "AWS_ACCESS_KEY_ID", token(`(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}`)},
		{"a key of Google", "GOOGLE_API_KEY", token(`AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}|GOCSPX-[A-Za-z0-9_-]{16,}`)},
		{"a token of npm", "NPM_TOKEN", token(`npm_[A-Za-z0-9]{30,}`)},
		{"a token of PyPI", "PYPI_TOKEN", token(`pypi-[A-Za-z0-9_-]{16,}`)},
		{"a token of Docker", "DOCKER_TOKEN", token(`dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}`)},
		{"a token of Atlassian", "ATLASSIAN_TOKEN", token(`AT[AC]TT3x[A-Za-z0-9_=-]{16,}`)},
		{"a token of Notion, Linear, Figma or Airtable", "API_TOKEN", token(`ntn_[A-Za-z0-9]{16,}|secret_[A-Za-z0-9]{32,}|lin_(?:api|oauth)_[A-Za-z0-9]{16,}|figd_[A-Za-z0-9_-]{16,}|pat[A-Za-z0-9]{14}\.[0-9a-f]{32,}`)},
		{"a token of a cloud service", "API_TOKEN", token(`do[opr]_v1_[0-9a-f]{32,}|sbp_[0-9a-f]{32,}|shp(?:at|ss|ca|pa)_[0-9a-fA-F]{16,}|hv[sbr]\.[A-Za-z0-9_-]{16,}|dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9_.-]{16,}|fo1_[A-Za-z0-9_-]{16,}|FlyV1 [A-Za-z0-9_,+/=-]{16,}|tskey-[A-Za-z0-9-]{16,}|ops_eyJ[A-Za-z0-9_-]{16,}|pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{16,}|EAAC[A-Za-z0-9]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|PMAK-[A-Za-z0-9-]{16,}|NRAK-[A-Z0-9]{16,}|key-[0-9a-f]{32}`)},
		{"a token of a monitoring service", "API_TOKEN", token(`gl(?:sa|c)_[A-Za-z0-9_=+/-]{16,}|sntry[su]_[A-Za-z0-9_=+/-]{16,}|ph[xc]_[A-Za-z0-9]{16,}|dd[ap]_[A-Za-z0-9]{16,}`)},
		{"a token of Telegram", "TELEGRAM_TOKEN", token(`[0-9]{8,10}:[A-Za-z0-9_-]{35}`)},
		{"a token of Discord", "DISCORD_TOKEN", token(`[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}`)},
		{"a signed token", "TOKEN", token(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)*`)},
		{"a private key", "PRIVATE_KEY", regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$))`)},
		{"a private key", "PRIVATE_KEY", token(`AGE-SECRET-KEY-1[A-Z0-9]{16,}`)},
		{"a credential after its scheme", "TOKEN", regexp.MustCompile(`\b(?i:bearer|basic)\s+([A-Za-z0-9_.~+/-]{8,}=*)`)},
		{"the password of an address", "PASSWORD", regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/@:\x00]*:([^\s/\x00]{8,})@`)},
		{"the password of an address", "PASSWORD", regexp.MustCompile(`\x00:([^\s/\x00]{8,})@`)},
	}
})

// tokenForm is a way to write a secret. It takes a while to compile them all, which
// only a run that reads configurations needs.
type tokenForm struct {
	what, variable string
	form           *regexp.Regexp
}

// token is the form of a token that does not go on to the left.
func token(form string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^A-Za-z0-9_])(` + form + `)`)
}

// nameClass is how much a name says about its value.
type nameClass int

const (
	noName     nameClass = iota
	weakName             // such as auth, which names a method too
	strongName           // its value is a secret
)

// The words of names. A name that ends in a word of beside speaks about a secret
// and is not given one; with a word of others before key it is another kind of key.
var (
	secretWords = []string{
		"token", "secret", "password", "passwd", "passphrase", "pwd", "pass", "key", "apikey", "accesskey", "secretkey", "privatekey",
		"apitoken", "accesstoken", "authtoken", "authkey", "authorization", "credential", "credentials", "bearer", "jwt", "pat", "cookie", "pgpassword",
	}
	weakWords = []string{"auth", "sig", "signature", "sid", "session"}
	beside    = []string{
		"file", "path", "dir", "folder", "url", "uri", "endpoint", "type", "kind", "env", "var", "variable", "header", "headers", "prefix", "suffix",
		"count", "limit", "length", "size", "ttl", "expiry", "expires", "expiration", "store", "provider", "manager", "format", "mode", "method",
		"algorithm", "alg", "vault", "command", "cmd", "helper", "budget", "window", "timeout", "usage", "cache", "name", "id", "issuer", "audience",
		"policy", "rotation", "required", "enabled", "location", "scope", "scopes", "source", "backend", "server", "host", "port", "region",
		"version", "field", "column", "arn", "project", "exchange", "storage", "ref",
	}
	otherKeys = []string{"public", "primary", "foreign", "partition", "sort", "project", "space", "issue", "idempotency", "hot", "cache", "routing", "object", "publishable", "file"}
)

// nameStrength judges a name by its whole words: --max-tokens speaks of no token,
// and --author of no auth.
func nameStrength(name string) nameClass {
	w := words(name)
	if len(w) == 0 || slices.Contains(beside, w[len(w)-1]) {
		return noName
	}
	class := noName
	for i, word := range w {
		switch {
		case word == "key" && i > 0 && slices.Contains(otherKeys, w[i-1]):
		case slices.Contains(secretWords, word):
			return strongName
		case slices.Contains(weakWords, word) && i == len(w)-1:
			class = weakName
		}
	}
	return class
}

// names reports whether a name says that its value names something.
func names(name string) bool {
	w := words(name)
	return len(w) > 0 && slices.Contains([]string{
		"id", "ids", "uuid", "guid", "commit", "rev", "revision", "sha", "digest", "hash", "checksum", "integrity", "project", "tenant", "workspace", "database", "ref",
	}, w[len(w)-1])
}

// words cuts a name at -, _, other marks and a change from lower to upper case.
func words(name string) []string {
	var out []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]) ||
			unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end()
		}
		word = append(word, r)
	}
	end()
	return out
}

// variableOf is a name as that of a variable.
func variableOf(name string) string {
	return strings.ToUpper(strings.Join(words(name), "_"))
}

// What a value with a telling name may be without being a secret.
var (
	numberForm  = regexp.MustCompile(`^[0-9][0-9.,:_]*[a-zA-Z]{0,2}$`)
	versionForm = regexp.MustCompile(`^[~^<>=v]*[0-9]+(?:\.[0-9]+)+(?:[-+.][0-9A-Za-z.-]+)?$`)
	pathForm    = regexp.MustCompile(`^(?:\.{0,2}[/\\]|~|[A-Za-z]:[/\\]|file:)`)
	addressForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	upperName   = regexp.MustCompile(`^\$?[A-Z]+(?:_[A-Z]+)+$`)
	placeholder = regexp.MustCompile(`^(?:<.*>|\[.*\]|\{.*\}|%.*%|[xX*.#?_-]+|(?i:(?:your|insert|enter|replace|paste)[-_ ][A-Za-z_ -]+|(?:change|replace)[-_ ]?me))$`)
	digestValue = regexp.MustCompile(`^sha(?:1|256|384|512)[:-][0-9A-Za-z+/=_-]+$`)
)

func ordinary(value string) bool {
	for _, form := range []*regexp.Regexp{numberForm, versionForm, pathForm, addressForm, upperName, placeholder, digestValue} {
		if form.MatchString(value) {
			return true
		}
	}
	if strings.HasPrefix(value, "-") && !strings.ContainsFunc(value, unicode.IsDigit) {
		return true // another option
	}
	// Words between slashes are a path.
	return strings.Contains(value, "/") && !slices.ContainsFunc(strings.Split(value, "/"), func(s string) bool { return len(s) >= 12 && generated(s) })
}

// generated reports whether a run looks made by a machine: kinds of characters
// alternate more often than in words, even in words written together, or letters
// follow each other as in no word.
func generated(s string) bool {
	var letters, digits, changes, pairs, mixed int
	for piece := range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		before := changes
		for i, r := range piece {
			if unicode.IsDigit(r) {
				digits++
			} else {
				letters++
			}
			if i == 0 {
				continue
			}
			last := rune(piece[i-1])
			pairs++
			if charClass(last) != charClass(r) && (!unicode.IsUpper(last) || !unicode.IsLower(r)) {
				changes++
			}
		}
		if changes > before {
			mixed += len(piece)
		}
	}
	if letters == 0 || letters+digits < minGenerated {
		return false
	}
	ratio := float64(changes) / float64(max(pairs, 1))
	switch {
	case mixed < minMixed:
	case digits > 0 && ratio >= 0.25, digits == 0 && ratio >= 0.3:
		return true
	case digits > 2 && ratio >= 0.15 && entropy(s) >= 4:
		return true
	}
	return unspeakable(s)
}

// A generated run has this many letters and digits, and this many of them in
// pieces that mix kinds: the names of pods and builds end in shorter ones.
const (
	minGenerated = 20
	minMixed     = 14
)

func charClass(r rune) int {
	switch {
	case unicode.IsDigit(r):
		return 0
	case unicode.IsUpper(r):
		return 1
	}
	return 2
}

// entropy is that of the characters of a text, in bits each.
func entropy(s string) float64 {
	counts := map[rune]int{}
	for _, r := range s {
		counts[r]++
	}
	sum := 0.0
	for _, n := range counts {
		p := float64(n) / float64(len(s))
		sum -= p * math.Log2(p)
	}
	return sum
}

// unspeakable reports whether much of a text is five consonants or more in a row.
func unspeakable(s string) bool {
	in, length := 0, 0
	for _, r := range strings.ToLower(s) + " " {
		if unicode.IsLetter(r) && !strings.ContainsRune("aeiouy", r) {
			length++
			continue
		}
		if length >= 5 {
			in += length
		}
		length = 0
	}
	return in*5 >= len(s)*2
}
