package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrHangUp is returned by [Server.ServeStdio] when it ended as
// [Server.HangUp] asked.
var ErrHangUp = errors.New("hung up as asked")

// ServeStdio serves one connection of newline-delimited JSON-RPC. It returns
// nil at the end of the input, the context's error when that ends first (r is
// then closed, where it can be), and [ErrHangUp].
func (s *Server) ServeStdio(ctx context.Context, r io.Reader, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	if c, ok := r.(io.Closer); ok {
		defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	}
	c := &conn{s: s, w: w, caller: &caller{transport: "stdio", session: s.newSession()}}
	defer s.endSession(c.session.id)
	defer c.wg.Wait()
	defer cancel()
	sub := &subscriber{session: c.session}
	defer s.subscribe(sub)()
	c.wg.Go(func() { c.pump(ctx, sub) })

	br := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(br)
		if len(line) > 0 {
			if err := c.take(ctx, line); err != nil {
				return err
			}
		}
		if errors.Is(err, errLineTooLong) {
			c.write(answer(nil, nil, errorf(codeInvalidRequest, "a line may have %d bytes", maxMessage)))
			return err
		}
		if err != nil {
			return c.ended(ctx, err)
		}
	}
}

// conn is one stdio connection.
type conn struct {
	*caller
	s  *Server
	wg sync.WaitGroup
	mu sync.Mutex
	w  io.Writer
}

// ended says what the end of the input means.
func (c *conn) ended(ctx context.Context, err error) error {
	c.s.mu.Lock()
	ignore := c.s.knobs.ignoreEOF
	c.s.mu.Unlock()
	if ignore && errors.Is(err, io.EOF) {
		<-ctx.Done()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.EOF):
		return nil
	}
	return fmt.Errorf("reading a request: %w", err)
}

// take acts on one line. Calls are answered side by side, so that a slow one
// holds nobody up; initialize and notifications in order.
func (c *conn) take(ctx context.Context, line []byte) error {
	m, e := parseMessage(line)
	if e != nil {
		c.write(answer(nil, nil, e))
		return nil
	}
	c.s.count(c.caller, m)
	c.s.mu.Lock()
	hangUp := c.s.knobs.hangUps[m.Method]
	c.s.mu.Unlock()
	switch {
	case hangUp:
		return ErrHangUp
	case !m.isCall():
		c.s.notified(c.caller, m)
	case m.Method == "initialize":
		c.reply(ctx, m)
	default:
		c.wg.Go(func() { c.reply(ctx, m) })
	}
	return nil
}

func (c *conn) reply(ctx context.Context, m *message) {
	if c.s.wait(ctx) != nil {
		return
	}
	if m.Method == "subscriptions/listen" && text(m.meta()[metaVersion]) == modernVersion {
		sub, ack := newListener(m)
		defer c.s.subscribe(sub)()
		c.write(ack)
		c.pump(ctx, sub)
		return
	}
	result, e := c.s.handle(c.caller, m)
	c.s.mu.Lock()
	noise := c.s.knobs.noise
	c.s.mu.Unlock()
	for _, line := range noise {
		c.write([]byte(line))
	}
	c.write(answer(m.ID, result, e))
}

func (c *conn) pump(ctx context.Context, sub *subscriber) {
	for {
		select {
		case data := <-sub.out:
			c.write(data)
		case <-ctx.Done():
			return
		case <-c.s.life.Done():
			return
		}
	}
}

// write writes one line. An error shows when the input ends.
func (c *conn) write(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.w.Write(append(bytes.Clone(line), '\n'))
}

var errLineTooLong = errors.New("the line is too long")

// readLine reads one line without its end.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxMessage {
			return nil, errLineTooLong
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSpace(line), err
	}
}
