package sshsig_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentgateway-lock/pkg/sshsig"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// onlyPublic opens public key files and fails the caller that wants another.
func onlyPublic(name string) (fs.File, error) {
	if !strings.HasSuffix(name, ".pub") {
		return nil, errors.New("this test allows no private key file")
	}
	return os.Open(name)
}

// answers is a person who gives one passphrase after another.
func answers(asked *int, passphrases ...string) sshsig.Passphrase {
	return func(_ context.Context, prompt string) ([]byte, error) {
		if *asked == len(passphrases) {
			return nil, errors.New("asked too often")
		}
		*asked++
		return []byte(passphrases[*asked-1]), nil
	}
}

func fileProblem(t *testing.T, err error, want string, hints ...string) {
	t.Helper()
	var ke *sshsig.KeyFileError
	if !errors.As(err, &ke) || ke.Problem != want {
		t.Fatalf("%v, want problem %q", err, want)
	}
	for _, hint := range append(hints, ke.Path) {
		if !strings.Contains(err.Error(), hint) {
			t.Errorf("%q does not mention %q", err, hint)
		}
	}
}

func TestKeyFilePassphrase(t *testing.T) {
	ctx := context.Background()
	for name, args := range map[string][]string{
		"openssh": {"-t", "ed25519", "-a", "1"},
		"pem":     {"-t", "rsa", "-b", "3072", "-m", "PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			path := newKeyFile(t, "correct horse", args...)
			asked := 0
			signer, err := sshsig.LoadKeyFile(ctx, sshsig.OpenFile, path, answers(&asked, "wrong", "", "correct horse"))
			if err != nil {
				t.Fatal(err)
			}
			if name == "openssh" && asked != 0 {
				t.Error("asked for the passphrase before anything was to be signed")
			}
			if !bytes.Equal(signer.PublicKey().Marshal(), publicKeyFile(t, path+".pub").Marshal()) {
				t.Error("another public key")
			}
			mustSign(t, signer, sshsig.NamespaceDecision, message)
			mustSign(t, signer, sshsig.NamespaceGit, message)
			if asked != 3 {
				t.Errorf("asked %d times, want 3", asked)
			}

			use := func(ask sshsig.Passphrase) error {
				signer, err := sshsig.LoadKeyFile(ctx, sshsig.OpenFile, path, ask)
				if err != nil {
					return err
				}
				_, err = sshsig.Sign(ctx, signer, sshsig.NamespaceDecision, nil)
				return err
			}
			asked = 0
			fileProblem(t, use(answers(&asked, "a", "b", "c", "correct horse")), sshsig.ProblemPassphrase, "wrong passphrase")
			if asked != 3 {
				t.Errorf("asked %d times, want 3", asked)
			}
			fileProblem(t, use(nil), sshsig.ProblemPassphrase, "ssh-add", "SSH_ASKPASS")
			cancelled := errors.New("cancelled")
			err = use(func(context.Context, string) ([]byte, error) { return nil, cancelled })
			fileProblem(t, err, sshsig.ProblemPassphrase)
			if !errors.Is(err, cancelled) {
				t.Error("the reason is lost")
			}
		})
	}
}

func TestKeyFileRefused(t *testing.T) {
	ctx := context.Background()
	load := func(path string) error {
		_, err := sshsig.LoadKeyFile(ctx, sshsig.OpenFile, path, nil)
		return err
	}
	dir := t.TempDir()
	path := newKeyFile(t, "", "-t", "ed25519")
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o620, 0o601} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		fileProblem(t, load(path), sshsig.ProblemPermissions, "chmod 600 "+path)
	}
	err := load(filepath.Join(dir, "none"))
	fileProblem(t, err, sshsig.ProblemMissing)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("a missing file is not told from others")
	}
	fileProblem(t, load(dir), sshsig.ProblemNotKey, "regular")
	fileProblem(t, load(writeFile(t, filepath.Join(dir, "text"), []byte("hello\n"), 0o600)), sshsig.ProblemNotKey)
	fileProblem(t, load(writeFile(t, filepath.Join(dir, "big"), make([]byte, 70<<10), 0o600)), sshsig.ProblemNotKey)
	private, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fileProblem(t, load(writeFile(t, filepath.Join(dir, "cut"), private[:200], 0o600)), sshsig.ProblemNotKey)
	// A public half that is not the private one's would sign under a false name.
	block, _ := pem.Decode(private)
	point := publicKeyFile(t, path+".pub").Marshal()[19:]
	block.Bytes = bytes.Replace(block.Bytes, point, newEd25519(t).pub.Marshal()[19:], 1)
	fileProblem(t, load(writeFile(t, filepath.Join(dir, "swapped"), pem.EncodeToMemory(block), 0o600)), sshsig.ProblemOtherKey)
	pkcs8 := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte{0x30, 0}})
	fileProblem(t, load(writeFile(t, filepath.Join(dir, "pkcs8"), pkcs8, 0o600)), sshsig.ProblemNotKey, "ssh-keygen -p")
	if err := load(newKeyFile(t, "", "-t", "rsa", "-b", "2048")); ruleOf(err) != sshsig.RuleKeySize {
		t.Error(err)
	}
	fileProblem(t, load(writeFile(t, filepath.Join(dir, "sk"), skPrivateFile(t), 0o600)), sshsig.ProblemSecurityKey, "ssh-agent", ".pub")
}

