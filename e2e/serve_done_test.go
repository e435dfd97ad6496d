package e2e

import (
	"bufio"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"crypto/ed25519"

	"golang.org/x/crypto/ssh"

	"agentgateway-lock/cmd/mockupstream/upstream"
	"agentgateway-lock/e2e/gatewaydouble"
)

// person is what one person does with the command in a repository.
type person struct {
	t       *testing.T
	program string
	dir     string
	env     []string
	key     string
}

func newPerson(t *testing.T) *person {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	p := &person{t: t, program: path, dir: t.TempDir(), key: filepath.Join(home, "key"), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Alice", "GIT_AUTHOR_EMAIL=alice@example.com", "GIT_COMMITTER_NAME=Alice", "GIT_COMMITTER_EMAIL=alice@example.com",
	}}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "alice")
	if err != nil {
		t.Fatal(err)
	}
	line, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{p.key: pem.EncodeToMemory(block), p.key + ".pub": ssh.MarshalAuthorizedKey(line)} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// do runs a command and returns what it printed on stdout.
func (p *person) do(name string, args ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), name, args...)
	var stderr strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = p.dir, p.env, &stderr
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 && (args[0] == "review" || args[0] == "lock") {
		err = nil // findings, which is what was asked for
	}
	if err != nil {
		p.t.Fatalf("%s %q: %v\n%s%s", filepath.Base(name), args, err, out, stderr.String())
	}
	return string(out)
}

func (p *person) agw(args ...string) string { p.t.Helper(); return p.do(p.program, args...) }

// lastWord is the last word of the last line that begins with a word.
func lastWord(t *testing.T, text, first string) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	word, ok := strings.CutPrefix(lines[len(lines)-1], first+" ")
	if !ok {
		t.Fatalf("the last line is no %q:\n%s", first, text)
	}
	return word
}

// approveAll reviews and approves all that waits.
func (p *person) approveAll() {
	p.t.Helper()
	p.agw("approve", "--review", lastWord(p.t, p.agw("review"), "review"), "--ssh-key", p.key)
}

// serving is the command serve as a process.
type serving struct {
	cmd    *exec.Cmd
	stderr *syncBuffer
	ended  chan error
}

func (p *person) serve(args ...string) *serving {
	p.t.Helper()
	s := &serving{cmd: exec.Command(p.program, append([]string{"serve"}, args...)...), stderr: &syncBuffer{}, ended: make(chan error, 1)}
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = p.dir, p.env, s.stderr
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { s.ended <- s.cmd.Wait() }()
	p.t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	return s
}

// end sends a signal and waits until the process has ended.
func (s *serving) end(t *testing.T, signal os.Signal) error {
	t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.ended:
		return err
	case <-time.After(patience):
		t.Fatalf("it did not end on %v:\n%s", signal, s.stderr)
		return nil
	}
}

