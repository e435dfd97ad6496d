package gatewaydouble

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

const (
	sessionHeader = "Mcp-Session-Id"
	nameHeader    = "Mcp-Name"
	versionHeader = "Mcp-Protocol-Version"
	jsonType      = "application/json"
	streamType    = "text/event-stream"

	// maxBuffer bounds client bodies and upstream JSON bodies. An upstream's
	// event stream is not bounded by it.
	maxBuffer = 2 << 20
)

// upstreamStatus is an HTTP answer of an upstream that is no success. The client
// gets it as it is.
type upstreamStatus struct {
	status      int
	contentType string
	body        []byte
}

func (e *upstreamStatus) Error() string { return fmt.Sprintf("upstream answered HTTP %d", e.status) }

// upstreamError is a JSON-RPC error of an upstream.
type upstreamError struct{ error value }

func (e *upstreamError) Error() string { return e.error.getText("message") }

// ownHeaders are set by the gateway itself, or belong to one connection.
var ownHeaders = []string{
	"Host", "Content-Length", "Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Te", "Trailer",
	"Accept-Encoding", "Accept", "Content-Type", sessionHeader,
}

// open sends one HTTP request to a target. The client's headers go along, its
// credentials among them.
func (x *exchange) open(ctx context.Context, verb string, target Target, body []byte, accept string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, verb, target.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = x.headers.http.Clone()
	for _, name := range ownHeaders {
		request.Header.Del(name)
	}
	request.Header.Set("Accept", accept)
	if body != nil {
		request.Header.Set("Content-Type", jsonType)
	}
	if id := x.session.upstreamID(target.Name); id != "" {
		request.Header.Set(sessionHeader, id)
	}
	response, err := x.gateway.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		defer discard(response)
		data, err := readBounded(response.Body)
		if err != nil {
			return nil, err
		}
		return nil, &upstreamStatus{response.StatusCode, response.Header.Get("Content-Type"), data}
	}
	if id := response.Header.Get(sessionHeader); id != "" {
		x.session.setUpstreamID(target.Name, id)
	}
	return response, nil
}

func discard(response *http.Response) {
	_ = response.Body.Close() // nothing is left to read that could matter
}

func readBounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBuffer+1))
	if err == nil && len(data) > maxBuffer {
		err = errors.New("body too large")
	}
	return data, err
}

// notify sends a message that has no answer.
func (x *exchange) notify(ctx context.Context, target Target, message value) error {
	response, err := x.open(ctx, http.MethodPost, target, encode(message), jsonType+", "+streamType)
	if err != nil {
		return err
	}
	discard(response)
	return nil
}

// ask sends a request to a target and returns its result. Other messages that
// arrive before it go to other. foreign says what becomes of a response to another
// id: nothing where it is nil, so that it is taken for the answer.
func (x *exchange) ask(ctx context.Context, target Target, message value, other, foreign func(value)) (value, error) {
	response, err := x.open(ctx, http.MethodPost, target, encode(message), jsonType+", "+streamType)
	if err != nil {
		return value{}, err
	}
	defer discard(response)
	contentType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if contentType != streamType {
		data, err := readBounded(response.Body)
		if err != nil {
			return value{}, err
		}
		answer, err := parse(data)
		if err != nil {
			return value{}, fmt.Errorf("read the answer of %s: %w", target.Name, err)
		}
		return resultOf(answer)
	}
	var result value
	found := false
	err = readEvents(response.Body, func(data []byte) (bool, error) {
		answer, err := parse(data)
		if err != nil {
			return false, fmt.Errorf("read the answer of %s: %w", target.Name, err)
		}
		if _, ok := answer.get("method"); ok {
			other(answer)
			return true, nil
		}
		if id, _ := answer.get("id"); foreign != nil && !sameID(id, x.id) {
			foreign(answer)
			return true, nil
		}
		found = true
		result, err = resultOf(answer)
		return false, err
	})
	if err == nil && !found {
		err = fmt.Errorf("the stream of %s ended without an answer", target.Name)
	}
	return result, err
}

// sameID reports whether two ids are equal as they are written.
func sameID(a, b value) bool { return string(encode(a)) == string(encode(b)) }

// resultOf returns the result of a response, or its error as an error.
func resultOf(answer value) (value, error) {
	seen := map[string]int{}
	for _, m := range answer.members {
		seen[m.key]++
	}
	if seen["result"] > 1 || seen["error"] > 1 || seen["id"] > 1 {
		return value{}, errors.New("duplicate member in a JSON-RPC response")
	}
	if failure, ok := answer.get("error"); ok {
		return value{}, &upstreamError{failure.free()}
	}
	result, ok := answer.get("result")
	if !ok {
		return value{}, errors.New("not a JSON-RPC response")
	}
	return result, nil
}

// readEvents hands over the data of each event until the stream ends or visit
// says to stop.
func readEvents(r io.Reader, visit func([]byte) (bool, error)) error {
	reader := bufio.NewReader(r)
	var data []byte
	for {
		line, err := reader.ReadString('\n')
		if err != nil && err != io.EOF {
			return err
		}
		line = strings.TrimRight(line, "\r\n")
		if rest, ok := strings.CutPrefix(line, "data:"); ok {
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, strings.TrimPrefix(rest, " ")...)
		}
		if (line == "" || err == io.EOF) && len(data) > 0 {
			more, visitErr := visit(data)
			if visitErr != nil || !more {
				return visitErr
			}
			data = nil
		}
		if err == io.EOF {
			return nil
		}
	}
}