// skPrivateFile is the file that ssh-keygen -t ed25519-sk writes: a handle that
// only the hardware understands.
func skPrivateFile(t *testing.T) []byte {
	t.Helper()
	pub := newSKEd25519(t, 1).pub.Marshal()
	private := append([]byte{1, 2, 3, 4, 1, 2, 3, 4}, pub...)
	private = append(private, 1)
	private = append(private, str([]byte("handle"), nil, []byte("comment"))...)
	b := append([]byte("openssh-key-v1\x00"), str([]byte("none"), []byte("none"), nil)...)
	b = append(b, 0, 0, 0, 1)
	b = append(b, str(pub, private)...)
	return pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: b})
}

func TestKeyFileFormats(t *testing.T) {
	dir := t.TempDir()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaPrivate, err := rsa.GenerateKey(rand.Reader, 3072)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(ed)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"pkcs8": {Type: "PRIVATE KEY", Bytes: pkcs8},
		"pkcs1": {Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaPrivate)},
	} {
		path := writeFile(t, filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600)
		signer, err := sshsig.LoadKeyFile(context.Background(), sshsig.OpenFile, path, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		mustSign(t, signer, sshsig.NamespaceLock, message)
	}
}

// config is git's configuration, or a part of it.
func config(values map[string]string) func(string) (string, error) {
	return func(key string) (string, error) { return values[key], nil }
}

