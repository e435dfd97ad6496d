package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// One target of a gateway configuration: the URL or command it leads to, with its
// headers, or why it is undecided.
func TestTarget(t *testing.T) {
	for _, test := range []struct {
		target  string
		want    string // url or command
		headers map[string]string
		why     string
	}{
		{target: `{name: a, mcp: {host: "https://h.example/mcp"}}`, want: "https://h.example/mcp"},
		{target: `{name: a, mcp: {host: h.example, port: 8080, path: /x}}`, want: "http://h.example:8080/x"},
		{target: `{name: a, mcp: {host: "::1", port: 8080, path: /x}}`, want: "http://[::1]:8080/x"},
		{target: `{name: a, mcp: {host: $URL}}`, want: "${URL}"},
		{target: `{name: a, mcp: {host: "${HOST:-h}", port: 1, path: /x}}`, want: "http://${HOST:-h}:1/x"},
		{target: `{name: a, mcp: {backend: b}}`, want: "http://b.example:81/mcp"},
		{target: `{name: a, sse: {backend: /b}}`, want: "http://b.example:81/sse"},
		{target: `{name: a, sse: {backend: b, path: /y}}`, want: "http://b.example:81/y"},
		{target: `{name: a, mcp: {host: "http://h/x"}, policies: {backendTLS: {}}}`, want: "https://h/x"},
		{target: `{name: a, mcp: {host: "http://h/x"}, policies: {backendAuth: {key: {value: $K}}}}`, want: "http://h/x",
			headers: map[string]string{"Authorization": "Bearer ${K}"}},
		{target: `{name: a, mcp: {host: "http://h/x"}, policies: {backendAuth: {key: {value: $K, location: {header: {name: x-k, prefix: "K "}}}}}}`,
			want: "http://h/x", headers: map[string]string{"x-k": "K ${K}"}},
		{target: `{name: a, mcp: {host: "http://h/x"}, policies: {requestHeaderModifier: {set: {x-a: $A}, add: {X-A: $B, x-b: "${C}"}}}}`,
			want: "http://h/x", headers: map[string]string{"x-a": "${A}", "x-b": "${C}"}},
		{target: `{name: a, stdio: {cmd: x, args: null}}`, want: "x"},

		{target: `{name: a, mcp: {host: "http://h/"}, stdio: {cmd: x}}`, why: "two transports"},
		{target: `{name: a}`, why: "no kind that is known"},
		{target: `{name: a, mcp: {}}`, why: "has no host"},
		{target: `{name: a, mcp: {host: 1}}`, why: "has no host"},
		{target: `{name: a, mcp: {host: h}}`, why: "needs a port and a path"},
		{target: `{name: a, mcp: {host: h, port: 1}}`, why: "needs a port and a path"},
		{target: `{name: a, mcp: {host: "http://h/", port: 1}}`, why: "a port or path beside it"},
		{target: `{name: a, mcp: {host: h, backend: b}}`, why: "both a host and a backend"},
		{target: `{name: a, mcp: {backend: none}}`, why: "does not give a host"},
		{target: `{name: a, stdio: {args: [x]}}`, why: "neither a command nor a url"},
		{target: `{name: a, stdio: {cmd: x, args: ["$${B}"]}}`, why: "cannot be recorded"},
		{target: `{name: a, mcp: {host: "http://h/x"}, policies: {backendAuth: {key: {file: /run/key}}}}`, why: "from a file"},
		{target: `{name: a, mcp: {host: "http://h/x"}, policies: {backendAuth: {key: {location: {}}}}}`, why: "holds no credential"},
		{target: `{name: a, mcp: {host: "http://h/x"}, policies: {requestHeaderModifier: {set: {"a b": x}}}}`, why: "no name of a header"},
	} {
		text := "backends: [{name: b, host: \"b.example:81\"}]\nmcp:\n  targets:\n  - " + test.target + "\n"
		set, err := Load(t.Context(), options(map[string]string{"gateway.yaml": text}))
		if err != nil {
			t.Errorf("%s: %v", test.target, err)
			continue
		}
		if test.why != "" {
			if f := set.Undecided["a"]; len(f) == 0 || !strings.Contains(f[0].Summary, test.why) || f[0].Place.Line != 4 {
				t.Errorf("%s: %v, want …%s…", test.target, f, test.why)
			}
			continue
		}
		s := set.Server("a")
		if s == nil {
			t.Errorf("%s: %v", test.target, set.Findings)
			continue
		}
		if have := s.Source.Command + s.Source.URL; have != test.want {
			t.Errorf("%s: %s, want %s", test.target, have, test.want)
		}
		if diff := cmp.Diff(test.headers, s.Source.Headers); diff != "" {
			t.Errorf("%s: %s", test.target, diff)
		}
	}
}

// The nearest policy decides, and a target stands behind the policies of its
// backend and route.
func TestPoliciesAreInherited(t *testing.T) {
	set, err := Load(t.Context(), options(map[string]string{"agentgateway.yaml": `
routes:
- policies:
    backendAuth: {key: $ROUTE}
    requestHeaderModifier: {set: {x-route: $R}}
  backends:
  - mcp:
      targets:
      - name: near
        mcp: {host: "http://h/x"}
        policies: {backendAuth: {key: $NEAR}}
      - {name: far, mcp: {host: "http://h/x"}}
`}))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"near": "Bearer ${NEAR}", "far": "Bearer ${ROUTE}"} {
		if diff := cmp.Diff(map[string]string{"Authorization": want, "x-route": "${R}"}, set.Server(name).Source.Headers); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
