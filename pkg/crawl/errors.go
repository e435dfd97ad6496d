package crawl

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"agentgateway-lock/pkg/finding"
)

// Every error of this package is one of the types below, or that of a context.
// Error says what happened; Hint says what to do next. Texts of a server stand in
// them quoted and cut, and still have to be escaped for where they are shown.
// No error holds a URL's path or query, a header's value or a variable's value.

// An EgressError says that an address may not be contacted.
type EgressError struct {
	Host string // as configured
	Addr string // the address that was judged; empty where the name decided
	Why  string // as in "a loopback address"
	// Private is true where the endpoint's AllowPrivate would permit it.
	Private bool
}

func (e *EgressError) Error() string {
	if e.Addr == "" || e.Addr == e.Host {
		return fmt.Sprintf("%s may not be contacted: it is %s", e.Host, e.Why)
	}
	return fmt.Sprintf("%s may not be contacted: it leads to %s, %s", e.Host, e.Addr, e.Why)
}

// Hint implements [finding.Hinter].
func (e *EgressError) Hint() string {
	if e.Private {
		return "where that is meant, run lock with --allow-private and the server's name, so that the permission is in the lockfile"
	}
	return "configure another address; no setting permits this one"
}

// An UnreachableError says that a server could not be reached, or gave no answer
// in time.
type UnreachableError struct {
	Host    string        // of the URL, or the command
	Doing   string        // what was asked for, as in tools/list
	Timeout time.Duration // where no answer came in time, else 0
	Err     error
}

