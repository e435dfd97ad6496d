package sshsig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

const maxPassphrase = 1 << 10 // as much as OpenSSH reads

// A Passphrase asks a person for a passphrase. The caller clears the result.
type Passphrase func(ctx context.Context, prompt string) ([]byte, error)

// A Runner starts program with one argument, waits for it, and returns what it
// wrote to its standard output. A status other than 0 is an error.
type Runner func(ctx context.Context, program, argument string) ([]byte, error)

// AskPassProgram says which program is to ask for a passphrase, or "" for none:
// SSH_ASKPASS under the rules of ssh(1). SSH_ASKPASS_REQUIRE=force uses it
// always, prefer uses it where there is a display, never never does; otherwise
// it is used where there is a display and no terminal.
func AskPassProgram(getenv func(string) string, terminal bool) string {
	use := !terminal
	allow := getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != ""
	switch strings.ToLower(getenv("SSH_ASKPASS_REQUIRE")) {
	case "force":
		use, allow = true, true
	case "prefer":
		use = use || allow
	case "never":
		allow = false
	}
	if use && allow {
		return getenv("SSH_ASKPASS")
	}
	return ""
}

// AskPass asks through a program such as SSH_ASKPASS names: it gets the prompt
// as its argument and writes the passphrase as the first line of its output.
func AskPass(run Runner, program string) Passphrase {
	return func(ctx context.Context, prompt string) ([]byte, error) {
		out, err := run(ctx, program, prompt)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", quotePath(program), err)
		}
		for i, b := range out {
			if b == '\n' || b == '\r' {
				clear(out[i:])
				out = out[:i]
				break
			}
		}
		if len(out) > maxPassphrase {
			return nil, fmt.Errorf("%s: gave more than %d bytes", quotePath(program), maxPassphrase)
		}
		return out, nil
	}
}

// TerminalPassphrase asks on a terminal without showing what is typed. When ctx
// ends it sets the terminal right and returns; what is typed after that is lost.
func TerminalPassphrase(in *os.File, out io.Writer) Passphrase {
	return func(ctx context.Context, prompt string) ([]byte, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fd := int(in.Fd())
		state, err := term.GetState(fd)
		if err != nil {
			return nil, errors.New("there is no terminal to ask on")
		}
		if _, err := io.WriteString(out, prompt); err != nil {
			return nil, err
		}
		type answer struct {
			pass []byte
			err  error
		}
		done := make(chan answer, 1)
		go func() {
			pass, err := term.ReadPassword(fd)
			done <- answer{pass, err}
		}()
		select {
		case a := <-done:
			_, err := io.WriteString(out, "\n")
			return a.pass, errors.Join(a.err, err)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), term.Restore(fd, state))
		}
	}
}
