package crawl

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A ProcessSpec says what to start.
type ProcessSpec struct {
	Command string
	Args    []string
	Dir     string
	Env     []string // the whole environment of the process
}

// A Process is a command that runs. Its streams end when the process is stopped.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser
	Stderr io.ReadCloser
	// Done is closed when the process itself has ended.
	Done <-chan struct{}
	// Status says how it ended, as in "exit status 1"; valid after Done.
	Status func() string
	// Stop ends the process and all its children: it closes Stdin, gives a moment,
	// a shorter one where hard is set, and then kills. It returns when they have ended.
	Stop func(hard bool)
}

// A Starter starts a process.
type Starter func(ProcessSpec) (*Process, error)

// StartProcess starts a real process in a process group of its own.
//
// Stop reaches every process of that group. On Linux it also reaches descendants
// that have left the group, as far as their ancestors still run when it is
// called; elsewhere a child that made itself a daemon is not found.
func StartProcess(spec ProcessSpec) (_ *Process, err error) {
	// With a process group, a folder that is missing would be reported as a missing
	// command.
	if info, err := os.Stat(spec.Dir); spec.Dir != "" && (err != nil || !info.IsDir()) {
		return nil, &fs.PathError{Op: "chdir", Path: spec.Dir, Err: fs.ErrNotExist}
	}
	path, err := lookPath(spec)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: path, Args: append([]string{spec.Command}, spec.Args...), Dir: spec.Dir, Env: spec.Env}
	inGroup(cmd)
	var ours, theirs []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			_ = f.Close()
		}
	}
	// The pipes are not those of exec.Cmd, whose Wait closes them: an answer that a
	// server gives just before it ends must still be read.
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours)
			closeAll(theirs)
			return nil, err
		}
		if len(ours) == 0 {
			r, w = w, r
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	err = cmd.Start()
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
	}()
	p := &Process{Stdin: ours[0], Stdout: ours[1], Stderr: ours[2], Done: done}
	p.Status = func() string { return cmd.ProcessState.String() }
	var once sync.Once
	p.Stop = func(hard bool) {
		once.Do(func() {
			stopTree(cmd.Process.Pid, ours[0], done, hard)
			closeAll(ours)
		})
	}
	return p, nil
}

// stopTree ends a process and its descendants.
func stopTree(pid int, stdin io.Closer, done <-chan struct{}, hard bool) {
	strays := descendants(pid)
	_ = stdin.Close()
	if hard || !within(done, closeGrace) {
		// A command such as docker passes this on to what the kill would not reach.
		terminateGroup(pid)
		within(done, termGrace)
	}
	killGroup(pid)
	for _, stray := range strays {
		killProcess(stray)
	}
	<-done
}

// within reports whether done is closed within d.
func within(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// lookPath finds a command on the PATH that the child itself will have. Folders
// of PATH that are not absolute are passed over: what they name depends on where
// the process starts.
func lookPath(spec ProcessSpec) (string, error) {
	if strings.ContainsAny(spec.Command, `/`+string(filepath.Separator)) {
		return spec.Command, nil
	}
	for _, dir := range filepath.SplitList(lookupEnv(spec.Env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, spec.Command)); err == nil {
			return path, nil
		}
	}
	return "", &exec.Error{Name: spec.Command, Err: exec.ErrNotFound}
}

// startFailure describes why a command did not start.
func startFailure(t Endpoint, err error) error {
	e := &StartError{Command: t.Command, Detail: "could not be started: " + err.Error(), Err: err}
	var path *fs.PathError
	switch {
	case errors.As(err, &path) && path.Op == "chdir":
		e.Detail = "could not be started: its folder " + t.Cwd + " cannot be entered"
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		e.NotFound = true
		e.Detail = "could not be started: there is no such command on PATH"
		if strings.ContainsRune(t.Command, '/') {
			e.Detail = "could not be started: there is no such file"
		}
	}
	return e
}

// startLink starts a server and connects to its standard input and output.
func (l *Lister) startLink(t Endpoint, b *budget) (*link, error) {
	p, err := l.opts.Start(ProcessSpec{t.Command, t.Args, t.Cwd, childEnviron(l.opts.Environ, t.Env)})
	if err != nil {
		return nil, startFailure(t, err)
	}
	return newStdioLink(l, t, p, b)
}
