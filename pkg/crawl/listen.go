package crawl

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/textcheck"
)

// maxNotice bounds one event of a stream that is listened to, in bytes.
const maxNotice = 1 << 20

// Announces reports whether the server declares that it tells when a list
// changes.
func (s *Session) Announces() bool { return s.announces }

// Listen calls changed for each notification that a list has changed, from its own
// goroutine, until ctx or the stream ends. It returns ctx's error, or why there is
// no stream any more; what changed in between is unknown, so a caller that listens
// again has to list again. The session is of no other use meanwhile.
func (s *Session) Listen(ctx context.Context, changed func()) error {
	defer context.AfterFunc(ctx, func() { s.link.close(true) })()
	s.link.cause.clear()
	err := s.listen(ctx, changed)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.explain(ctx, "the stream of notifications", 0, err)
}

func (s *Session) listen(ctx context.Context, changed func()) error {
	if s.link.http == nil {
		if s.endpoint.Transport == source.Stdio {
			return errors.New("a command is not listened to")
		}
		return s.listenLink(ctx, changed)
	}
	request, err := s.streamRequest(ctx)
	if err != nil {
		return err
	}
	response, err := s.link.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusOK || kind != "text/event-stream" {
		return &ProtocolError{Doing: "the stream of notifications", Status: response.StatusCode,
			Detail: fmt.Sprintf("HTTP status %d and the content type %s in place of an event stream", response.StatusCode, textcheck.Quote(kind, maxQuoted))}
	}
	return s.readNotices(response.Body, changed)
}

// listenLink listens over the stream that all messages of a legacy server come by.
func (s *Session) listenLink(ctx context.Context, changed func()) error {
	for {
		s.listChanged = false
		s.budget.reset()
		message, err := s.link.conn.Read(ctx)
		if err != nil {
			return err
		}
		if m, ok := message.(*jsonrpc.Request); ok {
			if err := s.serve(m); err != nil {
				return err
			}
			if s.listChanged {
				changed()
			}
		}
	}
}

// streamRequest asks for the stream of notifications: of 2026-07-28 by a request
// of its own, before that by the GET of the session.
func (s *Session) streamRequest(ctx context.Context) (*http.Request, error) {
	if s.version != versionModern {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.endpoint.URL, nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Accept", "text/event-stream")
		if id := s.link.conn.SessionID(); id != "" {
			r.Header.Set("Mcp-Session-Id", id)
		}
		return r, nil
	}
	const method = "subscriptions/listen"
	params, err := s.params(map[string]any{"notifications": map[string]bool{
		"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
	}})
	if err != nil {
		return nil, err
	}
	s.calls++
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.calls, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", versionModern)
	r.Header.Set("Mcp-Method", method)
	return r, nil
}

// readNotices reads an event stream to its end.
func (s *Session) readNotices(stream io.Reader, changed func()) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxNotice)
	var data []byte
	for lines.Scan() {
		s.budget.reset() // each event by itself is bounded, their number is not
		line := lines.Bytes()
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(data)+len(text) <= maxNotice {
			data = append(append(data, bytes.TrimPrefix(text, []byte(" "))...), '\n')
		}
		if len(line) > 0 || len(data) == 0 {
			continue
		}
		method, answer := noticeOf(data)
		if answer {
			return errors.New("the server ended it")
		}
		if strings.HasSuffix(method, "/list_changed") {
			changed()
		}
		data = data[:0]
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.EOF
}

// noticeOf reads the method of a message, and whether it is an answer.
func noticeOf(message []byte) (method string, answer bool) {
	r := canonical.NewReader(message)
	_ = r.Object(func(key []byte) (err error) { // what cannot be read announces nothing
		switch {
		case string(key) == "method" && r.Peek() == canonical.KindString:
			method, err = r.String()
		case string(key) == "result", string(key) == "error":
			answer = true
			_, err = r.Raw()
		default:
			_, err = r.Raw()
		}
		return err
	})
	return method, answer
}

// announcesChanges reads the value of a capability.
func announcesChanges(capability []byte) bool {
	found := false
	r := canonical.NewReader(capability)
	if r.Peek() != canonical.KindObject {
		return false
	}
	_ = r.Object(func(key []byte) error { // what cannot be read declares nothing
		value, err := r.Raw()
		found = found || string(key) == "listChanged" && string(value) == "true"
		return err
	})
	return found
}
