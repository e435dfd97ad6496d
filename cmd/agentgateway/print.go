package main

import (
	"bytes"
	"io"

	"agentgateway-lock/pkg/report"
	"agentgateway-lock/pkg/textcheck"
)

// A printer is the one way to print. Every text may hold words of a server, a pull
// request or a file, so it shows what a terminal or a CI runner would obey and lets
// nothing of it through; line feeds alone are as they are. What is escaped for its
// medium already, such as a report with its colours, goes to app.rawOut and
// app.rawErr.
type printer struct {
	to io.Writer
	// open holds where the line that is written has begun already, so that what
	// follows cannot be read as a command at its start.
	open bool
}

// Write implements io.Writer.
func (p *printer) Write(text []byte) (int, error) {
	if len(text) == 0 {
		return 0, nil
	}
	const before = "x"
	shown := textcheck.TerminalLines(before + string(text))[len(before):]
	if !p.open {
		shown = textcheck.TerminalLines(string(text))
	}
	last := text[bytes.LastIndexByte(text, '\n')+1:]
	p.open = len(bytes.TrimLeft(last, " ")) > 0 || p.open && len(last) == len(text)
	if _, err := io.WriteString(p.to, shown); err != nil {
		return 0, err
	}
	return len(text), nil
}

// wrap makes printers of the streams of a run.
func (a *app) wrap() {
	a.rawOut, a.rawErr = a.stdout, a.stderr
	a.stdout, a.stderr = &printer{to: a.stdout}, &printer{to: a.stderr}
}

// printJSON prints v as indented JSON with all that a terminal or a runner could obey
// escaped by the encoding.
func (a *app) printJSON(v any) error { return report.WriteJSON(a.rawOut, v) }

// printJSONText prints a text that is JSON, as printJSON does.
func (a *app) printJSONText(text []byte) error {
	_, err := a.rawOut.Write(report.SafeJSON(text))
	return err
}
