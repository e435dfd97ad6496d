package sshsig_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"agentgateway-lock/pkg/sshsig"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
)

const decisionOnly = `namespaces="agentgateway-decision@v1"`

func TestAllowedSignersRoundTrip(t *testing.T) {
	a, b, c := newEd25519(t).pub, newECDSA(t).pub, newSKEd25519(t, 1).pub
	signers := []sshsig.AllowedSigner{
		{Principal: "bob", Namespaces: []sshsig.Namespace{sshsig.NamespaceGit, sshsig.NamespaceDecision}, Key: b},
		{Principal: "alice@example.com", Namespaces: []sshsig.Namespace{sshsig.NamespaceTrust}, Key: c},
		{Principal: "alice@example.com", Namespaces: []sshsig.Namespace{sshsig.NamespaceDecision}, Key: a},
	}
	file, err := sshsig.FormatAllowedSigners(signers)
	if err != nil {
		t.Fatal(err)
	}
	want := `alice@example.com namespaces="agentgateway-decision@v1" ` + line(a) + "\n" +
		`alice@example.com namespaces="agentgateway-trust@v1" ` + line(c) + "\n" +
		`bob namespaces="agentgateway-decision@v1,git" ` + line(b) + "\n"
	if diff := cmp.Diff(want, string(file)); diff != "" {
		t.Error(diff)
	}
	signers[0], signers[2] = signers[2], signers[0]
	again, err := sshsig.FormatAllowedSigners(signers)
	if err != nil || !bytes.Equal(again, file) {
		t.Errorf("another order gives another file: %v\n%s", err, again)
	}
	read, err := sshsig.ParseAllowedSigners(file)
	if err != nil {
		t.Fatal(err)
	}
	again, err = sshsig.FormatAllowedSigners(read)
	if err != nil || !bytes.Equal(again, file) {
		t.Errorf("the file does not come back: %v\n%s", err, again)
	}
	if empty, err := sshsig.FormatAllowedSigners(nil); err != nil || len(empty) != 0 {
		t.Errorf("nobody: %q, %v", empty, err)
	}
}

// line is a key as a .pub file has it, by x/crypto's own writer.
func line(key ssh.PublicKey) string {
	return strings.TrimSuffix(string(ssh.MarshalAuthorizedKey(key)), "\n")
}

