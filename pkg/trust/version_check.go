package trust

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/textcheck"
)

// Check holds what one version can say of itself: sorted lists, literal names,
// keys that are accepted and listed once, and thresholds that the listed persons
// can meet. The error is a [*FormatError].
func (s *Signed) Check() error {
	if first := s.Version == 1; first != s.Previous.IsZero() || s.Version < 1 || s.Version > MaxVersions {
		return s.fail(RuleValue, "signed.previous", "version 1 has no previous version, and every other one names it")
	}
	if s.Repository.IsZero() {
		return s.fail(RuleValue, "signed.repository", "the repository has no number")
	}
	if len(s.Signers) == 0 || len(s.Signers) > MaxSigners {
		return s.fail(RuleValue, "signed.signers", "a version lists 1 to %d signers, not %d", MaxSigners, len(s.Signers))
	}
	keys := map[string]string{}
	for i := range s.Signers {
		path := fmt.Sprintf("signed.signers[%d]", i)
		if i > 0 && s.Signers[i-1].Principal >= s.Signers[i].Principal {
			return s.fail(RuleOrder, path+".principal", "the signers are not sorted by principal, or one is there twice")
		}
		if err := s.checkSigner(path, &s.Signers[i], keys); err != nil {
			return err
		}
	}
	if err := s.checkPersons(); err != nil {
		return err
	}
	if err := s.checkEmails(); err != nil {
		return err
	}
	if err := s.checkThresholds(); err != nil {
		return err
	}
	if !ascending(s.Stands, compareDigests) || len(s.Stands) > MaxStands {
		return s.fail(RuleOrder, "signed.stands", "the list is not sorted, holds something twice, or has more than %d entries", MaxStands)
	}
	if s.Rules.MaxAge < 0 || s.Rules.MaxAge > maxTime {
		return s.fail(RuleValue, "signed.rules.maxAge", "%d seconds is not an age", s.Rules.MaxAge)
	}
	return s.checkCheckpoint()
}

// ascending reports a list that is sorted and holds nothing twice.
func ascending[E any](list []E, order func(a, b E) int) bool {
	for i := 1; i < len(list); i++ {
		if order(list[i-1], list[i]) >= 0 {
			return false
		}
	}
	return true
}

func (s *Signed) checkSigner(path string, signer *Signer, keys map[string]string) error {
	if err := sshsig.CheckPrincipal(signer.Principal); err != nil {
		return s.fail(RulePrincipal, path+".principal", "%s is not one literal lower-case name (a-z, 0-9 and ._+-@, such as alice@example.com)", textcheck.Quote(signer.Principal, textcheck.QuoteLength))
	}
	if err := checkPerson(signer.Person); err != nil {
		return s.fail(RulePerson, path+".person", "%v", err)
	}
	if len(signer.Keys) == 0 || len(signer.Keys) > MaxKeys || !ascending(signer.Keys, cmp.Compare) {
		return s.fail(RuleOrder, path+".keys", "a signer has 1 to %d keys, sorted, each once", MaxKeys)
	}
	for i, text := range signer.Keys {
		path := fmt.Sprintf("%s.keys[%d]", path, i)
		key, _, err := sshsig.ParsePublicKey([]byte(text))
		if err != nil {
			return &FormatError{Subject: versionSubject, Rule: RuleKey, Path: path, Detail: err.Error(), Err: err}
		}
		if sshsig.FormatPublicKey(key) != text {
			return s.fail(RuleKey, path, "a key is written as its type and base64, without a comment")
		}
		if first, twice := keys[text]; twice {
			return s.fail(RuleDuplicate, path, "the key %s is listed for %s already", sshsig.Fingerprint(key), first)
		}
		keys[text] = signer.Principal
	}
	if len(signer.Roles) == 0 || !ascending(signer.Roles, cmp.Compare) {
		return s.fail(RuleRole, path+".roles", "a signer has one role or more, sorted, each once")
	}
	for _, role := range signer.Roles {
		if role != Admin && role != Approver && role != Deployer {
			return s.fail(RuleRole, path+".roles", "%s is not a role; the roles are admin, approver, deployer", textcheck.Quote(string(role), textcheck.QuoteLength))
		}
	}
	if len(signer.Servers) > MaxPatterns || !ascending(signer.Servers, cmp.Compare) {
		return s.fail(RuleOrder, path+".servers", "a signer has at most %d patterns, sorted, each once", MaxPatterns)
	}
	for i, pattern := range signer.Servers {
		if pattern == "" || len(pattern) > maxName || strings.Contains(pattern, "**") {
			return s.fail(RulePattern, fmt.Sprintf("%s.servers[%d]", path, i), "%s is not a pattern: a name in which * means any characters", textcheck.Quote(pattern, textcheck.QuoteLength))
		}
	}
	return nil
}

// checkPerson holds that a person's name can be told from another by looking.
func checkPerson(name string) error {
	if name == "" || len(name) > maxName || strings.TrimSpace(name) != name {
		return fmt.Errorf("%s is not the name of a person: 1 to %d bytes, without spaces around it", textcheck.Quote(name, textcheck.QuoteLength), maxName)
	}
	if strings.ContainsFunc(name, textcheck.Invisible) {
		return fmt.Errorf("%s holds characters that a reader cannot see", textcheck.Quote(name, textcheck.QuoteLength))
	}
	return nil
}

// checkPersons refuses two persons whose names look alike: one person would count
// twice.
func (s *Signed) checkPersons() error {
	names := slices.Collect(func(yield func(string) bool) {
		for i := range s.Signers {
			if !yield(s.Signers[i].Person) {
				return
			}
		}
	})
	slices.Sort(names)
	names = slices.Compact(names)
	for _, group := range textcheck.ConfusableNames(names) {
		return s.fail(RulePerson, "signed.signers", "the persons %s and %s look alike", textcheck.Quote(names[group[0]], textcheck.QuoteLength), textcheck.Quote(names[group[1]], textcheck.QuoteLength))
	}
	return nil
}

