package gatewaydouble

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Config is one route to one MCP backend: what a gateway configuration of one
// route says, as far as the double follows it.
type Config struct {
	// Path is the route's exact path; /mcp where empty.
	Path string
	// Port is the loopback port to listen on; any free one where 0.
	Port int
	// AdminAddr, StatsAddr and ReadinessAddr are the addresses of the real
	// gateway's other servers. The double has none; Start finds free ones.
	AdminAddr, StatsAddr, ReadinessAddr string
	// Targets are the upstreams, in the order of the configuration.
	Targets []Target
	// PrefixMode says when names get their target's prefix; PrefixConditional
	// where empty.
	PrefixMode PrefixMode
	// FailOpen leaves out an upstream that fails instead of failing the request.
	FailOpen bool
	// Stateless serves the older protocol versions without sessions.
	Stateless bool
	// AllowTools is an mcpAuthorization rule that allows the tools of these
	// (un-prefixed) names. Where it is not nil everything else is denied, and
	// so are prompts and resources.
	AllowTools []string
	// Processors are the guardrails, in the order in which they run.
	Processors []Processor
	// SessionTTL is how long a session lives without requests; 30 minutes
	// where 0. Of the double only.
	SessionTTL time.Duration
	// Now tells the time; time.Now where nil. Of the double only.
	Now func() time.Time
}

// Target is one upstream, reached by streamable HTTP.
type Target struct {
	Name string
	URL  string
}

// PrefixMode says when names carry their target's prefix.
type PrefixMode string

// The prefix modes.
const (
	PrefixConditional PrefixMode = "conditional" // with more than one target
	PrefixAlways      PrefixMode = "always"
	PrefixNever       PrefixMode = "never"
)

// Phase says when a processor is asked about a method.
type Phase string

// The phases.
const (
	Off      Phase = "off"
	Request  Phase = "request"
	Response Phase = "response"
	Full     Phase = "full"
)

// Processor is one ExtMCP processor.
type Processor struct {
	// Host is "host:port", or "unix:/path" for a socket.
	Host string
	// Secret is sent as a bearer token where not empty.
	Secret string
	// TLS makes the connection use TLS where not nil.
	TLS *TLS
	// FailOpen lets messages pass while the processor cannot be asked.
	FailOpen bool
	// Timeout bounds one call; 10 seconds where 0.
	Timeout time.Duration
	// Methods maps method names and patterns (prefix/*, */suffix, *) to phases.
	Methods map[string]Phase
	// Metadata are the values sent with every call, by name.
	Metadata map[string]Expression
	// AllowedHeaders are the client headers put to the processor, all where
	// empty. DisallowedHeaders are left out in any case.
	AllowedHeaders, DisallowedHeaders []string
}

// TLS names the files of a TLS connection to a processor.
type TLS struct {
	RootFile string // certificates to verify the processor with
	CertFile string // the gateway's own certificate, and its key
	KeyFile  string
	Hostname string // the name to verify, where it is not the host's
}

// Expression is a metadata value: a CEL expression of one of a few forms.
type Expression struct {
	cel  string
	eval func(headers, map[string]string) (string, bool)
}

// Constant is always the same text.
func Constant(text string) Expression {
	return Expression{celText(text), func(headers, map[string]string) (string, bool) { return text, true }}
}

// Header is a header of the client's request. Without that header the expression
// fails and its key is left out.
func Header(name string) Expression {
	return Expression{
		"request.headers[" + celText(strings.ToLower(name)) + "]",
		func(h headers, _ map[string]string) (string, bool) { return h.get(name) },
	}
}

// HeaderOr is a header of the client's request, or another text without it.
func HeaderOr(name, otherwise string) Expression {
	return Expression{
		"default(request.headers[" + celText(strings.ToLower(name)) + "], " + celText(otherwise) + ")",
		func(h headers, _ map[string]string) (string, bool) {
			if got, ok := h.get(name); ok {
				return got, true
			}
			return otherwise, true
		},
	}
}

// Guardrail is a text that a processor gave as metadata earlier in the same
// request.
func Guardrail(key string) Expression {
	return Expression{"mcpGuardrails." + key, func(_ headers, given map[string]string) (string, bool) {
		text, ok := given[key]
		return text, ok
	}}
}

// celText writes a string as a CEL literal, which JSON's form is.
func celText(s string) string { return string(appendText(nil, s)) }

const (
	defaultTimeout    = 10 * time.Second
	defaultSessionTTL = 30 * time.Minute
	defaultPath       = "/mcp"
)

// targetName is the gateway's rule: labels joined by dots, without upper case,
// underscore and plus, so that a prefix ends at the first underscore.
var targetName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

var phases = map[Phase]bool{Off: true, Request: true, Response: true, Full: true}

func (c *Config) validate() error {
	if len(c.Targets) == 0 {
		return errors.New("a backend needs a target")
	}
	seen := map[string]bool{}
	for _, target := range c.Targets {
		if !targetName.MatchString(target.Name) || len(target.Name) > 253 {
			return fmt.Errorf("target name %q: use lower-case letters, digits, hyphens and dots", target.Name)
		}
		if seen[target.Name] {
			return fmt.Errorf("target name %q is there twice", target.Name)
		}
		seen[target.Name] = true
		if u, err := url.Parse(target.URL); err != nil || u.Host == "" {
			return fmt.Errorf("target %s: %q is not an http URL", target.Name, target.URL)
		}
	}
	switch c.PrefixMode {
	case "", PrefixConditional, PrefixAlways, PrefixNever:
	default:
		return fmt.Errorf("prefix mode %q: use conditional, always or never", c.PrefixMode)
	}
	for _, processor := range c.Processors {
		if processor.Host == "" {
			return errors.New("a processor needs a host")
		}
		for method, phase := range processor.Methods {
			if !phases[phase] {
				return fmt.Errorf("method %s: phase %q: use off, request, response or full", method, phase)
			}
		}
	}
	return nil
}

// phase is what the processor is configured to do for a method. An exact name
// wins over a prefix, a prefix over a suffix, a suffix over *; of several the
// longest, then the first by name.
func (p *Processor) phase(method string) Phase {
	if phase, ok := p.Methods[method]; ok {
		return phase
	}
	best, bestRank := "", 0
	for pattern := range p.Methods {
		rank := patternRank(pattern, method)
		if rank > bestRank || rank == bestRank && rank > 0 && (len(pattern) > len(best) || len(pattern) == len(best) && pattern < best) {
			best, bestRank = pattern, rank
		}
	}
	if bestRank == 0 {
		return Off
	}
	return p.Methods[best]
}

// patternRank is 0 for a pattern that does not match, and higher for a kind of
// pattern that wins.
func patternRank(pattern, method string) int {
	if pattern == "*" {
		return 1
	}
	if suffix, ok := strings.CutPrefix(pattern, "*/"); ok && !strings.Contains(suffix, "*") && strings.HasSuffix(method, "/"+suffix) {
		return 2
	}
	if prefix, ok := strings.CutSuffix(pattern, "/*"); ok && !strings.Contains(prefix, "*") && strings.HasPrefix(method, prefix+"/") {
		return 3
	}
	return 0
}

func (p Phase) request() bool  { return p == Request || p == Full }
func (p Phase) response() bool { return p == Response || p == Full }
