package sshsig_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentgateway-lock/pkg/sshsig"

	oracle "github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

const message = "what was approved\n"

func TestBothWaysWithSSHKeygen(t *testing.T) {
	for name, args := range map[string][]string{
		"ed25519":   {"-t", "ed25519"},
		"ecdsa-256": {"-t", "ecdsa", "-b", "256"},
		"ecdsa-384": {"-t", "ecdsa", "-b", "384"},
		"ecdsa-521": {"-t", "ecdsa", "-b", "521"},
		"rsa-3072":  {"-t", "rsa", "-b", "3072"},
	} {
		t.Run(name, func(t *testing.T) {
			path := newKeyFile(t, "", args...)
			key := publicKeyFile(t, path+".pub")
			dir := t.TempDir()
			file := writeFile(t, filepath.Join(dir, "message"), []byte(message), 0o600)
			for _, hash := range []string{"sha256", "sha512"} {
				if out, ok := sshKeygen(t, nil, "-Y", "sign", "-O", "hashalg="+hash, "-f", path, "-n", "agentgateway-lock@v1", file); !ok {
					t.Fatal(out)
				}
				armor, err := os.ReadFile(file + ".sig")
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Remove(file + ".sig"); err != nil {
					t.Fatal(err)
				}
				s, err := sshsig.ParseArmor(armor)
				if err != nil {
					t.Fatal(err)
				}
				if err := sshsig.Verify([]byte(message), s, sshsig.NamespaceLock); err != nil {
					t.Error(err)
				}
				if got := ruleOf(sshsig.Verify([]byte(message+"!"), s, sshsig.NamespaceLock)); got != sshsig.RuleMismatch {
					t.Errorf("another message: %q", got)
				}
				if s.HashAlgorithm != hash || !bytes.Equal(s.PublicKey.Marshal(), key.Marshal()) || !bytes.Equal(s.Armor(), armor) {
					t.Errorf("signature not read as written: %+v", s)
				}
			}

			signer, err := sshsig.LoadKeyFile(context.Background(), sshsig.OpenFile, path, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := mustSign(t, signer, sshsig.NamespaceDecision, message)
			allowed, err := sshsig.FormatAllowedSigners([]sshsig.AllowedSigner{
				{Principal: "alice@example.com", Namespaces: []sshsig.Namespace{sshsig.NamespaceDecision, sshsig.NamespaceGit}, Key: key},
			})
			if err != nil {
				t.Fatal(err)
			}
			a := writeFile(t, filepath.Join(dir, "allowed_signers"), allowed, 0o600)
			sig := writeFile(t, filepath.Join(dir, "sig"), s.Armor(), 0o600)
			verify := func(ns, text string) (string, bool) {
				return sshKeygen(t, []byte(text), "-Y", "verify", "-f", a, "-I", "alice@example.com", "-n", ns, "-s", sig)
			}
			if out, ok := verify("agentgateway-decision@v1", message); !ok {
				t.Errorf("ssh-keygen refuses the signature: %s", out)
			}
			if out, ok := verify("git", message); ok {
				t.Errorf("ssh-keygen accepts another namespace: %s", out)
			}
			if out, ok := verify("agentgateway-decision@v1", message+"!"); ok {
				t.Errorf("ssh-keygen accepts another message: %s", out)
			}
		})
	}
}

func TestHiddecoAgrees(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	ours := mustSign(t, memSigner(t, private, ssh.KeyAlgoED25519), sshsig.NamespaceTrust, message)
	read, err := oracle.ParseSignature(ours.Blob())
	if err != nil {
		t.Fatal(err)
	}
	if err := oracle.Verify(strings.NewReader(message), read, theirs.PublicKey(), oracle.HashSHA512, string(sshsig.NamespaceTrust)); err != nil {
		t.Error(err)
	}
	for _, hash := range oracle.SupportedHashAlgorithms() {
		made, err := oracle.Sign(strings.NewReader(message), theirs, hash, string(sshsig.NamespaceTrust))
		if err != nil {
			t.Fatal(err)
		}
		s, err := sshsig.ParseBlob(made.Marshal())
		if err != nil {
			t.Fatal(err)
		}
		if err := sshsig.Verify([]byte(message), s, sshsig.NamespaceTrust); err != nil {
			t.Error(err)
		}
		if hash == oracle.HashSHA512 && !bytes.Equal(s.Blob(), ours.Blob()) {
			t.Error("Ed25519 is deterministic, and the two signatures differ")
		}
	}
}

// Attack 5: a signature made for one purpose presented for another.
func TestAttack05Namespace(t *testing.T) {
	key := newEd25519(t)
	git := mustSign(t, key, sshsig.NamespaceGit, message)
	for _, ns := range []sshsig.Namespace{"", "*", "GIT", "file", "agentgateway-*", sshsig.NamespaceDecision, sshsig.NamespaceLock, sshsig.NamespaceTrust} {
		if got := ruleOf(sshsig.Verify([]byte(message), git, ns)); got != sshsig.RuleNamespace {
			t.Errorf("git signature for %q: rule %q", ns, got)
		}
	}
	decision := mustSign(t, key, sshsig.NamespaceDecision, message)
	if got := ruleOf(sshsig.Verify([]byte(message), decision, sshsig.NamespaceGit)); got != sshsig.RuleNamespace {
		t.Errorf("decision as a commit signature: rule %q", got)
	}
	relabelled := *git
	relabelled.Namespace = sshsig.NamespaceDecision
	if got := ruleOf(sshsig.Verify([]byte(message), &relabelled, sshsig.NamespaceDecision)); got != sshsig.RuleMismatch {
		t.Errorf("relabelled signature: rule %q", got)
	}
	for _, ns := range []string{"", "*", "GIT", "file"} {
		if _, err := sshsig.Sign(context.Background(), key, sshsig.Namespace(ns), nil); ruleOf(err) != sshsig.RuleNamespace {
			t.Errorf("signing for %q: %v", ns, err)
		}
		foreign := git.Blob()
		foreign = bytes.Replace(foreign, str([]byte("git")), str([]byte(ns)), 1)
		s, err := sshsig.ParseBlob(foreign)
		if ns == "" {
			if ruleOf(err) != sshsig.RuleNamespace {
				t.Errorf("empty namespace: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, asked := range []sshsig.Namespace{sshsig.Namespace(ns), sshsig.NamespaceGit} {
			if got := ruleOf(sshsig.Verify([]byte(message), s, asked)); got != sshsig.RuleNamespace {
				t.Errorf("namespace %q asked for as %q: rule %q", ns, asked, got)
			}
		}
	}
}

// Attack 12: armor that other readers accept.
func TestAttack12Armor(t *testing.T) {
	sig := mustSign(t, newEd25519(t), sshsig.NamespaceDecision, message)
	good := string(sig.Armor())
	other := string(mustSign(t, newEd25519(t), sshsig.NamespaceDecision, message).Armor())
	lines := strings.SplitAfter(good, "\n")
	narrow := string(pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: sig.Blob()}))
	for _, c := range []struct {
		name, text string
		rule       sshsig.Rule
	}{
		{"good", good, ""},
		{"empty", "", sshsig.RuleArmorHeader},
		{"leading text", "approved\n" + good, sshsig.RuleArmorHeader},
		{"leading line feed", "\n" + good, sshsig.RuleArmorHeader},
		{"leading space", " " + good, sshsig.RuleArmorHeader},
		{"byte order mark", "\ufeff" + good, sshsig.RuleArmorHeader},
		{"other label", strings.ReplaceAll(good, "SSH SIGNATURE", "PGP SIGNATURE"), sshsig.RuleArmorHeader},
		{"header with a space at its end", strings.Replace(good, "-----\n", "----- \n", 1), sshsig.RuleArmorHeader},
		{"PEM headers", lines[0] + "Comment: x\n\n" + strings.Join(lines[1:], ""), sshsig.RuleArmorLine},
		{"CRLF", strings.ReplaceAll(good, "\n", "\r\n"), sshsig.RuleLineEnd},
		{"one CR", strings.TrimSuffix(good, "\n") + "\r\n", sshsig.RuleLineEnd},
		{"two blocks", good + other, sshsig.RuleTrailing},
		{"two blocks, other order", other + good, sshsig.RuleTrailing},
		{"block within the block", lines[0] + good, sshsig.RuleArmorLine},
		{"trailing text", good + "and more\n", sshsig.RuleTrailing},
		{"trailing line feed", good + "\n", sshsig.RuleTrailing},
		{"no final newline", strings.TrimSuffix(good, "\n"), sshsig.RuleArmorFooter},
		{"no footer", strings.Join(lines[:len(lines)-2], ""), sshsig.RuleArmorFooter},
		{"no body", lines[0] + lines[len(lines)-2], sshsig.RuleBase64},
		{"bad character", strings.Replace(good, lines[1], "*"+lines[1][1:], 1), sshsig.RuleBase64},
		{"URL alphabet", strings.Replace(good, lines[1], "-"+lines[1][1:], 1), sshsig.RuleBase64},
		{"white space in a line", strings.Replace(good, lines[1], lines[1][:35]+" "+lines[1][36:], 1), sshsig.RuleBase64},
		{"space at the end of a line", strings.Replace(good, lines[1], strings.TrimSuffix(lines[1], "\n")+" \n", 1), sshsig.RuleArmorLine},
		{"64 columns", narrow, sshsig.RuleArmorLine},
		{"one long line", lines[0] + base64.StdEncoding.EncodeToString(sig.Blob()) + "\n" + lines[len(lines)-2], sshsig.RuleArmorLine},
		{"empty line", lines[0] + "\n" + strings.Join(lines[1:], ""), sshsig.RuleArmorLine},
		{"empty line before the footer", strings.Replace(good, "-----END", "\n-----END", 1), sshsig.RuleArmorLine},
		{"no padding", strings.Replace(good, "=\n", "\n", 1), ""},
		{"oversize", lines[0] + strings.Repeat(lines[1], 400) + lines[len(lines)-2], sshsig.RuleSize},
	} {
		if c.name == "no padding" { // only where this signature has padding
			if c.text == good {
				continue
			}
			c.rule = sshsig.RuleBase64
		}
		t.Run(c.name, func(t *testing.T) {
			s, err := sshsig.ParseArmor([]byte(c.text))
			if got := ruleOf(err); got != c.rule || (err == nil) != (c.rule == "") {
				t.Fatalf("rule %q, want %q (%v)", got, c.rule, err)
			}
			if err == nil && !bytes.Equal(s.Armor(), []byte(c.text)) {
				t.Error("armor does not come back as it was read")
			}
		})
	}
}

// Base64 can spell the same bytes twice through the unused bits of its last
// character.
func TestBase64SpareBits(t *testing.T) {
	sig := mustSign(t, newEd25519(t), sshsig.NamespaceGit, message) // 275 bytes: one padding character
	good := string(sig.Armor())
	at := strings.Index(good, "=")
	if at < 0 {
		t.Fatalf("expected padding in a blob of %d bytes", len(sig.Blob()))
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	i := strings.IndexByte(alphabet, good[at-1])
	twin := good[:at-1] + string(alphabet[i+1]) + good[at:]
	if block, _ := pem.Decode([]byte(twin)); block == nil || !bytes.Equal(block.Bytes, sig.Blob()) {
		t.Fatal("the twin is no twin to a lax reader, so this test shows nothing")
	}
	if _, err := sshsig.ParseArmor([]byte(twin)); ruleOf(err) != sshsig.RuleBase64 {
		t.Errorf("the twin: %v", err)
	}
}

// parts are the fields of a blob, to be put together wrongly.
type parts struct {
	magic                            string
	version                          byte
	key, namespace, reserved, hash   []byte
	format, value, extra, afterInner []byte
	inner                            []byte // in place of the four before
	after                            []byte
}

func split(s *sshsig.Signature) parts {
	return parts{
		magic: "SSHSIG", version: 1, key: s.PublicKey.Marshal(), namespace: []byte(s.Namespace),
		hash: []byte(s.HashAlgorithm), format: []byte(s.Value.Format), value: s.Value.Blob, extra: s.Value.Rest,
	}
}

func (p parts) join() []byte {
	inner := append(append(str(p.format, p.value), p.extra...), p.afterInner...)
	if p.inner != nil {
		inner = p.inner
	}
	b := append([]byte(p.magic), 0, 0, 0, p.version)
	b = append(b, str(p.key, p.namespace, p.reserved, p.hash, inner)...)
	return append(b, p.after...)
}

// Attack 13: blobs that other readers accept, or that cost them dearly.
func TestAttack13Blob(t *testing.T) {
	ed := split(mustSign(t, newEd25519(t), sshsig.NamespaceDecision, message))
	ec := split(mustSign(t, newECDSA(t), sshsig.NamespaceDecision, message))
	sk := split(mustSign(t, newSKEd25519(t, 1), sshsig.NamespaceDecision, message))
	rsaKey := split(mustSign(t, newRSA(t, 3072, ssh.KeyAlgoRSASHA512), sshsig.NamespaceDecision, message))
	with := func(p parts, change func(*parts)) []byte {
		change(&p)
		return p.join()
	}
	dsa := str([]byte("ssh-dss"), []byte{1}, []byte{1}, []byte{1}, []byte{1})
	for _, c := range []struct {
		name string
		blob []byte
		rule sshsig.Rule
	}{
		{"good", ed.join(), ""},
		{"good ecdsa", ec.join(), ""},
		{"good security key", sk.join(), ""},
		{"good rsa", rsaKey.join(), ""},
		{"empty", nil, sshsig.RuleMagic},
		{"magic", with(ed, func(p *parts) { p.magic = "SSHSIg" }), sshsig.RuleMagic},
		{"version 2", with(ed, func(p *parts) { p.version = 2 }), sshsig.RuleVersion},
		{"version 0", with(ed, func(p *parts) { p.version = 0 }), sshsig.RuleVersion},
		{"reserved set", with(ed, func(p *parts) { p.reserved = []byte("x") }), sshsig.RuleReserved},
		{"hash sha1", with(ed, func(p *parts) { p.hash = []byte("sha1") }), sshsig.RuleHash},
		{"hash SHA512", with(ed, func(p *parts) { p.hash = []byte("SHA512") }), sshsig.RuleHash},
		{"hash empty", with(ed, func(p *parts) { p.hash = nil }), sshsig.RuleHash},
		{"namespace empty", with(ed, func(p *parts) { p.namespace = nil }), sshsig.RuleNamespace},
		{"namespace with NUL", with(ed, func(p *parts) { p.namespace = []byte("git\x00") }), sshsig.RuleNamespace},
		{"namespace long", with(ed, func(p *parts) { p.namespace = bytes.Repeat([]byte("n"), 256) }), sshsig.RuleNamespace},
		{"after the blob", with(ed, func(p *parts) { p.after = []byte{0} }), sshsig.RuleTrailing},
		{"after the inner signature", with(ed, func(p *parts) { p.afterInner = []byte{0} }), sshsig.RuleTrailing},
		{"after the ed25519 value", with(ed, func(p *parts) { p.value = append(bytes.Clone(p.value), 0) }), sshsig.RuleSignatureEncoding},
		{"after the ecdsa numbers", with(ec, func(p *parts) { p.value = append(bytes.Clone(p.value), 0) }), sshsig.RuleSignatureEncoding},
		{"ecdsa number with a zero before", with(ec, func(p *parts) {
			n := int(p.value[3])
			r, rest := p.value[4:4+n], p.value[4+n:]
			p.value = append(str(append([]byte{0}, r...)), rest...)
		}), sshsig.RuleSignatureEncoding},
		{"rsa value short", with(rsaKey, func(p *parts) { p.value = p.value[1:] }), sshsig.RuleSignatureEncoding},
		{"rsa value long", with(rsaKey, func(p *parts) { p.value = append([]byte{0}, p.value...) }), sshsig.RuleSignatureEncoding},
		{"after the key", with(ed, func(p *parts) { p.key = append(bytes.Clone(p.key), 0) }), sshsig.RuleKey},
		{"after the security key's counter", with(sk, func(p *parts) { p.extra = append(bytes.Clone(p.extra), 0) }), sshsig.RuleTrailing},
		{"security key without counter", with(sk, func(p *parts) { p.extra = p.extra[:1] }), sshsig.RuleTruncated},
		{"format of another key", with(ed, func(p *parts) { p.format = []byte(ssh.KeyAlgoECDSA256) }), sshsig.RuleSignatureFormat},
		{"rsa with SHA-1", with(rsaKey, func(p *parts) { p.format = []byte(ssh.KeyAlgoRSA) }), sshsig.RuleSignatureFormat},
		{"format empty", with(ed, func(p *parts) { p.format = nil }), sshsig.RuleSignatureFormat},
		{"dsa key", with(ed, func(p *parts) { p.key = dsa }), sshsig.RuleKeyType},
		{"key empty", with(ed, func(p *parts) { p.key = nil }), sshsig.RuleTruncated},
		{"key oversize", with(ed, func(p *parts) { p.key = bytes.Repeat([]byte("k"), 5000) }), sshsig.RuleSize},
		{"oversize", with(ed, func(p *parts) { p.after = make([]byte, 9000) }), sshsig.RuleSize},
		{"huge length", append([]byte("SSHSIG\x00\x00\x00\x01"), 0xff, 0xff, 0xff, 0xff, 1, 2, 3), sshsig.RuleTruncated},
		{"huge inner length", with(ed, func(p *parts) { p.inner = []byte{0xff, 0xff, 0xff, 0xf0, 's'} }), sshsig.RuleTruncated},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := sshsig.ParseBlob(c.blob)
			if got := ruleOf(err); got != c.rule || (err == nil) != (c.rule == "") {
				t.Fatalf("rule %q, want %q (%v)", got, c.rule, err)
			}
			if err != nil {
				return
			}
			if !bytes.Equal(s.Blob(), c.blob) {
				t.Error("blob does not come back as it was read")
			}
			if err := sshsig.Verify([]byte(message), s, sshsig.NamespaceDecision); err != nil {
				t.Error(err)
			}
		})
	}
	good := ed.join()
	for n := range good {
		if _, err := sshsig.ParseBlob(good[:n]); err == nil {
			t.Errorf("the first %d bytes were accepted", n)
		}
	}
}

