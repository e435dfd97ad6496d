package sshsig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// FindOptions is where Find looks for a key, and its outside world. GitConfig
// and Open are required.
type FindOptions struct {
	KeyFlag   string                           // --ssh-key; goes before git's configuration
	GitConfig func(key string) (string, error) // "" where the key is not set
	Home      string                           // for a path that begins with ~/
	Agent     Dialer                           // nil where there is no agent
	Open      Opener
	Ask       Passphrase // nil where nobody can be asked
}

// A NoKeyError is a person who has not said which key to sign with.
type NoKeyError struct {
	Reason string // what was looked at and did not help
}

func (e *NoKeyError) Error() string {
	return e.Reason + `; tell git which key to sign with:
  git config gpg.format ssh
  git config user.signingkey ~/.ssh/id_ed25519.pub
or give --ssh-key FILE`
}

// Find gives the signer for the key that a person means: the one named by
// KeyFlag, else the one git signs with (user.signingkey where gpg.format is
// ssh). Either names a private key file; a .pub file, whose key is the agent's
// or else in the private file next to it; or a literal key as git writes it
// ("key::ssh-ed25519 AAAA…" or "ssh-ed25519 AAAA…"), which is the agent's. An
// encrypted private key that the agent holds is used through the agent, so that
// nobody is asked twice. Programs that git's configuration names
// (gpg.ssh.program, gpg.ssh.defaultKeyCommand) are not run.
//
// Errors are *NoKeyError, *KeyFileError, *AgentError or *FormatError, or come
// from GitConfig.
func Find(ctx context.Context, o FindOptions) (Signer, error) {
	if o.KeyFlag != "" {
		s, err := o.resolve(ctx, o.KeyFlag)
		return s, wrap("--ssh-key", err)
	}
	ref, err := o.configured()
	if err != nil {
		return nil, err
	}
	s, err := o.resolve(ctx, ref)
	return s, wrap("git's user.signingkey", err)
}

func wrap(origin string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", origin, err)
}

// configured is git's user.signingkey, where it is an SSH key.
func (o FindOptions) configured() (string, error) {
	var values [3]string
	for i, key := range [...]string{"gpg.format", "user.signingkey", "gpg.ssh.defaultKeyCommand"} {
		v, err := o.GitConfig(key)
		if err != nil {
			return "", fmt.Errorf("cannot read git's %s: %w", key, err)
		}
		values[i] = v
	}
	format, key, command := values[0], values[1], values[2]
	switch {
	case format == "ssh" && key != "":
		return key, nil
	case format == "ssh" && command != "":
		return "", &NoKeyError{Reason: "there is no key to sign with: git's gpg.ssh.defaultKeyCommand is set, which is not run"}
	case key != "" && format != "ssh":
		return "", &NoKeyError{Reason: "there is no SSH key to sign with: git's user.signingkey is not an SSH key while gpg.format is not ssh"}
	}
	return "", &NoKeyError{Reason: "there is no key to sign with"}
}

// resolve turns one way of naming a key into a signer.
func (o FindOptions) resolve(ctx context.Context, ref string) (Signer, error) {
	literal, isLiteral := strings.CutPrefix(ref, "key::")
	if isLiteral || strings.HasPrefix(ref, "ssh-") && strings.Contains(ref, " ") {
		key, _, err := ParsePublicKey([]byte(literal))
		if err != nil {
			return nil, err
		}
		return Agent(ctx, o.Agent, key)
	}
	path := o.expand(ref)
	text, mode, err := readFile(o.Open, path)
	if errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(path, ".pub") {
		// The private half may live in the agent alone.
		if pub, _, perr := readFile(o.Open, path+".pub"); perr == nil {
			return o.public(ctx, path+".pub", pub)
		}
	}
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(text, []byte("-----BEGIN ")) {
		return o.private(ctx, path, text, mode)
	}
	return o.public(ctx, path, text)
}

// expand resolves ~/, which a shell leaves alone inside quotes and git expands.
func (o FindOptions) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && o.Home != "" {
		return filepath.Join(o.Home, rest)
	}
	return path
}

// public finds the private half of a public key file.
func (o FindOptions) public(ctx context.Context, path string, text []byte) (Signer, error) {
	key, _, err := ParsePublicKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quotePath(path), err)
	}
	signer, agentErr := Agent(ctx, o.Agent, key)
	if agentErr == nil || ctx.Err() != nil {
		return signer, agentErr
	}
	private, ok := strings.CutSuffix(path, ".pub")
	if !ok {
		return nil, agentErr
	}
	signer, err = LoadKeyFile(ctx, o.Open, private, o.Ask)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, agentErr
	}
	if err != nil {
		return nil, err
	}
	if !sameKey(key, signer.PublicKey()) {
		return nil, &KeyFileError{Path: private, Problem: ProblemOtherKey, Detail: "holds another key than " + quotePath(path)}
	}
	return signer, nil
}

// private uses a private key file, through the agent where the file alone would
// need a person or cannot sign.
func (o FindOptions) private(ctx context.Context, path string, text []byte, mode fs.FileMode) (Signer, error) {
	k, err := newFileKey(path, text, mode, o.Ask)
	if err != nil {
		return nil, err
	}
	if k.signer == nil && k.pub != nil && o.Agent != nil {
		if signer, err := Agent(ctx, o.Agent, k.pub); err == nil {
			return signer, nil
		}
	}
	return k.ready(ctx)
}
