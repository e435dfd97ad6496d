package gatewaydouble_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"agentgateway-lock/e2e/gatewaydouble"
)

func TestWriteConfigSpellsTheGatewaysConfiguration(t *testing.T) {
	got := gatewaydouble.WriteConfig(gatewaydouble.Config{
		Path:       "/files/mcp",
		Targets:    []gatewaydouble.Target{{Name: "files", URL: "http://127.0.0.1:8080/mcp"}},
		AllowTools: []string{"read_file", `odd"$name`},
		Processors: []gatewaydouble.Processor{{
			Host:              "127.0.0.1:9001",
			Secret:            "s3cret",
			Timeout:           5 * time.Second,
			Methods:           map[string]gatewaydouble.Phase{"tools/list": gatewaydouble.Response, "tools/call": gatewaydouble.Off},
			DisallowedHeaders: []string{"authorization", "cookie"},
			TLS:               &gatewaydouble.TLS{RootFile: "/ca.pem", CertFile: "/c.pem", KeyFile: "/k.pem", Hostname: "guard"},
			Metadata: map[string]gatewaydouble.Expression{
				"server":  gatewaydouble.Constant("files"),
				"session": gatewaydouble.HeaderOr("Mcp-Session-Id", ""),
				"tenant":  gatewaydouble.Header("X-Tenant"),
				"call":    gatewaydouble.Guardrail("call"),
			},
		}},
	})
	// Section 5a of the contract, in its own spelling.
	const want = `
config:
  adminAddr: "127.0.0.1:15000"
  statsAddr: "127.0.0.1:15020"
  readinessAddr: "127.0.0.1:15021"
frontendPolicies:
  networkAuthorization:
    rules: ['cidr("127.0.0.0/8").containsIP(source.address)']
gateways:
  default: {port: 3000}
routes:
- name: mcp
  matches:
  - path: {exact: /files/mcp}
  policies:
    mcpAuthorization:
      rules: ['mcp.tool.name in ["read_file", "odd\"$$name"]']
    mcpGuardrails:
      processors:
      - kind: remote
        host: "127.0.0.1:9001"
        failureMode: failClosed
        methods: {tools/list: response, tools/call: "off"}
        metadata:
          server: '"files"'
          session: 'default(request.headers["mcp-session-id"], "")'
          tenant: 'request.headers["x-tenant"]'
          call: 'mcpGuardrails.call'
        requestHeaders: {disallowed: [authorization, cookie]}
        policies:
          http: {requestTimeout: 5000ms}
          backendAuth: {key: s3cret}
          backendTLS: {root: /ca.pem, cert: /c.pem, key: /k.pem, hostname: guard}
  backends:
  - mcp:
      statefulMode: stateful
      prefixMode: conditional
      failureMode: failClosed
      targets:
      - name: files
        mcp: {host: "http://127.0.0.1:8080/mcp"}
`
	if diff := cmp.Diff(decodeYAML(t, []byte(want)), decodeYAML(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWriteConfigLeavesOutWhatIsNotConfigured(t *testing.T) {
	got := gatewaydouble.WriteConfig(gatewaydouble.Config{
		Port:       4000,
		AdminAddr:  "127.0.0.1:1",
		Targets:    []gatewaydouble.Target{{Name: "a", URL: "http://127.0.0.1:1/"}, {Name: "b", URL: "http://127.0.0.1:2/"}},
		PrefixMode: gatewaydouble.PrefixNever,
		FailOpen:   true,
		Stateless:  true,
	})
	const want = `
config: {adminAddr: "127.0.0.1:1", statsAddr: "127.0.0.1:15020", readinessAddr: "127.0.0.1:15021"}
frontendPolicies: {networkAuthorization: {rules: ['cidr("127.0.0.0/8").containsIP(source.address)']}}
gateways: {default: {port: 4000}}
routes:
- name: mcp
  matches: [{path: {exact: /mcp}}]
  backends:
  - mcp:
      statefulMode: stateless
      prefixMode: never
      failureMode: failOpen
      targets: [{name: a, mcp: {host: "http://127.0.0.1:1/"}}, {name: b, mcp: {host: "http://127.0.0.1:2/"}}]
`
	if diff := cmp.Diff(decodeYAML(t, []byte(want)), decodeYAML(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func decodeYAML(t *testing.T, data []byte) any {
	t.Helper()
	var out any
	if err := yaml.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
