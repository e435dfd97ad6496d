package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// The protocol versions, by era.
const modernVersion = "2026-07-28"

var legacyVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// The members of _meta that carry what the handshake carried before.
const (
	metaVersion        = "io.modelcontextprotocol/protocolVersion"
	metaClient         = "io.modelcontextprotocol/clientInfo"
	metaCapabilities   = "io.modelcontextprotocol/clientCapabilities"
	metaServer         = "io.modelcontextprotocol/serverInfo"
	metaSubscriptionID = "io.modelcontextprotocol/subscriptionId"
)

// Error codes of JSON-RPC and of MCP.
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeServer             = -32000
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func errorf(code int, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// A message is one JSON-RPC request or notification.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func (m *message) isCall() bool { return len(m.ID) > 0 && !bytes.Equal(m.ID, []byte("null")) }

// meta returns the _meta member of the parameters.
func (m *message) meta() map[string]json.RawMessage {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return nil
	}
	return p.Meta
}

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func parseMessage(data []byte) (*message, *rpcError) {
	if t := bytes.TrimSpace(data); len(t) > 0 && t[0] == '[' {
		return nil, errorf(codeInvalidRequest, "batches are not supported")
	}
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, errorf(codeParse, "not a JSON-RPC message: %v", err)
	}
	return &m, nil
}