func TestFind(t *testing.T) {
	ctx := context.Background()
	home := filepath.Dir(newKeyFile(t, "", "-t", "ed25519"))
	file := publicKeyFile(t, filepath.Join(home, "key.pub"))
	keyring := agent.NewKeyring()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	held := add(t, keyring, private)
	heldPub := writeFile(t, filepath.Join(home, "held.pub"), ssh.MarshalAuthorizedKey(held), 0o644)
	locked := newKeyFile(t, "secret", "-t", "ed25519", "-a", "1")
	lockedRaw, err := os.ReadFile(locked)
	if err != nil {
		t.Fatal(err)
	}
	unlocked, err := ssh.ParseRawPrivateKeyWithPassphrase(lockedRaw, []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	lockedKey := add(t, keyring, unlocked)
	ssh1 := func(key string) map[string]string {
		return map[string]string{"gpg.format": "ssh", "user.signingkey": key}
	}
	for _, c := range []struct {
		name   string
		flag   string
		config map[string]string
		want   ssh.PublicKey
	}{
		{"flag, private file", filepath.Join(home, "key"), nil, file},
		{"flag, public file of a private one", filepath.Join(home, "key.pub"), nil, file},
		{"flag, in the home folder", "~/key.pub", nil, file},
		{"flag, public file of the agent's key", heldPub, nil, held},
		{"flag, private name with the public file alone", filepath.Join(home, "held"), nil, held},
		{"flag, literal", line(held), nil, held},
		{"flag goes before git", heldPub, ssh1(filepath.Join(home, "key")), held},
		{"git, private file", "", ssh1(filepath.Join(home, "key")), file},
		{"git, public file", "", ssh1("~/key.pub"), file},
		{"git, literal", "", ssh1(line(held)), held},
		{"git, key::", "", ssh1("key::" + line(held) + " a comment"), held},
		{"encrypted file that the agent holds", locked, nil, lockedKey},
	} {
		t.Run(c.name, func(t *testing.T) {
			signer, err := sshsig.Find(ctx, sshsig.FindOptions{
				KeyFlag: c.flag, GitConfig: config(c.config), Home: home, Agent: serve(keyring), Open: sshsig.OpenFile,
			})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(mustSign(t, signer, sshsig.NamespaceDecision, message).PublicKey.Marshal(), c.want.Marshal()) {
				t.Error("signed by another key")
			}
		})
	}
	asked := 0
	signer, err := sshsig.Find(ctx, sshsig.FindOptions{KeyFlag: locked + ".pub", Open: sshsig.OpenFile, Ask: answers(&asked, "secret")})
	if err != nil {
		t.Fatal(err)
	}
	mustSign(t, signer, sshsig.NamespaceDecision, message)
}

func TestFindFails(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Dir(newKeyFile(t, "", "-t", "ed25519"))
	writeFile(t, filepath.Join(dir, "key.pub"), ssh.MarshalAuthorizedKey(newEd25519(t).pub), 0o644)
	alone := writeFile(t, filepath.Join(dir, "alone.pub"), ssh.MarshalAuthorizedKey(newEd25519(t).pub), 0o644)
	find := func(flag string, values map[string]string) error {
		_, err := sshsig.Find(ctx, sshsig.FindOptions{
			KeyFlag: flag, GitConfig: config(values), Home: dir, Agent: serve(agent.NewKeyring()), Open: sshsig.OpenFile,
		})
		return err
	}
	for name, values := range map[string]map[string]string{
		"nothing":             {},
		"ssh without a key":   {"gpg.format": "ssh"},
		"an OpenPGP key":      {"user.signingkey": "0xABCDEF"},
		"an OpenPGP key too":  {"gpg.format": "openpgp", "user.signingkey": filepath.Join(dir, "key")},
		"a command for a key": {"gpg.format": "ssh", "gpg.ssh.defaultKeyCommand": "touch " + filepath.Join(dir, "ran")},
	} {
		err := find("", values)
		var none *sshsig.NoKeyError
		if !errors.As(err, &none) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, hint := range []string{"git config gpg.format ssh\n", "git config user.signingkey ~/.ssh/id_ed25519.pub\n", "--ssh-key"} {
			if !strings.Contains(err.Error(), hint) {
				t.Errorf("%s: %q does not mention %q", name, err, hint)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("gpg.ssh.defaultKeyCommand was run")
	}
	fileProblem(t, find(filepath.Join(dir, "none"), nil), sshsig.ProblemMissing, "--ssh-key")
	fileProblem(t, find("", map[string]string{"gpg.format": "ssh", "user.signingkey": "/none"}), sshsig.ProblemMissing, "user.signingkey")
	fileProblem(t, find(filepath.Join(dir, "key.pub"), nil), sshsig.ProblemOtherKey, "key.pub")
	agentProblem(t, find(alone, nil), sshsig.ProblemKeyNotHeld, "--ssh-key")
	agentProblem(t, find("key::"+line(newEd25519(t).pub), nil), sshsig.ProblemKeyNotHeld)
	if err := find("key::ssh-ed25519 AAAA", nil); ruleOf(err) == "" {
		t.Error(err)
	}
	if err := find(writeFile(t, filepath.Join(dir, "text"), []byte("hello\n"), 0o600), nil); ruleOf(err) != sshsig.RuleKeyType {
		t.Error(err)
	}
	sk := writeFile(t, filepath.Join(dir, "sk"), skPrivateFile(t), 0o600)
	fileProblem(t, find(sk, nil), sshsig.ProblemSecurityKey)
	broken := errors.New("bad config line 3")
	_, err := sshsig.Find(ctx, sshsig.FindOptions{GitConfig: func(string) (string, error) { return "", broken }})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

// One signer may be used from several goroutines while it is still locked.
func TestKeyFileConcurrent(t *testing.T) {
	path := newKeyFile(t, "secret", "-t", "ed25519", "-a", "1")
	asked := 0
	signer, err := sshsig.LoadKeyFile(context.Background(), sshsig.OpenFile, path, answers(&asked, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for range 4 {
		go func() {
			_, err := sshsig.Sign(context.Background(), signer, sshsig.NamespaceLock, nil)
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
}