func (e *UnreachableError) Error() string {
	if e.Timeout > 0 {
		return fmt.Sprintf("%s gave no answer to %s within %v", e.Host, e.Doing, e.Timeout)
	}
	return fmt.Sprintf("%s could not be reached: %v", e.Host, e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Hint implements [finding.Hinter].
func (e *UnreachableError) Hint() string {
	if e.Timeout > 0 {
		return "give it longer with --timeout, or look at why the server does not answer"
	}
	return "check the address, the network and the proxy settings, then run again"
}

// A LimitError says that a server sent more than a limit allows.
type LimitError struct {
	What  string // as in "bytes in one listing"
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the server sent more than %d %s", e.Limit, e.What)
}

// Hint implements [finding.Hinter].
func (e *LimitError) Hint() string {
	return "nothing of this server was read; ask its authors to serve less"
}

// A ProtocolError says that a server answered, but with an error or with what the
// protocol does not allow.
type ProtocolError struct {
	Doing  string // what was asked for, as in tools/list
	Detail string
	Code   int64 // of a JSON-RPC error, else 0
	Status int   // of an HTTP answer that is an error, else 0
	Answer bool  // it was a result, which cannot be used
	Err    error

	sessionLost  bool // the server has forgotten the session, which can be begun again
	legacyStream bool // it was the event stream of the older transport
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("the answer to %s cannot be used: %s", e.Doing, e.Detail)
}

// Unwrap returns the cause.
func (e *ProtocolError) Unwrap() error { return e.Err }

// Hint implements [finding.Hinter].
func (e *ProtocolError) Hint() string {
	switch {
	case e.legacyStream, slices.Contains([]int{http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusLengthRequired}, e.Status):
		return `it may speak the older HTTP+SSE transport only: add "type": "sse" to the server's configuration`
	case e.Status == http.StatusTooManyRequests, e.Status == http.StatusServiceUnavailable:
		return "the server is busy; run again later, or give it longer with --timeout"
	case e.Status >= 500:
		return "the server has a fault of its own; run again later"
	case e.Status >= 300 && e.Status < 400:
		return "configure the address that it redirects to, if that is meant"
	}
	return "check that the address or command is that of an MCP server, and ask its authors"
}

// An AuthError says that a server wants credentials, or others than it got.
type AuthError struct {
	Host      string
	Status    int    // 401 or 403
	Challenge string // what the server says it wants, quoted and cut; may be empty
	Sent      []string
	Empty     []string // headers whose configured value came out empty
}

func (e *AuthError) Error() string {
	wants := ""
	if e.Challenge != "" {
		wants = ", and asks for " + e.Challenge
	}
	switch {
	case len(e.Empty) > 0:
		return fmt.Sprintf("%s answered %d%s: the configured header %s is empty", e.Host, e.Status, wants, strings.Join(e.Empty, ", "))
	case len(e.Sent) > 0:
		return fmt.Sprintf("%s answered %d%s: it does not accept the configured header %s", e.Host, e.Status, wants, strings.Join(e.Sent, ", "))
	}
	return fmt.Sprintf("%s answered %d%s: the header Authorization is missing, no header is configured", e.Host, e.Status, wants)
}

// Hint implements [finding.Hinter].
func (e *AuthError) Hint() string {
	switch {
	case len(e.Empty) > 0:
		return "set the variable that the header " + e.Empty[0] + " names"
	case len(e.Sent) > 0:
		return "check the value of the variable that the header " + e.Sent[0] + " names: it may have expired or lack a scope"
	}
	return `add "headers": {"Authorization": "Bearer ${TOKEN}"} to the server's configuration and set the variable`
}

// A StartError says that a command could not be started, or ended or stayed
// silent before it gave its first answer.
type StartError struct {
	Command  string
	Detail   string // what happened
	Stderr   string // the end of its standard error
	NotFound bool   // there is no such command
	Silent   bool   // it runs, and gave no answer in time
	UTF16    bool   // its output is UTF-16, which no client reads
	Err      error
}

func (e *StartError) Error() string {
	if tail := lastLines(e.Stderr, 10); tail != "" {
		return fmt.Sprintf("%s %s; its standard error ends with:\n%s", e.Command, e.Detail, tail)
	}
	return fmt.Sprintf("%s %s", e.Command, e.Detail)
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Hint implements [finding.Hinter].
func (e *StartError) Hint() string {
	if program, args, ok := strings.Cut(e.Command, " "); ok && e.NotFound {
		words, _ := json.Marshal(strings.Fields(args)) // strings have a JSON form
		return fmt.Sprintf(`the member "command" holds arguments too: write "command": %q, "args": %s`, program, words)
	}
	if e.NotFound {
		return "install " + e.Command + ", or put its folder on PATH; give the command by name, since full paths differ between machines"
	}
	if e.UTF16 {
		return "the protocol is UTF-8: set the program, or the shell that starts it, to write that (for PowerShell `$OutputEncoding`)"
	}
	if e.Silent {
		return "give it longer with --start-timeout, or run the command by hand to see what it waits for"
	}
	return "run the command by hand; a server gets only the variables that its configuration names, so name those it needs under env"
}

// FindingOf is the finding of a server that could not be listed.
func FindingOf(server string, err error) finding.Finding {
	var (
		egress *EgressError
		limit  *LimitError
		auth   *AuthError
		code   = finding.ServerUnreachable
	)
	switch {
	case errors.As(err, &egress):
		code = finding.EgressDenied
	case errors.As(err, &limit):
		code = finding.ServerOverLimit
	case errors.As(err, &auth):
		code = finding.ServerUnauthorized
	}
	summary, detail, _ := strings.Cut(err.Error(), "\n")
	f := finding.New(code, finding.Place{Server: server}, summary)
	f.Detail = detail
	f.Hint = cmp.Or(finding.HintOf(err), f.Hint)
	return f
}

// lastLines returns at most n lines of the end of text, each at most stderrLine
// bytes long: what a program says last is what it ended with.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n\t "), "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		if len(line) > stderrLine {
			lines[i] = strings.ToValidUTF8(line[:stderrLine], "") + "…"
		}
	}
	return strings.Join(lines, "\n")
}

// final reports whether an error would come again over another connection or in
// another protocol version.
func final(err error) bool {
	var (
		egress      *EgressError
		limit       *LimitError
		auth        *AuthError
		unreachable *UnreachableError
		start       *StartError
	)
	switch {
	case errors.As(err, &egress), errors.As(err, &limit):
		return true
	case errors.As(err, &auth):
		return auth.Status == 401
	case errors.As(err, &unreachable):
		return unreachable.Timeout == 0
	case errors.As(err, &start):
		return start.NotFound
	}
	return false
}
