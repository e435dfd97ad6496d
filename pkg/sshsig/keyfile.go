package sshsig

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

const (
	maxKeyFile      = 64 << 10
	passphraseTries = 3
)

// Problems of a private key file.
const (
	ProblemMissing     = "missing"      // the file cannot be opened
	ProblemPermissions = "permissions"  // others than its owner may read it
	ProblemNotKey      = "not-a-key"    // not a private key that can be read
	ProblemPassphrase  = "passphrase"   // not given, or wrong each time
	ProblemSecurityKey = "security-key" // the key is in hardware; the file alone cannot sign
	ProblemOtherKey    = "other-key"    // not the key that was asked for
)

// A KeyFileError is a private key file that cannot be used. Its text says what
// to do.
type KeyFileError struct {
	Path    string
	Problem string // ProblemMissing and so on
	Detail  string
	Err     error // the cause, where there is one
}

func (e *KeyFileError) Error() string {
	return fmt.Sprintf("ssh key %s: %s", quotePath(e.Path), e.Detail)
}

func (e *KeyFileError) Unwrap() error { return e.Err }

// An Opener opens a file for reading; os.Open in a program is wrapped by
// OpenFile.
type Opener func(name string) (fs.File, error)

// OpenFile is the Opener of the real file system.
func OpenFile(name string) (fs.File, error) { return os.Open(name) }

// LoadKeyFile reads a private key file: OpenSSH's own format, or the older PEM
// formats. A file that its group or others may read is refused. The passphrase
// of an encrypted OpenSSH key is asked for at the first signature and not
// before, since the public key stands in the open; that of an older format at
// once. A wrong one is asked for again, three times in all. ask may be nil where
// nobody can be asked. The error is a *KeyFileError, or a *FormatError where
// CheckKey refuses the key.
func LoadKeyFile(ctx context.Context, open Opener, path string, ask Passphrase) (Signer, error) {
	text, mode, err := readFile(open, path)
	if err != nil {
		return nil, err
	}
	k, err := newFileKey(path, text, mode, ask)
	if err != nil {
		return nil, err
	}
	return k.ready(ctx)
}

// fileKey is a key from a file. Until signer is set, text is what to decrypt.
type fileKey struct {
	path string
	ask  Passphrase

	pub ssh.PublicKey // nil only in an old format that hides it, until it is unlocked

	mu     sync.Mutex // over what follows
	text   []byte
	signer ssh.AlgorithmSigner
}

func (k *fileKey) PublicKey() ssh.PublicKey { return k.pub }

func (k *fileKey) Sign(ctx context.Context, data []byte) (*ssh.Signature, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.signer == nil {
		if err := k.unlock(ctx); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return k.signer.SignWithAlgorithm(rand.Reader, data, keyFormats[k.pub.Type()][0])
}

func (k *fileKey) problem(problem string, err error, detail string) error {
	return &KeyFileError{Path: k.path, Problem: problem, Detail: detail, Err: err}
}

// newFileKey reads as much of a private key as can be read without asking. The
// key is locked where signer stays nil.
func newFileKey(path string, text []byte, mode fs.FileMode, ask Passphrase) (*fileKey, error) {
	k := &fileKey{path: path, ask: ask, text: text}
	// Windows keeps access lists instead; its mode bits mean nothing.
	if runtime.GOOS != "windows" && mode.Perm()&0o077 != 0 {
		return nil, k.problem(ProblemPermissions, nil, fmt.Sprintf(
			"others can read this private key (mode %04o); run: chmod 600 %s", mode.Perm(), quotePath(path)))
	}
	if k.pub = openSSHPublicKey(text); k.pub != nil && isSecurityKey(k.pub) {
		return k, nil
	}
	signer, err := ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		return k, nil
	}
	if err != nil {
		return nil, k.problem(ProblemNotKey, err, notKeyDetail(err))
	}
	if err := k.use(signer); err != nil {
		return nil, err
	}
	return k, nil
}

// ready makes k a signer whose public key is known and accepted.
func (k *fileKey) ready(ctx context.Context) (Signer, error) {
	if k.pub == nil {
		if err := k.unlock(ctx); err != nil {
			return nil, err
		}
	}
	if isSecurityKey(k.pub) {
		return nil, k.problem(ProblemSecurityKey, nil,
			"this key is in a security key, which only ssh-agent can use; run ssh-add on it and give the .pub file as --ssh-key")
	}
	if err := CheckKey(k.pub); err != nil {
		return nil, fmt.Errorf("ssh key %s: %w", quotePath(k.path), err)
	}
	return k, nil
}

