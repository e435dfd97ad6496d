package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"agentgateway-lock/pkg/canonical"
)

// An Error says what is wrong with a lockfile, where, and what to do.
type Error struct {
	Line   int    // from 1
	Column int    // from 1, in bytes
	Path   string // the member, such as servers.files.tools[3].digest; empty for the whole file
	Server string // the entry it stands in, or empty
	// Summary is one line. Text of the file stands in it quoted, with escapes for
	// what is not printable.
	Summary string
	Advice  string // what to do next
	Err     error  // the [*canonical.Refusal] behind it, or nil

	at int // offset in bytes
}

// Error implements error; it does not hold the hint.
func (e *Error) Error() string {
	where := fmt.Sprintf("line %d, column %d", e.Line, e.Column)
	if e.Path != "" {
		where += " (" + e.Path + ")"
	}
	return where + ": " + e.Summary
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *Error) Hint() string { return e.Advice }

// The hints of errors that stand in more than one place.
const (
	hintRestore  = "restore the file with `git checkout -- agentgateway.lock`, or fix it at the place named"
	hintConflict = "run `agentgateway lock --resolve`, which takes what each side changed; or keep either side, then run `agentgateway lock`"
	hintNewer    = "use the version of agentgateway that wrote the file, or a newer one"
)

// asError makes an Error of what a Reader returned.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var refusal *canonical.Refusal
	if errors.As(err, &refusal) {
		return &Error{Summary: refusal.Detail, Advice: hintRestore, Err: refusal, at: refusal.At}
	}
	return &Error{Summary: err.Error(), Advice: hintRestore, Err: err}
}

// within adds the step that leads to the place of err. It returns nil for nil.
func within(err error, step string) error {
	if err == nil {
		return nil
	}
	e := asError(err)
	e.Path = step + e.Path
	return e
}

func memberStep(name string) string {
	if name == "" {
		return `[""]`
	}
	for i := range len(name) {
		c := name[i]
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return "[" + strconv.QuoteToGraphic(name) + "]"
		}
	}
	return "." + name
}

func elementStep(i int) string { return "[" + strconv.Itoa(i) + "]" }

// locate fills the place of an error from its offset, and puts the reason that
// helps most before the one that was met first.
func locate(src []byte, err error) *Error {
	e := asError(err)
	if at, ok := conflictMarker(src); ok {
		e = &Error{Summary: "the file holds the marks of a merge conflict", Advice: hintConflict, Err: e, at: at}
	} else if at, version, ok := otherVersion(src); ok {
		e = &Error{Path: ".lockfileVersion", Advice: hintNewer, Err: e, at: at,
			Summary: fmt.Sprintf("the file has lockfileVersion %d; this program reads %d", version, Version)}
	}
	e.Path = strings.TrimPrefix(e.Path, ".")
	e.Line, e.Column = canonical.Position(src, e.at)
	return e
}

// conflictMarker finds a line that git writes into a file it could not merge. No
// such line stands in a JSON text, so it is looked for only after an error.
func conflictMarker(src []byte) (at int, ok bool) {
	for _, mark := range []string{"<<<<<<<", ">>>>>>>", "|||||||", "======="} {
		if bytes.HasPrefix(src, []byte(mark)) {
			return 0, true
		}
		if i := bytes.Index(src, []byte("\n"+mark)); i >= 0 {
			return i + 1, true
		}
	}
	return 0, false
}

// otherVersion reads nothing but the lockfileVersion of a file with an error: a
// file of another version is full of members that are unknown here.
func otherVersion(src []byte) (at int, version int64, ok bool) {
	r := canonical.NewReader(src)
	_ = r.Object(func(key []byte) error {
		if string(key) != "lockfileVersion" {
			_, err := r.Raw()
			return err
		}
		at = r.Offset()
		v, err := r.Int()
		version, ok = v, err == nil && v != Version
		return err
	})
	return at, version, ok
}
