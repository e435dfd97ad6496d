package sshsig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// Problems with ssh-agent.
const (
	ProblemNoAgent     = "no-agent"    // none is named
	ProblemUnreachable = "unreachable" // it does not answer, or not in its protocol
	ProblemKeyNotHeld  = "key-missing" // it does not hold the key
	ProblemRefused     = "refused"     // it holds the key and would not sign
)

// An AgentError is a signature that ssh-agent could not give. Its text says
// what to do.
type AgentError struct {
	Problem     string // ProblemNoAgent and so on
	Fingerprint string // the key that was asked for
	Detail      string
	Err         error // the cause, where there is one
}

func (e *AgentError) Error() string {
	return fmt.Sprintf("ssh-agent, key %s: %s", e.Fingerprint, e.Detail)
}

func (e *AgentError) Unwrap() error { return e.Err }

// A Dialer connects to ssh-agent. Each operation uses a connection of its own
// and closes it. A nil Dialer means that there is no agent.
type Dialer func(ctx context.Context) (io.ReadWriteCloser, error)

// SocketDialer reaches the agent at a Unix socket, as SSH_AUTH_SOCK names it.
// It is nil for an empty path.
func SocketDialer(path string) Dialer {
	if path == "" {
		return nil
	}
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
}

// Agent is a signer for a key that ssh-agent holds; that it holds it is checked
// here. The error is an *AgentError, or a *FormatError where CheckKey refuses
// the key.
func Agent(ctx context.Context, dial Dialer, key ssh.PublicKey) (Signer, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	k := &agentKey{dial: dial, key: key}
	held := false
	err := k.talk(ctx, func(c agent.ExtendedAgent) error {
		keys, err := c.List()
		if err != nil {
			return k.problem(ctx, ProblemUnreachable, err, "the agent did not list its keys: "+err.Error())
		}
		for _, other := range keys {
			held = held || sameKey(key, other)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !held {
		return nil, k.problem(ctx, ProblemKeyNotHeld, nil,
			"the agent does not hold this key, or is locked; ssh-add -l lists its keys, ssh-add FILE adds one, and SSH_AUTH_SOCK names the agent where there are several")
	}
	return k, nil
}

type agentKey struct {
	dial Dialer
	key  ssh.PublicKey
}

func (k *agentKey) PublicKey() ssh.PublicKey { return k.key }

func (k *agentKey) Sign(ctx context.Context, data []byte) (sig *ssh.Signature, err error) {
	var flags agent.SignatureFlags
	if k.key.Type() == ssh.KeyAlgoRSA {
		flags = agent.SignatureFlagRsaSha512 // without it the agent answers with SHA-1
	}
	err = k.talk(ctx, func(c agent.ExtendedAgent) error {
		var err error
		if sig, err = c.SignWithFlags(k.key, data, flags); err != nil {
			return k.problem(ctx, ProblemRefused, err,
				"the agent would not sign ("+err.Error()+"); confirm its question or touch the security key in time, and unlock it if it is locked")
		}
		return nil
	})
	return sig, err
}

// talk runs one exchange on a connection of its own, which closes when ctx ends:
// an agent that waits for a person would otherwise hold the caller.
func (k *agentKey) talk(ctx context.Context, exchange func(agent.ExtendedAgent) error) error {
	if k.dial == nil {
		return k.problem(ctx, ProblemNoAgent, nil,
			"there is no agent: SSH_AUTH_SOCK is not set; start one with eval \"$(ssh-agent)\" and add the key with ssh-add")
	}
	conn, err := k.dial(ctx)
	if err != nil {
		return k.problem(ctx, ProblemUnreachable, err,
			"the agent cannot be reached: "+err.Error()+"; check SSH_AUTH_SOCK, or start one with eval \"$(ssh-agent)\"")
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		if stop() {
			_ = conn.Close() // nothing is left to lose
		}
	}()
	return exchange(agent.NewClient(conn))
}

// problem prefers the end of ctx, which closed the connection, to its symptom.
func (k *agentKey) problem(ctx context.Context, problem string, err error, detail string) error {
	if cerr := ctx.Err(); cerr != nil {
		return errors.Join(cerr, err)
	}
	return &AgentError{Problem: problem, Fingerprint: Fingerprint(k.key), Detail: detail, Err: err}
}