// CVE-2026-39831: a security key that signs without a touch.
func TestAttack13UserPresence(t *testing.T) {
	const verified = 0x04 // a PIN was given; that is not a touch
	for name, make := range map[string]func(testing.TB, byte) memKey{"ed25519": newSKEd25519, "ecdsa": newSKECDSA} {
		t.Run(name, func(t *testing.T) {
			for flags, rule := range map[byte]sshsig.Rule{
				0: sshsig.RuleUserPresence, 1: "", verified: sshsig.RuleUserPresence, 1 | verified: "",
			} {
				key := make(t, flags)
				s, err := sshsig.Sign(context.Background(), key, sshsig.NamespaceDecision, []byte(message))
				if got := ruleOf(err); got != rule || (err == nil) != (rule == "") {
					t.Fatalf("signing with flags %d: rule %q (%v)", flags, got, err)
				}
				if rule == "" {
					forged := *s
					value := *s.Value
					value.Rest = []byte{value.Rest[0] ^ 0x02, 0, 0, 0, 7}
					forged.Value = &value
					if got := ruleOf(sshsig.Verify([]byte(message), &forged, sshsig.NamespaceDecision)); got != sshsig.RuleMismatch {
						t.Errorf("flags changed after signing: rule %q", got)
					}
					continue
				}
				// The signature itself is sound: only the touch is missing.
				made := str([]byte("agentgateway-decision@v1"), nil, []byte("sha512"), sha512Of(message))
				value, err := key.sign(append([]byte("SSHSIG"), made...))
				if err != nil {
					t.Fatal(err)
				}
				untouched := &sshsig.Signature{PublicKey: key.pub, Namespace: sshsig.NamespaceDecision, HashAlgorithm: "sha512", Value: value}
				read, err := sshsig.ParseBlob(untouched.Blob())
				if err != nil {
					t.Fatal(err)
				}
				var ve *sshsig.VerifyError
				if err := sshsig.Verify([]byte(message), read, sshsig.NamespaceDecision); !errors.As(err, &ve) || ve.Rule != rule || ve.Fingerprint != ssh.FingerprintSHA256(key.pub) {
					t.Errorf("untouched: %v", err)
				}
			}
		})
	}
}

