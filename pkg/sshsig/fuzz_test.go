package sshsig_test

import (
	"bytes"
	"testing"

	"agentgateway-lock/pkg/sshsig"

	oracle "github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// What is accepted comes back byte for byte, other readers read it as the same
// signature, and neither parsing nor verifying panics.
func checkRead(t *testing.T, s *sshsig.Signature, err error) {
	t.Helper()
	if err != nil {
		if s != nil || ruleOf(err) == "" {
			t.Errorf("refused with %v, and %v came back", err, s)
		}
		return
	}
	if err := sshsig.Verify([]byte(message), s, s.Namespace); err != nil && ruleOf(err) == "" {
		t.Errorf("refused without a rule: %v", err)
	}
	theirs, err := oracle.ParseSignature(s.Blob())
	if err != nil {
		t.Fatalf("another reader refuses it: %v", err)
	}
	if theirs.Namespace != string(s.Namespace) || !bytes.Equal(theirs.PublicKey.Marshal(), s.PublicKey.Marshal()) {
		t.Error("another reader reads something else")
	}
}

func fuzzSeeds(f *testing.F) []*sshsig.Signature {
	f.Helper()
	return []*sshsig.Signature{
		mustSign(f, newEd25519(f), sshsig.NamespaceDecision, message),
		mustSign(f, newECDSA(f), sshsig.NamespaceTrust, message),
		mustSign(f, newSKEd25519(f, 1), sshsig.NamespaceLock, message),
		mustSign(f, newSKECDSA(f, 1), sshsig.NamespaceGit, message),
	}
}

func FuzzParseBlob(f *testing.F) {
	for _, s := range fuzzSeeds(f) {
		f.Add(s.Blob())
	}
	f.Fuzz(func(t *testing.T, blob []byte) {
		s, err := sshsig.ParseBlob(blob)
		checkRead(t, s, err)
		if err == nil && !bytes.Equal(s.Blob(), blob) {
			t.Error("blob does not come back as it was read")
		}
	})
}

func FuzzParseArmor(f *testing.F) {
	for _, s := range fuzzSeeds(f) {
		f.Add(s.Armor())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := sshsig.ParseArmor(text)
		checkRead(t, s, err)
		if err == nil && !bytes.Equal(s.Armor(), text) {
			t.Error("armor does not come back as it was read")
		}
	})
}

func FuzzParseAllowedSigners(f *testing.F) {
	f.Add([]byte("alice@example.com " + decisionOnly + " " + line(newEd25519(f).pub) + "\n"))
	f.Add([]byte("alice " + decisionOnly + " " + line(newSKECDSA(f, 1).pub) + "\nbob " + decisionOnly + " " + line(newECDSA(f).pub) + "\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		signers, err := sshsig.ParseAllowedSigners(file)
		if err != nil {
			if signers != nil || ruleOf(err) == "" {
				t.Errorf("refused with %v", err)
			}
			return
		}
		again, err := sshsig.FormatAllowedSigners(signers)
		if err != nil || !bytes.Equal(again, file) {
			t.Errorf("the file does not come back: %v", err)
		}
	})
}

func BenchmarkParseBlob(b *testing.B) {
	blob := mustSign(b, newEd25519(b), sshsig.NamespaceDecision, message).Blob()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sshsig.ParseBlob(blob); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	for name, key := range map[string]memKey{
		"ed25519": newEd25519(b), "ecdsa": newECDSA(b), "rsa-3072": newRSA(b, 3072, ssh.KeyAlgoRSASHA512),
	} {
		s := mustSign(b, key, sshsig.NamespaceDecision, message)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := sshsig.Verify([]byte(message), s, sshsig.NamespaceDecision); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
