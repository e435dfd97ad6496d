package sshsig_test

import (
	"crypto/dsa" //nolint:staticcheck // a key of this type is what must be refused
	"crypto/rand"
	"math/big"
	"os"
	"strings"
	"testing"

	"agentgateway-lock/pkg/sshsig"

	"golang.org/x/crypto/ssh"
)

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestParsePublicKey(t *testing.T) {
	path := newKeyFile(t, "", "-t", "ed25519")
	good := strings.TrimSuffix(readText(t, path+".pub"), "\n")
	words := strings.Fields(good)
	bare := words[0] + " " + words[1]
	for _, c := range []struct {
		name, text string
		rule       sshsig.Rule
		comment    string
	}{
		{"as ssh-keygen writes it", good + "\n", "", "a comment"},
		{"without line end", good, "", "a comment"},
		{"CRLF", good + "\r\n", "", "a comment"},
		{"without comment", bare, "", ""},
		{"comment of several words", bare + " alice on  a laptop ü", "", "alice on  a laptop ü"},
		{"empty", "", sshsig.RuleKeyType, ""},
		{"two lines", good + "\n" + good + "\n", sshsig.RuleLine, ""},
		{"empty line before", "\n" + good, sshsig.RuleLine, ""},
		{"options", `no-pty ` + good, sshsig.RuleKeyType, ""},
		{"two spaces", strings.Replace(good, " ", "  ", 1), sshsig.RuleBase64, ""},
		{"no base64", words[0], sshsig.RuleBase64, ""},
		{"escape in the comment", bare + " \x1b[31m", sshsig.RuleLine, ""},
		{"comment not UTF-8", bare + " \xff", sshsig.RuleLine, ""},
		{"long comment", bare + " " + strings.Repeat("c", 2000), sshsig.RuleLine, ""},
		{"very long", bare + " " + strings.Repeat("c", 9000), sshsig.RuleSize, ""},
		{"private key", readText(t, path), sshsig.RuleLine, ""},
		{"private key on one line", "-----BEGIN OPENSSH PRIVATE KEY-----", sshsig.RuleLine, ""},
		{"another type's name", "ecdsa-sha2-nistp256 " + words[1], sshsig.RuleKey, ""},
		{"rsa-2048", strings.TrimSpace(readText(t, newKeyFile(t, "", "-t", "rsa", "-b", "2048")+".pub")), sshsig.RuleKeySize, ""},
	} {
		key, comment, err := sshsig.ParsePublicKey([]byte(c.text))
		if got := ruleOf(err); got != c.rule || (err == nil) != (c.rule == "") {
			t.Errorf("%s: rule %q, want %q (%v)", c.name, got, c.rule, err)
			continue
		}
		if err == nil && (comment != c.comment || sshsig.FormatPublicKey(key) != bare) {
			t.Errorf("%s: %q, comment %q", c.name, sshsig.FormatPublicKey(key), comment)
		}
	}
	// The fingerprint is the one ssh-keygen prints.
	out, _ := sshKeygen(t, nil, "-l", "-f", path+".pub")
	if f := sshsig.Fingerprint(publicKeyFile(t, path+".pub")); !strings.Contains(out, " "+f+" ") {
		t.Errorf("fingerprint %s is not in %s", f, out)
	}
}

func TestErrorsAreSafeToPrint(t *testing.T) {
	_, _, err := sshsig.ParsePublicKey([]byte("\x1b]0;owned\x07\u202e" + strings.Repeat("x", 500) + " AAAA"))
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\x07\u202e") || len(err.Error()) > 300 {
		t.Errorf("%q", err)
	}
}

func TestCheckKeyRefusesDSA(t *testing.T) {
	var private dsa.PrivateKey
	if err := dsa.GenerateParameters(&private.Parameters, rand.Reader, dsa.L1024N160); err != nil {
		t.Fatal(err)
	}
	if err := dsa.GenerateKey(&private, rand.Reader); err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := sshsig.CheckKey(key); ruleOf(err) != sshsig.RuleKeyType {
		t.Error(err)
	}
	if err := sshsig.CheckKey(nil); ruleOf(err) != sshsig.RuleKey {
		t.Error(err)
	}
}

// Points of small order, computed here from the curve's equation
// -x² + y² = 1 + d·x²·y², and the second spellings of coordinates below 19.
func TestWeakEd25519(t *testing.T) {
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	d := new(big.Int).Mul(big.NewInt(-121665), new(big.Int).ModInverse(big.NewInt(121666), p))
	d.Mod(d, p)
	ys := []*big.Int{
		big.NewInt(0), big.NewInt(1), new(big.Int).Sub(p, big.NewInt(1)),
		p, new(big.Int).Add(p, big.NewInt(1)), new(big.Int).Add(p, big.NewInt(18)),
	}
	// A point of order 8 doubles to one with y = 0, hence x² = -y², hence
	// d·z² + 2z - 1 = 0 for z = y².
	root := new(big.Int).ModSqrt(new(big.Int).Add(d, big.NewInt(1)), p)
	for _, sign := range []int64{1, -1} {
		z := new(big.Int).Mul(big.NewInt(sign), root)
		z.Sub(z, big.NewInt(1)).Mul(z, new(big.Int).ModInverse(d, p)).Mod(z, p)
		if y := new(big.Int).ModSqrt(z, p); y != nil {
			ys = append(ys, y, new(big.Int).Sub(p, y))
		}
	}
	if len(ys) != 8 {
		t.Fatalf("%d coordinates, want 8", len(ys))
	}
	for _, y := range ys {
		for _, signBit := range []byte{0, 0x80} {
			if err := sshsig.CheckKey(ed25519Key(t, y, signBit)); ruleOf(err) != sshsig.RuleKeyWeak {
				t.Errorf("y = %v: %v", y, err)
			}
		}
	}
	if err := sshsig.CheckKey(ed25519Key(t, big.NewInt(4), 0)); err != nil {
		t.Errorf("an ordinary coordinate: %v", err)
	}
}

func ed25519Key(t *testing.T, y *big.Int, signBit byte) ssh.PublicKey {
	t.Helper()
	point := y.FillBytes(make([]byte, 32))
	for i, j := 0, 31; i < j; i, j = i+1, j-1 {
		point[i], point[j] = point[j], point[i]
	}
	point[31] |= signBit
	key, err := ssh.ParsePublicKey(str([]byte(ssh.KeyAlgoED25519), point))
	if err != nil {
		t.Fatal(err)
	}
	return key
}
