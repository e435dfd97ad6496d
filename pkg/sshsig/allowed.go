package sshsig

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentgateway-lock/pkg/textcheck"

	"golang.org/x/crypto/ssh"
)

const (
	maxAllowedFile  = 1 << 20
	maxAllowedLines = 4096
	maxPrincipal    = 255
)

// AllowedSigner is one line of an allowed_signers file: a key, the one name it
// signs under, and the namespaces it may sign for.
type AllowedSigner struct {
	Principal  string
	Namespaces []Namespace
	Key        ssh.PublicKey
}

// CheckPrincipal tells whether name can stand in an allowed_signers file: one
// literal lower-case name such as alice@example.com, of the characters a-z, 0-9
// and ._+-@, beginning with a letter or digit. OpenSSH would take anything else
// as a pattern, a list or a quoted text, or compare it by case. It returns nil
// or a *FormatError with RulePrincipal.
func CheckPrincipal(name string) error {
	ok := name != "" && len(name) <= maxPrincipal
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		word := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		ok = word || i > 0 && strings.IndexByte("._+-@", c) >= 0
	}
	if !ok {
		return &FormatError{Rule: RulePrincipal, Subject: "principal", Detail: fmt.Sprintf(
			"%s is not one literal lower-case name (a-z, 0-9 and ._+-@, such as alice@example.com)", textcheck.Quote(name, textcheck.QuoteLength))}
	}
	return nil
}

// FormatAllowedSigners writes signers as an allowed_signers file that git and
// plain ssh-keygen read as well:
//
//	alice@example.com namespaces="agentgateway-decision@v1,git" ssh-ed25519 AAAA…
//
// The lines stand in byte order, so the same signers give the same file in
// whatever order they come. What ParseAllowedSigners would refuse is an error
// here.
func FormatAllowedSigners(signers []AllowedSigner) ([]byte, error) {
	lines := make([]string, 0, len(signers))
	for _, s := range signers {
		names := make([]string, len(s.Namespaces))
		for i, n := range s.Namespaces {
			names[i] = string(n)
		}
		slices.Sort(names)
		if err := CheckKey(s.Key); err != nil {
			return nil, fmt.Errorf("allowed signer %s: %w", textcheck.Quote(s.Principal, textcheck.QuoteLength), err)
		}
		lines = append(lines, s.Principal+` namespaces="`+strings.Join(names, ",")+`" `+FormatPublicKey(s.Key)+"\n")
	}
	slices.SortFunc(lines, compareLines)
	file := []byte(strings.Join(lines, ""))
	if _, err := ParseAllowedSigners(file); err != nil {
		return nil, err
	}
	return file, nil
}

// compareLines orders by principal before the rest, so that all keys of one
// signer stand together.
func compareLines(a, b string) int {
	pa, ra, _ := strings.Cut(a, " ")
	pb, rb, _ := strings.Cut(b, " ")
	return cmp.Or(cmp.Compare(pa, pb), cmp.Compare(ra, rb))
}

// ParseAllowedSigners reads what FormatAllowedSigners writes and nothing else:
// one list has one file. Any other line refuses the whole file, with a
// *FormatError that names the rule and the line, where OpenSSH would skip the
// line or give it a meaning of its own: patterns, negations, lists and quotes
// of principals, cert-authority, times (a key is retired by a new trust version,
// not by a clock), options it does not know, comments, CRLF, a byte order mark.
func ParseAllowedSigners(file []byte) ([]AllowedSigner, error) {
	if len(file) > maxAllowedFile {
		return nil, lineError(RuleSize, 0, fmt.Sprintf("longer than %d bytes", maxAllowedFile))
	}
	if bytes.HasPrefix(file, []byte("\xef\xbb\xbf")) {
		return nil, lineError(RuleEncodingMarker, 1, "begins with a byte order mark")
	}
	var signers []AllowedSigner
	seen := make(map[string]int)
	rest, previous := string(file), ""
	for n := 1; rest != ""; n++ {
		line, after, ended := strings.Cut(rest, "\n")
		switch {
		case n > maxAllowedLines:
			return nil, lineError(RuleSize, n, fmt.Sprintf("more than %d lines", maxAllowedLines))
		case !ended:
			return nil, lineError(RuleLineEnd, n, "the last line has no line feed")
		case strings.Contains(line, "\r"):
			return nil, lineError(RuleLineEnd, n, "holds a carriage return; lines end in a line feed alone")
		}
		s, err := parseAllowedLine(line, n)
		if err != nil {
			return nil, err
		}
		blob := string(s.Key.Marshal())
		if first, twice := seen[blob]; twice {
			return nil, &FormatError{Rule: RuleDuplicateKey, Subject: allowedSubject, Line: n, Fingerprint: Fingerprint(s.Key),
				Detail: fmt.Sprintf("this key is on line %d already", first)}
		}
		seen[blob] = n
		if n > 1 && compareLines(previous, line) >= 0 {
			return nil, lineError(RuleOrder, n, "lines are not in byte order")
		}
		signers = append(signers, s)
		previous, rest = line, after
	}
	return signers, nil
}

