package sshsig_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"agentgateway-lock/pkg/sshsig"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// serve is a Dialer to an agent in this process.
func serve(a agent.Agent) sshsig.Dialer {
	return func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		go func() {
			_ = agent.ServeAgent(a, theirs) // ends with the connection
			_ = theirs.Close()
		}()
		return ours, nil
	}
}

func add(t *testing.T, a agent.Agent, private any) ssh.PublicKey {
	t.Helper()
	if err := a.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s.PublicKey()
}

// refusing holds keys and signs with none, as an agent does whose question was
// answered with no.
type refusing struct{ agent.Agent }

func (refusing) Sign(ssh.PublicKey, []byte) (*ssh.Signature, error) {
	return nil, errors.New("the user said no")
}

func agentProblem(t *testing.T, err error, want string, hints ...string) {
	t.Helper()
	var ae *sshsig.AgentError
	if !errors.As(err, &ae) || ae.Problem != want {
		t.Fatalf("%v, want problem %q", err, want)
	}
	for _, hint := range append(hints, ae.Fingerprint) {
		if !strings.Contains(err.Error(), hint) {
			t.Errorf("%q does not mention %q", err, hint)
		}
	}
}

func TestAgent(t *testing.T) {
	ctx := context.Background()
	keyring := agent.NewKeyring()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaPrivate, err := rsa.GenerateKey(rand.Reader, 3072)
	if err != nil {
		t.Fatal(err)
	}
	keys := []ssh.PublicKey{add(t, keyring, ed), add(t, keyring, rsaPrivate)}
	for _, key := range keys {
		signer, err := sshsig.Agent(ctx, serve(keyring), key)
		if err != nil {
			t.Fatal(err)
		}
		s := mustSign(t, signer, sshsig.NamespaceTrust, message)
		if key.Type() == ssh.KeyAlgoRSA && s.Value.Format != ssh.KeyAlgoRSASHA512 {
			t.Errorf("RSA through the agent gave %s", s.Value.Format)
		}
	}

	_, err = sshsig.Agent(ctx, nil, keys[0])
	agentProblem(t, err, sshsig.ProblemNoAgent, "SSH_AUTH_SOCK", "ssh-add")
	_, err = sshsig.Agent(ctx, sshsig.SocketDialer(""), keys[0])
	agentProblem(t, err, sshsig.ProblemNoAgent)
	_, err = sshsig.Agent(ctx, sshsig.SocketDialer(filepath.Join(t.TempDir(), "none")), keys[0])
	agentProblem(t, err, sshsig.ProblemUnreachable, "SSH_AUTH_SOCK")
	_, err = sshsig.Agent(ctx, serve(keyring), newEd25519(t).pub)
	agentProblem(t, err, sshsig.ProblemKeyNotHeld, "ssh-add")
	if _, err = sshsig.Agent(ctx, serve(keyring), newRSA(t, 2048, ssh.KeyAlgoRSASHA512).pub); ruleOf(err) != sshsig.RuleKeySize {
		t.Errorf("a short key: %v", err)
	}

	signer, err := sshsig.Agent(ctx, serve(refusing{keyring}), keys[0])
	if err != nil {
		t.Fatal(err)
	}
	_, err = sshsig.Sign(ctx, signer, sshsig.NamespaceLock, nil)
	agentProblem(t, err, sshsig.ProblemRefused, "touch")
	if err := keyring.Lock([]byte("pw")); err != nil {
		t.Fatal(err)
	}
	_, err = sshsig.Agent(ctx, serve(keyring), keys[0])
	agentProblem(t, err, sshsig.ProblemKeyNotHeld, "locked")
}

// An agent that talks nonsense, or hangs up, or never answers.
func TestAgentMisbehaves(t *testing.T) {
	key := newEd25519(t).pub
	for name, reply := range map[string]string{
		"hangs up":       "",
		"empty packet":   "\x00\x00\x00\x00",
		"huge packet":    "\xff\xff\xff\xff",
		"unknown answer": "\x00\x00\x00\x01\xfe",
		"huge count":     "\x00\x00\x00\x05\x0c\xff\xff\xff\xff",
		"failure":        "\x00\x00\x00\x01\x05",
	} {
		dial := func(context.Context) (io.ReadWriteCloser, error) {
			ours, theirs := net.Pipe()
			go func() {
				_, _ = io.ReadFull(theirs, make([]byte, 5)) // one request for the list
				_, _ = io.WriteString(theirs, reply)
				_ = theirs.Close()
			}()
			return ours, nil
		}
		_, err := sshsig.Agent(context.Background(), dial, key)
		var ae *sshsig.AgentError
		if !errors.As(err, &ae) || ae.Problem != sshsig.ProblemUnreachable {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	silent := func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = io.ReadFull(theirs, make([]byte, 5))
			cancel()
		}()
		return ours, nil
	}
	if _, err := sshsig.Agent(ctx, silent, key); !errors.Is(err, context.Canceled) {
		t.Errorf("an agent that never answers: %v", err)
	}
}

func TestRealAgent(t *testing.T) {
	program, err := exec.LookPath("ssh-agent")
	if err != nil {
		t.Skip("ssh-agent is not installed")
	}
	socket := filepath.Join(t.TempDir(), "agent")
	out, err := exec.Command(program, "-s", "-a", socket).Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(regexp.MustCompile(`SSH_AGENT_PID=(\d+)`).FindSubmatch(out)[1]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p, err := os.FindProcess(pid)
		if err == nil {
			err = p.Signal(syscall.SIGTERM)
		}
		if err != nil {
			t.Error(err)
		}
	})
	ctx := context.Background()
	for _, args := range [][]string{{"-t", "ed25519"}, {"-t", "ecdsa", "-b", "384"}, {"-t", "rsa", "-b", "3072"}} {
		path := newKeyFile(t, "", args...)
		addCmd := exec.Command("ssh-add", "-q", path)
		addCmd.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
		if out, err := addCmd.CombinedOutput(); err != nil {
			t.Fatalf("ssh-add: %s", out)
		}
		signer, err := sshsig.Find(ctx, sshsig.FindOptions{KeyFlag: path + ".pub", Agent: sshsig.SocketDialer(socket), Open: onlyPublic})
		if err != nil {
			t.Fatal(err)
		}
		mustSign(t, signer, sshsig.NamespaceDecision, message)
	}
}
