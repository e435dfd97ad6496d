package sshsig_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"agentgateway-lock/pkg/sshsig"
)

// The rules of ssh(1) for SSH_ASKPASS_REQUIRE.
func TestAskPassProgram(t *testing.T) {
	for _, c := range []struct {
		require, display string
		terminal, want   bool
	}{
		{"", "", true, false},
		{"", ":0", true, false},
		{"", "", false, false},
		{"", ":0", false, true},
		{"never", ":0", false, false},
		{"never", ":0", true, false},
		{"prefer", ":0", true, true},
		{"prefer", ":0", false, true},
		{"prefer", "", true, false},
		{"prefer", "", false, false},
		{"force", "", true, true},
		{"force", "", false, true},
		{"FORCE", "", true, true},
		{"nonsense", ":0", true, false},
	} {
		for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY"} {
			env := map[string]string{"SSH_ASKPASS": "/bin/ask", "SSH_ASKPASS_REQUIRE": c.require, name: c.display}
			got := sshsig.AskPassProgram(func(k string) string { return env[k] }, c.terminal)
			if (got == "/bin/ask") != c.want {
				t.Errorf("require %q, %s %q, terminal %v: %q", c.require, name, c.display, c.terminal, got)
			}
		}
	}
}

func TestAskPass(t *testing.T) {
	failure := errors.New("exit status 1")
	for _, c := range []struct {
		out  string
		err  error
		want string
		ok   bool
	}{
		{"secret\n", nil, "secret", true},
		{"secret\r\nmore\n", nil, "secret", true},
		{"secret", nil, "secret", true},
		{"", nil, "", true},
		{strings.Repeat("x", 2000), nil, "", false},
		{"secret\n", failure, "", false},
	} {
		ask := sshsig.AskPass(func(_ context.Context, program, argument string) ([]byte, error) {
			if program != "/bin/ask" || argument != "Enter: " {
				t.Errorf("started %q with %q", program, argument)
			}
			return []byte(c.out), c.err
		}, "/bin/ask")
		got, err := ask(context.Background(), "Enter: ")
		if string(got) != c.want || (err == nil) != c.ok || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%.20q: %q, %v", c.out, got, err)
		}
	}
}

func TestTerminalPassphraseWithoutTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	if _, err := sshsig.TerminalPassphrase(r, w)(context.Background(), "Enter: "); err == nil {
		t.Error("a pipe passes for a terminal")
	}
}