func sha512Of(text string) []byte {
	sum := sha512.Sum512([]byte(text))
	return sum[:]
}

func TestSSHKeygenAcceptsSoftwareSecurityKey(t *testing.T) {
	dir := t.TempDir()
	for name, make := range map[string]func(testing.TB, byte) memKey{"ed25519": newSKEd25519, "ecdsa": newSKECDSA} {
		key := make(t, 1)
		allowed, err := sshsig.FormatAllowedSigners([]sshsig.AllowedSigner{{Principal: "bob", Namespaces: []sshsig.Namespace{sshsig.NamespaceLock}, Key: key.pub}})
		if err != nil {
			t.Fatal(err)
		}
		a := writeFile(t, filepath.Join(dir, "allowed"), allowed, 0o600)
		sig := writeFile(t, filepath.Join(dir, "sig"), mustSign(t, key, sshsig.NamespaceLock, message).Armor(), 0o600)
		if out, ok := sshKeygen(t, []byte(message), "-Y", "verify", "-f", a, "-I", "bob", "-n", "agentgateway-lock@v1", "-s", sig); !ok {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// A signer that answers badly is found out when signing, not when verifying.
func TestSignChecksTheSigner(t *testing.T) {
	good, other := newEd25519(t), newEd25519(t)
	rsa512 := newRSA(t, 3072, ssh.KeyAlgoRSASHA512)
	rsaSHA1 := newRSA(t, 3072, ssh.KeyAlgoRSA)
	failure := errors.New("no")
	for _, c := range []struct {
		name string
		key  memKey
		rule sshsig.Rule
	}{
		{"another key's signature", memKey{good.pub, other.sign}, sshsig.RuleMismatch},
		{"SHA-1", rsaSHA1, sshsig.RuleSignatureFormat},
		{"nothing", memKey{good.pub, func([]byte) (*ssh.Signature, error) { return nil, nil }}, sshsig.RuleTruncated},
		{"short RSA key", newRSA(t, 2048, ssh.KeyAlgoRSASHA512), sshsig.RuleKeySize},
	} {
		_, err := sshsig.Sign(context.Background(), c.key, sshsig.NamespaceLock, []byte(message))
		if got := ruleOf(err); got != c.rule {
			t.Errorf("%s: rule %q, want %q (%v)", c.name, got, c.rule, err)
		}
	}
	_, err := sshsig.Sign(context.Background(), memKey{good.pub, func([]byte) (*ssh.Signature, error) { return nil, failure }}, sshsig.NamespaceLock, nil)
	if !errors.Is(err, failure) {
		t.Errorf("the signer's own error is lost: %v", err)
	}

	// One RSA value in 256 begins with a zero, which some agents drop.
	short := memKey{rsa512.pub, func(data []byte) (*ssh.Signature, error) {
		value, err := rsa512.sign(data)
		if err != nil {
			return nil, err
		}
		value.Blob = bytes.TrimLeft(value.Blob, "\x00")
		return value, nil
	}}
	dropped := 0
	for i := 0; i < 5000 && dropped == 0; i++ {
		text := []byte(strings.Repeat("x", i))
		s, err := sshsig.Sign(context.Background(), short, sshsig.NamespaceLock, text)
		if err != nil {
			t.Fatal(err)
		}
		if s.Value.Blob[0] == 0 {
			dropped++
			if again, err := sshsig.ParseBlob(s.Blob()); err != nil || sshsig.Verify(text, again, sshsig.NamespaceLock) != nil {
				t.Errorf("padded RSA value: %v", err)
			}
		}
	}
	if dropped == 0 {
		t.Error("no RSA value began with a zero")
	}
}