// Attacks 9, 10 and 11: each line means something else to ssh-keygen than it
// seems to, or is silently skipped by it. lax tells what ssh-keygen 9.2 makes of
// a signature by the key for alice@example.com.
func TestAttacks09To11AllowedSigners(t *testing.T) {
	signer := newEd25519(t)
	k := line(signer.pub)
	other := line(newECDSA(t).pub)
	good := "alice@example.com " + decisionOnly + " " + k + "\n"
	blob := strings.Fields(k)[1]
	cert := certificate(t)
	const (
		accepts = true
		refuses = false
	)
	sig := mustSign(t, signer, sshsig.NamespaceDecision, message)
	for _, c := range []struct {
		name, file string
		rule       sshsig.Rule
		line       int
		lax        bool
	}{
		{"good", good, "", 0, accepts},
		{"valid-after without Z", "alice@example.com " + decisionOnly + `,valid-after="20200101" ` + k + "\n", sshsig.RuleTime, 1, accepts},
		{"valid-before with Z", "alice@example.com " + decisionOnly + `,valid-before="29990101Z" ` + k + "\n", sshsig.RuleTime, 1, accepts},
		{"VALID-AFTER", "alice@example.com VALID-AFTER=\"20200101\"," + decisionOnly + " " + k + "\n", sshsig.RuleTime, 1, accepts},
		{"wildcard", "* " + decisionOnly + " " + k + "\n", sshsig.RulePrincipal, 1, accepts},
		{"wildcard in a name", "alice@* " + decisionOnly + " " + k + "\n", sshsig.RulePrincipal, 1, accepts},
		{"question mark", "?lice@example.com " + decisionOnly + " " + k + "\n", sshsig.RulePrincipal, 1, accepts},
		{"negation", "!bob " + decisionOnly + " " + k + "\n", sshsig.RulePrincipal, 1, refuses},
		{"negation in a list", "!bob,alice@example.com " + decisionOnly + " " + k + "\n", sshsig.RulePrincipal, 1, accepts},
		{"comma", "alice@example.com,bob " + decisionOnly + " " + k + "\n", sshsig.RulePrincipal, 1, accepts},
		{"quoted", `"alice@example.com" ` + decisionOnly + " " + k + "\n", sshsig.RulePrincipal, 1, accepts},
		{"byte order mark", "\ufeff" + good, sshsig.RuleEncodingMarker, 1, refuses},
		{"byte order mark on line 2", "aaa " + decisionOnly + " " + other + "\n\ufeff" + good, sshsig.RulePrincipal, 2, refuses},
		{"CRLF", strings.ReplaceAll(good, "\n", "\r\n"), sshsig.RuleLineEnd, 1, accepts},
		{"NBSP in the principal", "alice@example.com\u00a0 " + decisionOnly + " " + k + "\n", sshsig.RulePrincipal, 1, refuses},
		{"NBSP for a space", "alice@example.com\u00a0" + decisionOnly + " " + k + "\n", sshsig.RulePrincipal, 1, refuses},
		{"upper case", "Alice@example.com " + decisionOnly + " " + k + "\n", sshsig.RulePrincipal, 1, refuses},
		{"look-alike", "\u0430lice@example.com " + decisionOnly + " " + k + "\n", sshsig.RulePrincipal, 1, refuses},
		{"unknown option", "alice@example.com " + decisionOnly + ",no-such-option " + k + "\n", sshsig.RuleOption, 1, refuses},
		{"unknown option first", "alice@example.com no-such-option," + decisionOnly + " " + k + "\n", sshsig.RuleOption, 1, refuses},
		{"option in upper case", "alice@example.com " + strings.Replace(decisionOnly, "namespaces", "NAMESPACES", 1) + " " + k + "\n", sshsig.RuleOption, 1, accepts},
		{"option not quoted", "alice@example.com namespaces=agentgateway-decision@v1 " + k + "\n", sshsig.RuleOption, 1, refuses},
		{"option twice", "alice@example.com " + decisionOnly + "," + decisionOnly + " " + k + "\n", sshsig.RuleOption, 1, refuses},
		{"no namespaces", "alice@example.com " + k + "\n", sshsig.RuleOption, 1, accepts},
		{"empty namespaces", `alice@example.com namespaces="" ` + k + "\n", sshsig.RuleNamespace, 1, refuses},
		{"wildcard namespace", `alice@example.com namespaces="*" ` + k + "\n", sshsig.RuleNamespace, 1, accepts},
		{"negated namespace", `alice@example.com namespaces="!git,agentgateway-decision@v1" ` + k + "\n", sshsig.RuleNamespace, 1, accepts},
		{"unknown namespace", `alice@example.com namespaces="agentgateway-decision@v1,file" ` + k + "\n", sshsig.RuleNamespace, 1, accepts},
		{"space in namespaces", `alice@example.com namespaces="agentgateway-decision@v1, git" ` + k + "\n", sshsig.RuleOption, 1, accepts},
		{"namespaces out of order", `alice@example.com namespaces="git,agentgateway-decision@v1" ` + k + "\n", sshsig.RuleOrder, 1, accepts},
		{"namespace twice", `alice@example.com namespaces="agentgateway-decision@v1,agentgateway-decision@v1" ` + k + "\n", sshsig.RuleOrder, 1, accepts},
		{"garbage line before", "garbage\n" + good, sshsig.RuleLine, 1, accepts},
		{"garbage line after", good + "zzz\n", sshsig.RuleLine, 2, accepts},
		{"comment", "# a list\n" + good, sshsig.RuleLine, 1, accepts},
		{"comment at the end", strings.TrimSuffix(good, "\n") + " laptop\n", sshsig.RuleLine, 1, accepts},
		{"empty line", good + "\n", sshsig.RuleLine, 2, accepts},
		{"space before", " " + good, sshsig.RulePrincipal, 1, accepts},
		{"tab", strings.Replace(good, " ", "\t", 1), sshsig.RulePrincipal, 1, accepts},
		{"two spaces", strings.Replace(good, " ", "  ", 1), sshsig.RuleOption, 1, accepts},
		{"no line feed", strings.TrimSuffix(good, "\n"), sshsig.RuleLineEnd, 1, accepts},
		{"NUL", good + "\x00\n", sshsig.RulePrincipal, 2, accepts},
		{"lines out of order", "bob " + decisionOnly + " " + other + "\n" + good, sshsig.RuleOrder, 2, accepts},
		{"one key, two principals", good + "bob " + decisionOnly + " " + k + "\n", sshsig.RuleDuplicateKey, 2, accepts},
		{"one key, one principal twice", good + "alice@example.com namespaces=\"git\" " + k + "\n", sshsig.RuleDuplicateKey, 2, accepts},
		{"cert-authority", "alice@example.com cert-authority," + decisionOnly + " " + k + "\n", sshsig.RuleCertAuthority, 1, refuses},
		{"Cert-Authority last", "alice@example.com " + decisionOnly + ",Cert-Authority " + k + "\n", sshsig.RuleCertAuthority, 1, refuses},
		{"certificate", "alice@example.com " + decisionOnly + " " + cert + "\n", sshsig.RuleCertificate, 1, refuses},
		{"short RSA key", "alice@example.com " + decisionOnly + " " + line(newRSA(t, 2048, ssh.KeyAlgoRSASHA512).pub) + "\n", sshsig.RuleKeySize, 1, refuses},
		{"key type of another key", "alice@example.com " + decisionOnly + " ssh-rsa " + blob + "\n", sshsig.RuleKey, 1, refuses},
		{"key cut off", "alice@example.com " + decisionOnly + " ssh-ed25519 " + blob[:64] + "\n", sshsig.RuleKey, 1, refuses},
		{"base64 without its last character", "alice@example.com " + decisionOnly + " ssh-ed25519 " + blob[:len(blob)-1] + "\n", sshsig.RuleBase64, 1, refuses},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := sshsig.ParseAllowedSigners([]byte(c.file))
			var fe *sshsig.FormatError
			if errors.As(err, &fe) && (fe.Line != c.line || fe.Subject != "allowed_signers") {
				t.Errorf("place %s line %d, want line %d", fe.Subject, fe.Line, c.line)
			}
			if got := ruleOf(err); got != c.rule || (err == nil) != (c.rule == "") {
				t.Errorf("rule %q, want %q (%v)", got, c.rule, err)
			}
			dir := t.TempDir()
			a := writeFile(t, filepath.Join(dir, "allowed"), []byte(c.file), 0o600)
			s := writeFile(t, filepath.Join(dir, "sig"), sig.Armor(), 0o600)
			out, ok := sshKeygen(t, []byte(message), "-Y", "verify", "-f", a, "-I", "alice@example.com", "-n", "agentgateway-decision@v1", "-s", s)
			if ok != c.lax {
				t.Logf("this ssh-keygen accepts: %v; 9.2 did: %v\n%s", ok, c.lax, out)
			}
			if c.rule == "" && !ok {
				t.Errorf("ssh-keygen refuses what is accepted here: %s", out)
			}
		})
	}
}