// answer frames a result, which need not be valid JSON, or an error.
func answer(id json.RawMessage, result []byte, e *rpcError) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.Write(id)
	if e != nil {
		b.WriteString(`,"error":`)
		body, err := json.Marshal(e)
		if err != nil {
			body = fmt.Appendf(nil, `{"code":%d,"message":"error"}`, e.Code)
		}
		b.Write(body)
	} else {
		b.WriteString(`,"result":`)
		b.Write(result)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func notification(method string, subscription json.RawMessage) []byte {
	params := "{}"
	if subscription != nil {
		params = fmt.Sprintf(`{"_meta":{%q:%s}}`, metaSubscriptionID, subscription)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

// A caller is one connection as far as the meaning of a request depends on it.
type caller struct {
	transport string
	header    http.Header
	session   *session
}

// A request is one call on its way through a handler.
type request struct {
	*caller
	*message
	// modern says that it follows the 2026-07-28 era.
	modern bool
	asker  Asker
}

type handler func(s *Server, r *request) ([]byte, *rpcError)

// methods are what the server answers. Those of one era alone are marked in eraOf.
var methods = map[string]handler{
	"server/discover":          (*Server).discover,
	"initialize":               (*Server).initialize,
	"ping":                     func(*Server, *request) ([]byte, *rpcError) { return []byte("{}"), nil },
	"tools/list":               (*Server).list,
	"prompts/list":             (*Server).list,
	"resources/list":           (*Server).list,
	"resources/templates/list": (*Server).list,
	"tools/call":               (*Server).callTool,
	"prompts/get":              (*Server).getPrompt,
	"resources/read":           (*Server).readResource,
}

// eraOf names the methods that exist in one era only: true for 2026-07-28.
var eraOf = map[string]bool{"server/discover": true, "initialize": false, "ping": false}

// count notes that a message arrived.
func (s *Server) count(c *caller, m *message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[m.Method]++
	if c.header != nil {
		s.headers[m.Method] = c.header.Clone()
	}
}

// wait holds a request back for the time that Delay and DelayFirst ask for.
func (s *Server) wait(ctx context.Context) error {
	s.mu.Lock()
	d := s.knobs.delay + s.knobs.delayFirst
	s.knobs.delayFirst = 0
	s.mu.Unlock()
	if d == 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// handle answers one call.
func (s *Server) handle(c *caller, m *message) ([]byte, *rpcError) {
	r, e := s.place(c, m)
	if e != nil {
		return nil, e
	}
	s.mu.Lock()
	notOffered, fault, result := s.knobs.notOffered[m.Method], s.knobs.errors[m.Method], s.knobs.results[m.Method]
	s.mu.Unlock()
	h, known := methods[m.Method]
	if modernOnly, bound := eraOf[m.Method]; bound && modernOnly != r.modern {
		known = false
	}
	switch {
	case fault != nil:
		return nil, fault
	case notOffered || !known:
		return nil, errorf(codeMethodNotFound, "method %q not found", m.Method)
	case result != nil:
		return result, nil
	}
	return h(s, r)
}

// place decides which era a call belongs to and whether it may be made now.
func (s *Server) place(c *caller, m *message) (*request, *rpcError) {
	s.mu.Lock()
	noDiscover, noInitialize := s.knobs.noDiscover, s.knobs.noInitialize
	s.mu.Unlock()
	r := &request{caller: c, message: m}
	meta := m.meta()
	version := text(meta[metaVersion])
	if version >= modernVersion && !noDiscover {
		if version != modernVersion {
			return nil, unsupportedVersion(version, s.versions())
		}
		if _, err := members(meta[metaCapabilities]); err != nil {
			return nil, errorf(codeInvalidParams, "missing or invalid _meta field %q", metaCapabilities)
		}
		r.modern = true
		r.asker = Asker{c.transport, c.header.Clone(), version, meta[metaClient], meta[metaCapabilities]}
		return r, nil
	}
	if noInitialize && m.Method != "server/discover" {
		return nil, unsupportedVersion(version, s.versions())
	}
	if m.Method == "initialize" || m.Method == "ping" || m.Method == "server/discover" {
		return r, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.session == nil || !c.session.initialized {
		return nil, errorf(codeInvalidRequest, "%s came before notifications/initialized", m.Method)
	}
	r.asker = Asker{c.transport, c.header.Clone(), c.session.version, c.session.client, c.session.capabilities}
	return r, nil
}

func unsupportedVersion(requested string, supported []string) *rpcError {
	data, err := json.Marshal(map[string]any{"requested": requested, "supported": supported})
	if err != nil {
		data = nil
	}
	return &rpcError{Code: codeUnsupportedVersion, Message: "unsupported protocol version", Data: data}
}

// versions lists the protocol versions the server speaks now, newest first.
func (s *Server) versions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	if !s.knobs.noDiscover {
		out = append(out, modernVersion)
	}
	if !s.knobs.noInitialize {
		out = append(out, legacyVersions...)
	}
	return out
}

// notified acts on a notification.
func (s *Server) notified(c *caller, m *message) {
	if m.Method != "notifications/initialized" || c.session == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.session.initialized = true
}

func (s *Server) initialize(r *request) ([]byte, *rpcError) {
	var p struct {
		ProtocolVersion string          `json:"protocolVersion"`
		ClientInfo      json.RawMessage `json:"clientInfo"`
		Capabilities    json.RawMessage `json:"capabilities"`
	}
	if err := json.Unmarshal(r.Params, &p); err != nil || p.ProtocolVersion == "" {
		return nil, errorf(codeInvalidParams, "initialize needs a protocolVersion")
	}
	if r.session == nil {
		return nil, errorf(codeInvalidRequest, "no session to initialize")
	}
	version := p.ProtocolVersion
	if !slices.Contains(legacyVersions, version) {
		version = legacyVersions[0]
	}
	s.mu.Lock()
	r.session.version, r.session.client, r.session.capabilities = version, p.ClientInfo, p.Capabilities
	s.mu.Unlock()
	r.asker = Asker{r.transport, r.header.Clone(), version, p.ClientInfo, p.Capabilities}
	return fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,"serverInfo":%s%s}`,
		version, s.capabilities(), s.info(), instructions(s.surfaceFor(r))), nil
}

func (s *Server) discover(r *request) ([]byte, *rpcError) {
	versions, err := json.Marshal(s.versions())
	if err != nil {
		return nil, errorf(codeServer, "encoding versions: %v", err)
	}
	return s.result(r, true, fmt.Sprintf(`"supportedVersions":%s,"capabilities":%s%s`,
		versions, s.capabilities(), instructions(s.surfaceFor(r)))), nil
}

func instructions(f Surface) string {
	if f.Instructions == "" {
		return ""
	}
	return `,"instructions":` + string(quote(f.Instructions))
}

// capabilities declares tools, prompts and resources unless NotOffered took
// their methods away.
func (s *Server) capabilities() []byte {
	s.mu.Lock()
	off := maps.Clone(s.knobs.notOffered)
	s.mu.Unlock()
	var out []member
	listChanged := json.RawMessage(`{"listChanged":true}`)
	if !off["tools/list"] {
		out = append(out, member{"tools", listChanged})
	}
	if !off["prompts/list"] {
		out = append(out, member{"prompts", listChanged})
	}
	if !off["resources/list"] || !off["resources/templates/list"] {
		out = append(out, member{"resources", listChanged})
	}
	return object(out)
}

func (s *Server) info() []byte {
	return object([]member{{"name", quote(s.opts.Name)}, {"version", quote(s.opts.Version)}})
}

// result frames the members of a result as the era of the request wants them.
// Cacheable results carry a ttlMs that is never the same twice: no client may
// hash it.
func (s *Server) result(r *request, cacheable bool, body string) []byte {
	if !r.modern {
		return []byte("{" + body + "}")
	}
	cache := ""
	if cacheable {
		s.mu.Lock()
		n := s.requests[r.Method]
		s.mu.Unlock()
		cache = fmt.Sprintf(`"ttlMs":%d,"cacheScope":"private",`, 1000+n)
	}
	return fmt.Appendf(nil, `{"resultType":"complete","_meta":{%q:%s},%s%s}`, metaServer, s.info(), cache, body)
}

// surfaceFor returns the surface that the asker of a request sees.
func (s *Server) surfaceFor(r *request) Surface {
	s.mu.Lock()
	f, cloak := s.surface, s.knobs.cloak
	s.mu.Unlock()
	if cloak != nil {
		if other := cloak(r.asker); other != nil {
			return *other
		}
	}
	return f
}
