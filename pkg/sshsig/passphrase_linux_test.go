package sshsig_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"agentgateway-lock/pkg/sshsig"

	"golang.org/x/sys/unix"
)

// newTerminal is a pseudo-terminal: the end that a person types on, and the end
// that a program reads.
func newTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	fd := int(person.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = person.Close(), program.Close() })
	return person, program
}

func echoes(t *testing.T, terminal *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

func TestTerminalPassphrase(t *testing.T) {
	person, program := newTerminal(t)
	if _, err := person.WriteString("secret\n"); err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	pass, err := sshsig.TerminalPassphrase(program, &shown)(context.Background(), "Enter: ")
	if err != nil || string(pass) != "secret" || shown.String() != "Enter: \n" {
		t.Errorf("%q, %v, shown %q", pass, err, &shown)
	}
	if !echoes(t, program) {
		t.Error("the terminal was left without echo")
	}
}

func TestTerminalPassphraseInterrupted(t *testing.T) {
	person, program := newTerminal(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := sshsig.TerminalPassphrase(program, &bytes.Buffer{})(ctx, "Enter: ")
		done <- err
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for echoes(t, program) {
		select {
		case err := <-done:
			t.Fatalf("returned at once: %v", err)
		case <-tick.C:
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !echoes(t, program) {
		t.Error("the terminal was left without echo")
	}
	if _, err := person.WriteString("\n"); err != nil { // ends the read that is left
		t.Error(err)
	}
}
