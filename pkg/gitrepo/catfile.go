package gitrepo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// catFile reads a repository through the git program: one long-lived
// `git cat-file --batch` for objects, short runs for references.
type catFile struct {
	git *gitProgram

	mu   sync.Mutex // one request at a time
	proc *batch     // nil until the first object is asked for, and after a failure
}

// batch is a running `git cat-file --batch`.
type batch struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	diag *boundedBuffer
}

func openCatFile(ctx context.Context, g *gitProgram) (*catFile, error) {
	if _, err := g.line(ctx, "rev-parse", "--git-dir"); err != nil {
		return nil, err
	}
	return &catFile{git: g}, nil
}

func (c *catFile) start() (*batch, error) {
	if c.git.path == "" {
		return nil, ErrNoGit
	}
	// The process outlives the request that starts it; close ends it.
	cmd := c.git.command(context.Background(), gitCall{args: []string{"cat-file", "--batch"}})
	b := &batch{cmd: cmd, diag: &boundedBuffer{max: 64 << 10}}
	cmd.Stderr = b.diag
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b.in, b.out = in, bufio.NewReaderSize(out, 64<<10)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting git cat-file: %w", err)
	}
	return b, nil
}

// stop ends the process and gives what it said on its standard error.
func (b *batch) stop() string {
	_ = b.in.Close()
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
	return strings.TrimSpace(b.diag.buf.String())
}

func (c *catFile) object(ctx context.Context, id Hash, max int64) (Kind, []byte, error) {
	if err := ctx.Err(); err != nil {
		return "", nil, context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proc == nil {
		proc, err := c.start()
		if err != nil {
			return "", nil, err
		}
		c.proc = proc
	}
	proc := c.proc
	stopWatch := context.AfterFunc(ctx, func() { _ = proc.cmd.Process.Kill() })
	kind, body, err := proc.request(id, max)
	if !stopWatch() {
		err = context.Cause(ctx)
	}
	var missing *MissingObjectError
	if err == nil || errors.As(err, &missing) {
		return kind, body, err
	}
	// The stream is out of step, or ended: the next request starts anew.
	c.proc = nil
	switch diag := proc.stop(); {
	case !errors.Is(err, io.EOF):
	case strings.Contains(diag, "promisor remote"):
		// In a partial clone git would rather fetch the object than call it missing.
		err = &MissingObjectError{ID: id}
	case diag != "":
		err = &IntegrityError{ID: id, Err: errors.New(diag)}
	}
	return "", nil, err
}

func (b *batch) request(id Hash, max int64) (Kind, []byte, error) {
	if _, err := io.WriteString(b.in, id.String()+"\n"); err != nil {
		return "", nil, fmt.Errorf("git cat-file ended: %w", io.EOF)
	}
	line, err := b.out.ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("git cat-file ended: %w", io.EOF)
	}
	fields := strings.Fields(line)
	if len(fields) == 2 && fields[1] == "missing" {
		return "", nil, &MissingObjectError{ID: id}
	}
	if len(fields) != 3 || fields[0] != id.String() {
		return "", nil, fmt.Errorf("git cat-file answered %q to %s", line, id)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return "", nil, fmt.Errorf("git cat-file answered %q to %s", line, id)
	}
	if size > max {
		return "", nil, &TooLargeError{ID: id, Size: size, Max: max}
	}
	body := make([]byte, size+1)
	if _, err := io.ReadFull(b.out, body); err != nil {
		return "", nil, fmt.Errorf("git cat-file ended: %w", io.EOF)
	}
	return Kind(fields[1]), body[:size], nil
}

func (c *catFile) ref(ctx context.Context, name string) (Ref, error) {
	out := Ref{Name: name}
	target, err := c.git.line(ctx, "symbolic-ref", "--quiet", "--", name)
	switch {
	case err == nil:
		out.Target = target
	case exitCode(err) != 1 && exitCode(err) != 128:
		return Ref{}, err
	}
	// show-ref takes exact names only: none of rev-parse's guesses.
	line, err := c.git.line(ctx, "show-ref", "--verify", "--", name)
	if err != nil {
		if exitCode(err) < 0 {
			return Ref{}, err
		}
		if out.Target != "" {
			return out, nil
		}
		return Ref{}, fmt.Errorf("reference %q: %w", name, ErrNotFound)
	}
	digits, _, _ := strings.Cut(line, " ")
	out.ID, err = ParseHash(digits)
	return out, err
}

func (c *catFile) refs(ctx context.Context, prefix string) ([]Ref, error) {
	// for-each-ref matches whole path elements: ask for the folder, filter here.
	folder := prefix[:strings.LastIndexByte(prefix, '/')+1]
	out, err := c.git.run(ctx, gitCall{args: []string{"for-each-ref",
		"--format=%(objectname) %(refname) %(symref)", "--end-of-options", folder}})
	if err != nil {
		return nil, fmt.Errorf("listing references: %w", err)
	}
	var refs []Ref
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasPrefix(fields[1], prefix) {
			continue
		}
		id, err := ParseHash(fields[0])
		if err != nil {
			return nil, fmt.Errorf("listing references: %w", err)
		}
		ref := Ref{Name: fields[1], ID: id}
		if len(fields) > 2 {
			ref.Target = fields[2]
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

func (c *catFile) expand(ctx context.Context, digits string) ([]Hash, error) {
	out, err := c.git.run(ctx, gitCall{args: []string{"rev-parse", "--disambiguate=" + digits}})
	if err != nil {
		return nil, fmt.Errorf("looking for objects %q: %w", digits, err)
	}
	var ids []Hash
	for line := range strings.Lines(string(out)) {
		id, err := ParseHash(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (c *catFile) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proc != nil {
		c.proc.stop()
		c.proc = nil
	}
	return nil
}