// certificate has ssh-keygen certify a key and returns its line.
func certificate(t *testing.T) string {
	t.Helper()
	ca, user := newKeyFile(t, "", "-t", "ed25519"), newKeyFile(t, "", "-t", "rsa", "-b", "3072")
	if out, ok := sshKeygen(t, nil, "-q", "-s", ca, "-I", "id", "-n", "alice@example.com", user+".pub"); !ok {
		t.Fatal(out)
	}
	return strings.Join(strings.Fields(readText(t, user+"-cert.pub"))[:2], " ")
}

// Attack 11: an RSA certificate, through which SHA-1 comes back.
func TestAttack11Certificate(t *testing.T) {
	words := strings.Fields(certificate(t))
	if _, _, err := sshsig.ParsePublicKey([]byte(strings.Join(words, " "))); ruleOf(err) != sshsig.RuleCertificate {
		t.Errorf("as a key: %v", err)
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(strings.Join(words, " ")))
	if err != nil {
		t.Fatal(err)
	}
	if err := sshsig.CheckKey(key); ruleOf(err) != sshsig.RuleCertificate {
		t.Errorf("parsed elsewhere: %v", err)
	}
	p := split(mustSign(t, newEd25519(t), sshsig.NamespaceGit, message))
	p.key = key.Marshal()[:min(4096, len(key.Marshal()))]
	p.format = []byte("ssh-rsa")
	if _, err := sshsig.ParseBlob(p.join()); ruleOf(err) != sshsig.RuleCertificate {
		t.Errorf("in a signature: %v", err)
	}
}

func TestFormatAllowedSignersRefuses(t *testing.T) {
	key := newEd25519(t).pub
	ns := []sshsig.Namespace{sshsig.NamespaceDecision}
	for _, c := range []struct {
		name    string
		signers []sshsig.AllowedSigner
		rule    sshsig.Rule
	}{
		{"no principal", []sshsig.AllowedSigner{{"", ns, key}}, sshsig.RulePrincipal},
		{"a second line in the principal", []sshsig.AllowedSigner{{"alice\nbob", ns, key}}, sshsig.RuleLine},
		{"an option in the principal", []sshsig.AllowedSigner{{"alice namespaces=\"git\"", ns, key}}, sshsig.RuleLine},
		{"no namespaces", []sshsig.AllowedSigner{{"alice", nil, key}}, sshsig.RuleNamespace},
		{"a quote in a namespace", []sshsig.AllowedSigner{{"alice", []sshsig.Namespace{`git" cert-authority,x="`}, key}}, sshsig.RuleLine},
		{"no key", []sshsig.AllowedSigner{{"alice", ns, nil}}, sshsig.RuleKey},
		{"weak key", []sshsig.AllowedSigner{{"alice", ns, newRSA(t, 2048, ssh.KeyAlgoRSASHA512).pub}}, sshsig.RuleKeySize},
		{"one key twice", []sshsig.AllowedSigner{{"alice", ns, key}, {"bob", ns, key}}, sshsig.RuleDuplicateKey},
	} {
		file, err := sshsig.FormatAllowedSigners(c.signers)
		if err == nil {
			t.Errorf("%s: written as %q", c.name, file)
		}
		if got := ruleOf(err); got != c.rule {
			t.Errorf("%s: rule %q, want %q (%v)", c.name, got, c.rule, err)
		}
	}
}
