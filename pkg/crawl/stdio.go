package crawl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newStdioLink connects to a process that was started.
func newStdioLink(l *Lister, t Endpoint, p *Process, b *budget) (*link, error) {
	ctx, cancel := context.WithCancel(context.Background())
	k := &link{ctx: ctx, cause: &cause{}, peer: t.Command, setVersion: func(string) {}}
	f := &framer{src: bufio.NewReaderSize(p.Stdout, 64<<10), closer: p.Stdout, budget: b, cause: k.cause}
	transport := &mcp.IOTransport{Reader: f, Writer: p.Stdin, MaxLineLength: -1}
	conn, err := transport.Connect(ctx)
	if err != nil {
		cancel()
		p.Stop(true)
		return nil, err
	}
	tail := &tail{ended: make(chan struct{})}
	go tail.follow(p.Stderr, func(line string) {
		if !k.answered.Load() {
			l.tell(t, EventStderr, line)
		}
	})
	k.conn, k.noise = conn, func() int { return int(f.noise.Load()) }
	k.shut = func(hard bool) {
		cancel()
		p.Stop(hard)
		_ = conn.Close()
	}
	k.ended = func(answered bool, err error) error {
		err = endedProcess(k, t, p, tail, answered, err)
		var start *StartError
		if errors.As(err, &start) && f.utf16.Load() {
			start.UTF16 = true
			start.Detail += ", and what it writes is UTF-16"
		}
		return err
	}
	return k, nil
}

// endedProcess describes a process that ended or stayed silent.
func endedProcess(k *link, t Endpoint, p *Process, tail *tail, answered bool, err error) error {
	// Its output has ended, or nobody waits for it any longer: what it still has to
	// say on standard error comes at once.
	status := ""
	if within(p.Done, closeGrace) {
		status = p.Status()
		// What it said last is read before the pipe is closed, unless a child of it
		// keeps the pipe open.
		within(tail.ended, stderrGrace)
	}
	k.close(true)
	var silent *UnreachableError
	timeout := errors.As(err, &silent)
	if answered && timeout {
		return err
	}
	e := &StartError{Command: t.Command, Stderr: tail.wait(), Err: err}
	switch {
	case timeout:
		e.Silent = true
		e.Detail = "gave no answer within " + silent.Timeout.String()
	case status != "" && !answered:
		e.Detail = "ended before it gave an answer (" + status + ")"
	case status != "":
		e.Detail = "ended while it was listed (" + status + ")"
	default:
		return err
	}
	return e
}

// keptLine is the largest line whose memory is kept for the next.
const keptLine = 1 << 20

// A framer passes on the lines of a server's standard output that are JSON-RPC
// messages. Others are skipped and counted: many servers print there what belongs
// on standard error. It reads no more than the budget allows.
type framer struct {
	src     *bufio.Reader
	closer  io.Closer
	budget  *budget
	cause   *cause
	noise   atomic.Int64
	utf16   atomic.Bool // a line that was skipped is UTF-16
	line    []byte      // reused
	pending []byte      // what is left of the line that is passed on
}

// Close closes the source.
func (f *framer) Close() error { return f.closer.Close() }

// Read implements io.Reader.
func (f *framer) Read(p []byte) (int, error) {
	for len(f.pending) == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.pending)
	f.pending = f.pending[n:]
	return n, nil
}

// next reads one line and makes it pending where it is a message.
func (f *framer) next() error {
	if f.line = f.line[:0]; cap(f.line) > keptLine {
		f.line = nil
	}
	for {
		part, err := f.src.ReadSlice('\n')
		if over := f.budget.spend(len(part)); over != nil {
			return f.cause.set(over)
		}
		f.line = append(f.line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		line := bytes.TrimSpace(bytes.TrimPrefix(f.line, []byte("\ufeff")))
		switch {
		case isMessage(line):
			// The decoder behind wants each message to end with a newline.
			f.pending = append(line, '\n')
		case len(line) > 0:
			f.noise.Add(1)
			f.utf16.CompareAndSwap(false, isUTF16(line))
		}
		if err != nil && len(f.pending) == 0 {
			return err
		}
		return nil
	}
}

// isUTF16 reports whether a line begins as UTF-16 text does: with its byte order
// mark, or with every second byte zero.
func isUTF16(line []byte) bool {
	if bytes.HasPrefix(line, []byte{0xff, 0xfe}) || bytes.HasPrefix(line, []byte{0xfe, 0xff}) {
		return true
	}
	if len(line) < 4 {
		return false
	}
	return line[0] == 0 && line[2] == 0 && line[1] != 0 || line[1] == 0 && line[3] == 0 && line[0] != 0
}

// isMessage reports whether a line has the form of a JSON-RPC message: an object
// with the member jsonrpc. Whether it is a sound one is for the decoder.
func isMessage(line []byte) bool {
	found := false
	end, err := eachMember(line, 0, func(key string, _ []byte) error {
		found = found || key == "jsonrpc"
		return nil
	})
	return err == nil && found && end == len(line)
}

// tail keeps the end of a stream.
type tail struct {
	mu    sync.Mutex
	bytes []byte
	ended chan struct{} // closed with the stream
}

// follow reads a stream to its end and tells each line.
func (t *tail) follow(r io.Reader, tell func(line string)) {
	defer close(t.ended)
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if line := t.add(buf[:n]); line != "" {
				tell(line)
			}
		}
		if err != nil {
			return
		}
	}
}

// add keeps what was read and returns the last whole line of it.
func (t *tail) add(b []byte) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes = append(t.bytes, b...)
	if len(t.bytes) > 2*stderrTail {
		t.bytes = append(t.bytes[:0], t.bytes[len(t.bytes)-stderrTail:]...)
	}
	whole := t.bytes[:bytes.LastIndexByte(t.bytes, '\n')+1]
	whole = bytes.TrimRight(whole, "\r\n")
	line := whole[bytes.LastIndexAny(whole, "\r\n")+1:]
	return strings.ToValidUTF8(string(line[:min(len(line), stderrLine)]), "\ufffd")
}

// wait returns the end of the stream, once it has ended.
func (t *tail) wait() string {
	<-t.ended
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.bytes[max(0, len(t.bytes)-stderrTail):]
	return strings.ToValidUTF8(string(b), "\ufffd")
}
