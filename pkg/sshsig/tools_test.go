package sshsig_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"agentgateway-lock/pkg/sshsig"

	"golang.org/x/crypto/ssh"
)

// sshKeygen runs the real ssh-keygen and returns whether it was content.
func sshKeygen(t *testing.T, stdin []byte, args ...string) (string, bool) {
	t.Helper()
	program, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	cmd := exec.Command(program, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK=", "SSH_ASKPASS_REQUIRE=never", "TZ=UTC")
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// newKeyFile has ssh-keygen make a key pair and returns the private file.
func newKeyFile(t *testing.T, passphrase string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	args = append([]string{"-q", "-f", path, "-N", passphrase, "-C", "a comment"}, args...)
	if out, ok := sshKeygen(t, nil, args...); !ok {
		t.Fatalf("ssh-keygen %v: %s", args, out)
	}
	return path
}

func publicKeyFile(t *testing.T, path string) ssh.PublicKey {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := sshsig.ParsePublicKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// memKey signs with a key in memory, in whatever way a test needs.
type memKey struct {
	pub  ssh.PublicKey
	sign func(data []byte) (*ssh.Signature, error)
}

func (k memKey) PublicKey() ssh.PublicKey { return k.pub }

func (k memKey) Sign(_ context.Context, data []byte) (*ssh.Signature, error) { return k.sign(data) }

func memSigner(t testing.TB, private any, algorithm string) memKey {
	t.Helper()
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return memKey{s.PublicKey(), func(data []byte) (*ssh.Signature, error) {
		return s.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, data, algorithm)
	}}
}

func newEd25519(t testing.TB) memKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return memSigner(t, private, ssh.KeyAlgoED25519)
}

func newECDSA(t testing.TB) memKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return memSigner(t, private, ssh.KeyAlgoECDSA256)
}

func newRSA(t testing.TB, bits int, algorithm string) memKey {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return memSigner(t, private, algorithm)
}

// str is the RFC 4251 string, written here again so that tests do not lean on
// the code they test.
func str(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = binary.BigEndian.AppendUint32(out, uint32(len(p)))
		out = append(out, p...)
	}
	return out
}

const skApplication = "ssh:"

// skSigned is what the hardware signs: hash of application, flags, counter, hash
// of the data (PROTOCOL.u2f).
func skSigned(flags byte, counter uint32, data []byte) []byte {
	app, msg := sha256.Sum256([]byte(skApplication)), sha256.Sum256(data)
	b := append(app[:], flags)
	b = binary.BigEndian.AppendUint32(b, counter)
	return append(b, msg[:]...)
}

// newSKEd25519 and newSKECDSA are security keys made of software, which claim
// the flags they are told to.
func newSKEd25519(t testing.TB, flags byte) memKey {
	t.Helper()
	point, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pub, err := ssh.ParsePublicKey(str([]byte(ssh.KeyAlgoSKED25519), point, []byte(skApplication)))
	if err != nil {
		t.Fatal(err)
	}
	return memKey{pub, func(data []byte) (*ssh.Signature, error) {
		return &ssh.Signature{
			Format: ssh.KeyAlgoSKED25519,
			Blob:   ed25519.Sign(private, skSigned(flags, 7, data)),
			Rest:   []byte{flags, 0, 0, 0, 7},
		}, nil
	}}
}

func newSKECDSA(t testing.TB, flags byte) memKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	pub, err := ssh.ParsePublicKey(str([]byte(ssh.KeyAlgoSKECDSA256), []byte("nistp256"), point, []byte(skApplication)))
	if err != nil {
		t.Fatal(err)
	}
	return memKey{pub, func(data []byte) (*ssh.Signature, error) {
		digest := sha256.Sum256(skSigned(flags, 7, data))
		r, s, err := ecdsa.Sign(rand.Reader, private, digest[:])
		if err != nil {
			return nil, err
		}
		return &ssh.Signature{
			Format: ssh.KeyAlgoSKECDSA256,
			Blob:   str(mpint(r.Bytes()), mpint(s.Bytes())),
			Rest:   []byte{flags, 0, 0, 0, 7},
		}, nil
	}}
}

// mpint is a positive number as RFC 4251 writes it.
func mpint(b []byte) []byte {
	if len(b) > 0 && b[0]&0x80 != 0 {
		return append([]byte{0}, b...)
	}
	return b
}

// ruleOf is the rule that an error names, or "".
func ruleOf(err error) sshsig.Rule {
	var fe *sshsig.FormatError
	var ve *sshsig.VerifyError
	switch {
	case errors.As(err, &fe):
		return fe.Rule
	case errors.As(err, &ve):
		return ve.Rule
	}
	return ""
}

func mustSign(t testing.TB, k sshsig.Signer, ns sshsig.Namespace, message string) *sshsig.Signature {
	t.Helper()
	s, err := sshsig.Sign(context.Background(), k, ns, []byte(message))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func writeFile(t *testing.T, path string, text []byte, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, text, mode); err != nil {
		t.Fatal(err)
	}
	return path
}