// The whole way, with the command as people run it: lock, approve, seal with a
// tag, serve from the tag; a change at the server hides the tool and denies its
// calls; the approval of the change, sealed with the next tag, brings it back.
func TestServeDone(t *testing.T) {
	up := upstream.New(upstream.Options{})
	defer func() { _ = up.Close() }()
	url, err := up.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := newPerson(t)
	p.do("git", "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(p.dir, ".mcp.json"), fmt.Appendf(nil, `{"mcpServers":{"mock":{"type":"http","url":%q}}}`, url), 0o600); err != nil {
		t.Fatal(err)
	}
	p.agw("lock", "--allow-private", mock)
	p.do("git", "add", "-A")
	p.do("git", "commit", "-q", "-m", "Lock")
	root := lastWord(t, p.agw("trust", "init", "--as", "alice@example.com", "--ssh-key", p.key), "trust-root")
	p.env = append(p.env, "AGENTGATEWAY_TRUST_ROOT="+root)
	p.agw("trust", "add", "alice@example.com", "--key", p.key+".pub", "--role", "admin", "--role", "approver", "--role", "deployer", "--ssh-key", p.key)
	p.approveAll()
	p.agw("seal", "--tag", "lock/v1", "--ssh-key", p.key)

	folder := shortDir(t)
	socket := filepath.Join(folder, "p.sock")
	args := []string{"--ref", "lock/v*", "--listen", "unix:" + socket, "--state-dir", filepath.Join(folder, "state"), "--refresh", "100ms", "--probe", "0"}
	s := p.serve(args...)
	waitUntil(t, "the policy is in force", func() bool { return strings.Contains(s.stderr.String(), "policy in force") })
	front, err := gatewaydouble.Start(t.Context(), gatewaydouble.Config{
		Targets:    []gatewaydouble.Target{{Name: mock, URL: url}},
		Processors: []gatewaydouble.Processor{{Host: "unix:" + socket, Methods: hookMethods()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = front.Close() }()
	a := newAgent(t, front.URL(), nil)
	a.wantTools("add", "echo", "wipe_database")
	wantAllowed(t, a.echo())

	if err := up.Describe("echo", "Returns the message, in capitals."); err != nil {
		t.Fatal(err)
	}
	a.wantTools("add", "wipe_database")
	calls := up.Calls("echo")
	r := a.echo()
	if r == nil || r.Seen == "" || !strings.Contains(r.reason, r.Approved) || !strings.Contains(r.reason, r.Seen) {
		t.Fatalf("the denial does not name the digests: %+v", r)
	}

	p.agw("lock", mock)
	a.wantTools("add", "wipe_database") // locked is not approved
	p.do("git", "add", "-A")
	p.do("git", "commit", "-q", "-m", "Lock what the server shows now")
	p.approveAll()
	a.wantTools("add", "wipe_database") // approved is not sealed
	wantDenied(t, a.echo(), "evidence-contradicts")
	if n := up.Calls("echo"); n != calls {
		t.Errorf("the upstream saw %d calls of echo in between", n-calls)
	}
	p.agw("seal", "--tag", "lock/v2", "--ssh-key", p.key)
	waitUntil(t, "the tool is back", func() bool { return len(a.tools()) == 3 })
	wantAllowed(t, a.echo())

	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("it ended with %v:\n%s", err, s.stderr)
	}
	if _, err := os.Lstat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

// A second signal does not wait for what is in flight, and SIGHUP reloads.
func TestServeSignals(t *testing.T) {
	p := newPerson(t)
	p.do("git", "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(p.dir, "agentgateway.lock"), []byte("{\n  \"lockfileVersion\": 1,\n  \"generatedBy\": \"agentgateway-lock@0.1.0\",\n  \"generatedAt\": \"2026-11-30T12:00:00.000Z\",\n  \"servers\": {}\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do("git", "add", "-A")
	p.do("git", "commit", "-q", "-m", "Lock")
	socket := filepath.Join(shortDir(t), "p.sock")
	s := p.serve("--ref", "main", "--unsigned", "--listen", "unix:"+socket, "--refresh", "0", "--log-format", "json")
	commits := func() int { return strings.Count(s.stderr.String(), "policy in force") }
	waitUntil(t, "the policy is in force", func() bool { return commits() == 1 })
	p.do("git", "commit", "-q", "--allow-empty", "-m", "Another commit")
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the new commit is in force", func() bool { return commits() == 2 })
	for lines := bufio.NewScanner(strings.NewReader(s.stderr.String())); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), `{"time":`) {
			t.Errorf("a line of the log is not JSON: %s", lines.Text())
		}
	}
	// Two processors never share a socket.
	second := p.serve("--ref", "main", "--unsigned", "--listen", "unix:"+socket)
	if err := <-second.ended; err == nil || !strings.Contains(second.stderr.String(), "another process listens") {
		t.Errorf("a second processor ended with %v:\n%s", err, second.stderr)
	}
	if err := s.end(t, os.Interrupt); err != nil {
		t.Errorf("it ended with %v:\n%s", err, s.stderr)
	}
	// A killed one leaves its socket, which the next replaces.
	s = p.serve("--ref", "main", "--unsigned", "--listen", "unix:"+socket)
	waitUntil(t, "the policy is in force", func() bool { return commits() == 1 })
	_ = s.end(t, os.Kill)
	s = p.serve("--ref", "main", "--unsigned", "--listen", "unix:"+socket)
	waitUntil(t, "the policy is in force", func() bool { return commits() == 1 })
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("it ended with %v:\n%s", err, s.stderr)
	}
}