// checkEmails holds that an email is one that a commit can bear, and means one
// person: whoever it names is barred from approving.
func (s *Signed) checkEmails() error {
	owner := map[string]string{}
	for i := range s.Signers {
		owner[PlainEmail(s.Signers[i].Principal)] = s.Signers[i].Person
	}
	for i := range s.Signers {
		signer := &s.Signers[i]
		path := fmt.Sprintf("signed.signers[%d].emails", i)
		if len(signer.Emails) > MaxEmails || !ascending(signer.Emails, cmp.Compare) {
			return s.fail(RuleOrder, path, "a signer has at most %d emails, sorted, each once", MaxEmails)
		}
		for k, email := range signer.Emails {
			path := fmt.Sprintf("%s[%d]", path, k)
			if !isEmail(email) {
				return s.fail(RuleEmail, path, "%s is not an email in lower case, such as alice@example.com", textcheck.Quote(email, textcheck.QuoteLength))
			}
			plain := PlainEmail(email)
			if person, there := owner[plain]; there && person != signer.Person {
				return s.fail(RuleDuplicate, path, "the email %s is that of %s already", textcheck.Quote(email, textcheck.QuoteLength), textcheck.Quote(person, textcheck.QuoteLength))
			}
			owner[plain] = signer.Person
		}
	}
	return nil
}

// isEmail reports an email as a commit can bear it, in the one spelling of a list.
func isEmail(email string) bool {
	local, domain, ok := strings.Cut(email, "@")
	odd := func(r rune) bool { return r == '<' || r == '>' || unicode.IsSpace(r) || textcheck.Invisible(r) }
	return ok && local != "" && domain != "" && !strings.Contains(domain, "@") && len(email) <= maxName &&
		!strings.ContainsFunc(email, odd) && strings.ToLower(email) == email
}

// PlainEmail is the spelling by which emails are compared: lower case, and of
// GitHub's two forms of a noreply address, ID+LOGIN@ and LOGIN@, the second.
func PlainEmail(email string) string {
	email = strings.ToLower(email)
	local, domain, _ := strings.Cut(email, "@")
	if id, login, ok := strings.Cut(local, "+"); ok && domain == "users.noreply.github.com" && id != "" && strings.Trim(id, "0123456789") == "" {
		return login + "@" + domain
	}
	return email
}

// Persons counts the different persons that have a role.
func (s *Signed) Persons(role Role) int {
	seen := map[string]bool{}
	for i := range s.Signers {
		if s.Signers[i].Has(role) {
			seen[s.Signers[i].Person] = true
		}
	}
	return len(seen)
}

func (s *Signed) checkThresholds() error {
	for _, t := range []struct {
		name string
		n    int
		role Role
	}{
		{"approve", s.Thresholds.Approve, Approver},
		{"critical", s.Thresholds.Critical, Approver},
		{"admin", s.Thresholds.Admin, Admin},
	} {
		if have := s.Persons(t.role); t.n < 1 || t.n > have {
			return s.fail(RuleThreshold, "signed.thresholds."+t.name,
				"the threshold is %d, and must be from 1 to the number of different persons with the role %s, which is %d", t.n, t.role, have)
		}
	}
	return nil
}

func (s *Signed) checkCheckpoint() error {
	c := s.Checkpoint
	if c == nil {
		return nil
	}
	if !isCommit(c.Commit) {
		return s.fail(RuleValue, "signed.checkpoint.commit", "%s is not the full id of a commit", textcheck.Quote(c.Commit, textcheck.QuoteLength))
	}
	if c.Lockfile.IsZero() || c.Reason == "" || len(c.Reason) > maxReason {
		return s.fail(RuleValue, "signed.checkpoint", "a checkpoint names the digest of the lockfile and a reason of at most %d bytes", maxReason)
	}
	return nil
}

// matchPattern reports whether name is what pattern says, in which * stands for
// any characters, also none.
func matchPattern(pattern, name string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		_, after, found := strings.Cut(name, part)
		if !found {
			return false
		}
		name = after
	}
	return strings.HasSuffix(name, last)
}

// allows reports whether the signer's patterns allow the server and its target.
func (s *Signer) allows(server, target string) bool {
	return len(s.Servers) == 0 || s.matches(server) && s.matches(target)
}

func (s *Signer) matches(name string) bool {
	return slices.ContainsFunc(s.Servers, func(pattern string) bool { return matchPattern(pattern, name) })
}

// AllowedSigners returns the allowed_signers file that git and ssh-keygen check
// signatures of the listed persons with: each key for git, and for what the roles
// of its signer are about.
func (s *Signed) AllowedSigners() ([]byte, error) {
	namespaces := map[Role]sshsig.Namespace{Admin: sshsig.NamespaceTrust, Approver: sshsig.NamespaceDecision, Deployer: sshsig.NamespaceLock}
	var list []sshsig.AllowedSigner
	for i := range s.Signers {
		signer := &s.Signers[i]
		names := []sshsig.Namespace{sshsig.NamespaceGit}
		for _, role := range signer.Roles {
			names = append(names, namespaces[role])
		}
		for _, text := range signer.Keys {
			key, _, err := sshsig.ParsePublicKey([]byte(text))
			if err != nil {
				return nil, err
			}
			list = append(list, sshsig.AllowedSigner{Principal: signer.Principal, Namespaces: names, Key: key})
		}
	}
	return sshsig.FormatAllowedSigners(list)
}