func notKeyDetail(err error) string {
	return "not a private key that can be read (" + strings.TrimPrefix(err.Error(), "ssh: ") +
		"); ssh-keygen -p -f FILE rewrites an older format"
}

// use takes a decrypted key into service.
func (k *fileKey) use(signer ssh.Signer) error {
	as, ok := signer.(ssh.AlgorithmSigner)
	if !ok {
		return k.problem(ProblemNotKey, nil, "this type of key cannot sign")
	}
	if k.pub == nil {
		k.pub = as.PublicKey()
	}
	if !sameKey(k.pub, as.PublicKey()) {
		return k.problem(ProblemOtherKey, nil, "the private key does not belong to the public key in the same file")
	}
	k.signer, k.text = as, nil
	return nil
}

// unlock asks for the passphrase until it fits, three times at most.
func (k *fileKey) unlock(ctx context.Context) error {
	if k.ask == nil {
		return k.problem(ProblemPassphrase, nil,
			"it needs a passphrase and there is no terminal to ask on; add it to ssh-agent with ssh-add, or set SSH_ASKPASS and SSH_ASKPASS_REQUIRE=force")
	}
	prompt := fmt.Sprintf("Enter passphrase for key %s: ", quotePath(k.path))
	var err error
	for range passphraseTries {
		if err = ctx.Err(); err != nil {
			return err
		}
		var pass []byte
		if pass, err = k.ask(ctx, prompt); err != nil {
			return k.problem(ProblemPassphrase, err, "the passphrase was not given: "+err.Error())
		}
		var signer ssh.Signer
		signer, err = ssh.ParsePrivateKeyWithPassphrase(k.text, pass)
		wrong := errors.Is(err, x509.IncorrectPasswordError) || len(pass) == 0
		clear(pass)
		if err == nil {
			return k.use(signer)
		}
		if !wrong {
			return k.problem(ProblemNotKey, err, notKeyDetail(err))
		}
	}
	return k.problem(ProblemPassphrase, err, fmt.Sprintf("wrong passphrase, %d times; ssh-keygen -y -f FILE tells whether a passphrase fits", passphraseTries))
}

// openSSHPublicKey is the public half that an OpenSSH private key file shows
// without its passphrase, or nil.
func openSSHPublicKey(text []byte) ssh.PublicKey {
	const head = "openssh-key-v1\x00"
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "OPENSSH PRIVATE KEY" || !bytes.HasPrefix(block.Bytes, []byte(head)) {
		return nil
	}
	r := reader{rest: block.Bytes[len(head):]}
	r.str() // cipher
	r.str() // key derivation
	r.str() // its options
	if r.uint32() != 1 {
		return nil
	}
	pub, err := ssh.ParsePublicKey(r.str())
	if err != nil {
		return nil
	}
	return pub
}

// readFile reads a key file, private or public, and its mode from one handle.
func readFile(open Opener, path string) (text []byte, mode fs.FileMode, err error) {
	fail := func(problem string, err error, detail string) ([]byte, fs.FileMode, error) { //nolint:unparam // it stands in a return
		return nil, 0, &KeyFileError{Path: path, Problem: problem, Detail: detail, Err: err}
	}
	f, err := open(path)
	if err != nil {
		return fail(ProblemMissing, err, "cannot be opened: "+cause(err))
	}
	defer func() { _ = f.Close() }() // opened for reading alone
	info, err := f.Stat()
	if err != nil {
		return fail(ProblemMissing, err, "cannot be opened: "+cause(err))
	}
	if !info.Mode().IsRegular() {
		return fail(ProblemNotKey, nil, "not a regular file")
	}
	text, err = io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return fail(ProblemMissing, err, "cannot be read: "+cause(err))
	}
	if len(text) > maxKeyFile {
		return fail(ProblemNotKey, nil, fmt.Sprintf("longer than %d bytes, so not a key", maxKeyFile))
	}
	return text, info.Mode(), nil
}

// cause is the error without the path that the message has already.
func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// quotePath leaves an ordinary path as a person would write it.
func quotePath(path string) string {
	if printable(path, len(path)) && !strings.ContainsAny(path, " \"'") {
		return path
	}
	return fmt.Sprintf("%q", path)
}

func sameKey(a, b ssh.PublicKey) bool { return bytes.Equal(a.Marshal(), b.Marshal()) }