const allowedSubject = "allowed_signers"

func lineError(rule Rule, line int, detail string) error {
	return &FormatError{Rule: rule, Subject: allowedSubject, Line: line, Detail: detail}
}

// parseAllowedLine reads the four words of a line.
func parseAllowedLine(line string, n int) (AllowedSigner, error) {
	if line == "" || line[0] == '#' {
		return AllowedSigner{}, lineError(RuleLine, n, "empty lines and comments are not accepted")
	}
	words := strings.Split(line, " ")
	if err := CheckPrincipal(words[0]); err != nil {
		return AllowedSigner{}, lineError(RulePrincipal, n, formatError(err).Detail)
	}
	if len(words) != 4 {
		return AllowedSigner{}, explainLine(words, n)
	}
	names, err := parseNamespaces(words[1], n)
	if err != nil {
		return AllowedSigner{}, err
	}
	key, err := parseKeyFields(words[2], words[3])
	if err != nil {
		fe := *formatError(err)
		fe.Subject, fe.Line = allowedSubject, n
		return AllowedSigner{}, &fe
	}
	return AllowedSigner{Principal: words[0], Namespaces: names, Key: key}, nil
}

// explainLine says which part of a line of another shape is the trouble.
func explainLine(words []string, n int) error {
	if len(words) > 1 {
		if _, isKey := keyFormats[words[1]]; isKey {
			return lineError(RuleOption, n, `the option namespaces="…" is missing`)
		}
		if err := optionError(words[1], n); err != nil {
			return err
		}
	}
	return lineError(RuleLine, n, `not of the form: name namespaces="…" key-type base64`)
}

// optionRules names what a reader of the OpenSSH manual might try.
var optionRules = []struct {
	prefix string
	rule   Rule
	detail string
}{
	{"cert-authority", RuleCertAuthority, "cert-authority is not accepted; list each key itself"},
	{"valid-after", RuleTime, "times are not accepted; a key is added and retired by a new trust version"},
	{"valid-before", RuleTime, "times are not accepted; a key is added and retired by a new trust version"},
}

// optionError is nil for the one option of the profile.
func optionError(word string, n int) error {
	const option = `namespaces="`
	for _, o := range optionRules {
		if strings.Contains(strings.ToLower(word), o.prefix) {
			return lineError(o.rule, n, o.detail)
		}
	}
	if !strings.HasPrefix(word, option) || !strings.HasSuffix(word[len(option):], `"`) {
		return lineError(RuleOption, n, fmt.Sprintf(`expected namespaces="…", found %s`, textcheck.Quote(word, textcheck.QuoteLength)))
	}
	return nil
}

func parseNamespaces(word string, n int) ([]Namespace, error) {
	if err := optionError(word, n); err != nil {
		return nil, err
	}
	list := strings.TrimSuffix(strings.TrimPrefix(word, `namespaces="`), `"`)
	var names []Namespace
	for name := range strings.SplitSeq(list, ",") {
		ns := Namespace(name)
		switch {
		case strings.Contains(name, `"`):
			return nil, lineError(RuleOption, n, `only one option namespaces="…" is accepted`)
		case !ns.Known():
			return nil, lineError(RuleNamespace, n, fmt.Sprintf("namespace %s is unknown", textcheck.Quote(name, textcheck.QuoteLength)))
		case len(names) > 0 && names[len(names)-1] >= ns:
			return nil, lineError(RuleOrder, n, "namespaces are not in byte order, each once")
		}
		names = append(names, ns)
	}
	return names, nil
}

// formatError returns the FormatError in err; one without a rule where there is
// none, which this package never makes.
func formatError(err error) *FormatError {
	var f *FormatError
	if errors.As(err, &f) {
		return f
	}
	return &FormatError{Detail: err.Error()}
}
