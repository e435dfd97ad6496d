package gatewaydouble

import (
	"cmp"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The types below spell the part of the gateway's configuration that the double
// has a meaning for.

type yamlFile struct {
	Config struct {
		Admin     string `yaml:"adminAddr"`
		Stats     string `yaml:"statsAddr"`
		Readiness string `yaml:"readinessAddr"`
	} `yaml:"config"`
	Frontend struct {
		Network struct {
			Rules []string `yaml:"rules"`
		} `yaml:"networkAuthorization"`
	} `yaml:"frontendPolicies"`
	Gateways map[string]yamlGateway `yaml:"gateways"`
	Routes   []yamlRoute            `yaml:"routes"`
}

type yamlGateway struct {
	Port int `yaml:"port"`
}

type yamlRoute struct {
	Name     string         `yaml:"name"`
	Matches  []yamlMatch    `yaml:"matches"`
	Policies *yamlPolicies  `yaml:"policies,omitempty"`
	Backends []*yamlBackend `yaml:"backends"`
}

type yamlMatch struct {
	Path struct {
		Exact string `yaml:"exact"`
	} `yaml:"path"`
}

type yamlPolicies struct {
	Authorization *yamlRules      `yaml:"mcpAuthorization,omitempty"`
	Guardrails    *yamlGuardrails `yaml:"mcpGuardrails,omitempty"`
}

type yamlRules struct {
	Rules []string `yaml:"rules"`
}

type yamlGuardrails struct {
	Processors []yamlProcessor `yaml:"processors"`
}

type yamlProcessor struct {
	Kind        string            `yaml:"kind"`
	Host        string            `yaml:"host"`
	FailureMode string            `yaml:"failureMode"`
	Methods     map[string]Phase  `yaml:"methods"`
	Metadata    map[string]string `yaml:"metadata,omitempty"`
	Headers     *yamlHeaders      `yaml:"requestHeaders,omitempty"`
	Policies    *yamlProcPolicies `yaml:"policies,omitempty"`
}

type yamlHeaders struct {
	Allowed    []string `yaml:"allowed,omitempty"`
	Disallowed []string `yaml:"disallowed,omitempty"`
}

type yamlProcPolicies struct {
	HTTP *yamlHTTP `yaml:"http,omitempty"`
	Auth *yamlAuth `yaml:"backendAuth,omitempty"`
	TLS  *yamlTLS  `yaml:"backendTLS,omitempty"`
}

type yamlHTTP struct {
	RequestTimeout string `yaml:"requestTimeout"`
}

type yamlAuth struct {
	Key string `yaml:"key"`
}

type yamlTLS struct {
	Root     string `yaml:"root,omitempty"`
	Cert     string `yaml:"cert,omitempty"`
	Key      string `yaml:"key,omitempty"`
	Hostname string `yaml:"hostname,omitempty"`
}

type yamlBackend struct {
	MCP *yamlMCP `yaml:"mcp,omitempty"`
	// Host makes the backend a plain HTTP one.
	Host string `yaml:"host,omitempty"`
}

type yamlMCP struct {
	StatefulMode string       `yaml:"statefulMode"`
	PrefixMode   PrefixMode   `yaml:"prefixMode"`
	FailureMode  string       `yaml:"failureMode"`
	Targets      []yamlTarget `yaml:"targets"`
}

type yamlTarget struct {
	Name string `yaml:"name"`
	MCP  struct {
		Host string `yaml:"host"`
	} `yaml:"mcp"`
}

// WriteConfig returns the configuration file that makes the real gateway do what
// the double does for config. Its data port binds every address of the machine,
// as the gateway's always does, and a policy closes connections that are not from
// loopback; its other servers bind loopback only. Empty ports and addresses get
// the gateway's defaults.
func WriteConfig(config Config) []byte {
	return writeConfig(config, "")
}

// writeConfig is WriteConfig with, where marker is not empty, a further route of
// that name by which a reload can be recognised.
func writeConfig(config Config, marker string) []byte {
	var file yamlFile
	file.Config.Admin = cmp.Or(config.AdminAddr, "127.0.0.1:15000")
	file.Config.Stats = cmp.Or(config.StatsAddr, "127.0.0.1:15020")
	file.Config.Readiness = cmp.Or(config.ReadinessAddr, "127.0.0.1:15021")
	file.Frontend.Network.Rules = []string{`cidr("127.0.0.0/8").containsIP(source.address)`}
	file.Gateways = map[string]yamlGateway{"default": {Port: cmp.Or(config.Port, 3000)}}

	mcp := &yamlMCP{
		StatefulMode: map[bool]string{false: "stateful", true: "stateless"}[config.Stateless],
		PrefixMode:   cmp.Or(config.PrefixMode, PrefixConditional),
		FailureMode:  failureMode(config.FailOpen),
	}
	for _, target := range config.Targets {
		entry := yamlTarget{Name: target.Name}
		entry.MCP.Host = target.URL
		mcp.Targets = append(mcp.Targets, entry)
	}
	route := yamlRoute{Name: "mcp", Policies: config.policies(), Backends: []*yamlBackend{{MCP: mcp}}}
	route.Matches = make([]yamlMatch, 1)
	route.Matches[0].Path.Exact = cmp.Or(config.Path, defaultPath)
	file.Routes = []yamlRoute{route}
	if marker != "" {
		extra := yamlRoute{Name: marker, Matches: make([]yamlMatch, 1), Backends: []*yamlBackend{{Host: "127.0.0.1:9"}}}
		extra.Matches[0].Path.Exact = "/" + marker
		file.Routes = append(file.Routes, extra)
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		panic(err) // the types above always marshal
	}
	// The gateway expands the whole file as a shell would.
	return []byte(strings.ReplaceAll(string(text), "$", "$$"))
}

func (c *Config) policies() *yamlPolicies {
	if c.AllowTools == nil && len(c.Processors) == 0 {
		return nil
	}
	policies := &yamlPolicies{}
	if c.AllowTools != nil {
		names := make([]string, len(c.AllowTools))
		for i, name := range c.AllowTools {
			names[i] = celText(name)
		}
		policies.Authorization = &yamlRules{[]string{"mcp.tool.name in [" + strings.Join(names, ", ") + "]"}}
	}
	if len(c.Processors) > 0 {
		policies.Guardrails = &yamlGuardrails{}
		for _, p := range c.Processors {
			policies.Guardrails.Processors = append(policies.Guardrails.Processors, p.yaml())
		}
	}
	return policies
}

func (p *Processor) yaml() yamlProcessor {
	out := yamlProcessor{Kind: "remote", Host: p.Host, FailureMode: failureMode(p.FailOpen), Methods: p.Methods}
	for key, expression := range p.Metadata {
		if out.Metadata == nil {
			out.Metadata = map[string]string{}
		}
		out.Metadata[key] = expression.cel
	}
	if len(p.AllowedHeaders)+len(p.DisallowedHeaders) > 0 {
		out.Headers = &yamlHeaders{p.AllowedHeaders, p.DisallowedHeaders}
	}
	policies := &yamlProcPolicies{}
	if p.Timeout != 0 {
		policies.HTTP = &yamlHTTP{fmt.Sprintf("%dms", p.Timeout.Milliseconds())}
	}
	if p.Secret != "" {
		policies.Auth = &yamlAuth{p.Secret}
	}
	if p.TLS != nil {
		policies.TLS = &yamlTLS{p.TLS.RootFile, p.TLS.CertFile, p.TLS.KeyFile, p.TLS.Hostname}
	}
	if *policies != (yamlProcPolicies{}) {
		out.Policies = policies
	}
	return out
}

func failureMode(open bool) string {
	if open {
		return "failOpen"
	}
	return "failClosed"
}
