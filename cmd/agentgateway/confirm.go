package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"agentgateway-lock/pkg/textcheck"
)

// maxAnswer bounds a line that is typed.
const maxAnswer = 1000

// confirm makes what asks the user a question; nil where standard input or standard
// error is no terminal.
func (a *app) confirm() func(lines []string, question string) (bool, error) {
	in, inOK := a.stdin.(*os.File)
	out, outOK := a.rawErr.(*os.File)
	if !inOK || !outOK || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil
	}
	return func(lines []string, question string) (bool, error) {
		for _, line := range lines {
			fmt.Fprintln(a.stderr, textcheck.Terminal(line))
		}
		fmt.Fprint(a.stderr, question+" [y/N] ")
		answer, err := readLine(in)
		answer = strings.ToLower(strings.TrimSpace(answer))
		return answer == "y" || answer == "yes", err
	}
}

// readLine reads a line and nothing after it.
func readLine(in io.Reader) (string, error) {
	var line []byte
	for one := make([]byte, 1); len(line) < maxAnswer; {
		n, err := in.Read(one)
		if n == 1 && one[0] == '\n' {
			return string(line), nil
		}
		line = append(line, one[:n]...)
		if err != nil {
			return string(line), fmt.Errorf("there was no answer: %w", err)
		}
	}
	return "", errors.New("the answer is too long")
}
