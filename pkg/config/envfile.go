package config

import (
	"strings"

	"agentgateway-lock/pkg/canonical"
)

// envFile is a file of variables.
type envFile struct {
	path   string
	hash   canonical.Digest
	values map[string]string
}

// setEnvFile reads the file that an entry names. Its path may start with
// ${workspaceFolder} or ${userHome}.
func (e *entry) setEnvFile(m member) {
	t := e.template(m)
	if len(t) == 0 {
		return
	}
	l := e.file.loader
	var name strings.Builder
	for i, p := range t {
		switch {
		case p.ref == nil:
			name.WriteString(p.literal)
		case i == 0 && p.ref.what == fromWorkspace:
			name.WriteString(l.o.Root)
		case i == 0 && p.ref.what == fromHome && l.o.Home != "":
			name.WriteString(l.o.Home)
		default:
			e.bad(m.line, "envFile may refer to ${workspaceFolder} and ${userHome} only, at its start")
			return
		}
	}
	path, inside := l.locate(name.String())
	src, err := l.readFile(path, inside, maxFile)
	if err != nil {
		e.bad(m.line, "the file that envFile names cannot be read: %v", readError(path, err).Detail)
		return
	}
	recorded := path
	if !inside {
		recorded = t.String()
	}
	e.launch.envFile = &envFile{recorded, canonical.Sum(src), parseEnvFile(string(src))}
}

// parseEnvFile reads lines NAME=value, with comments, the word export, and quotes
// around a value.
func parseEnvFile(src string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(src) {
		line = strings.TrimSpace(line)
		line = strings.TrimSpace(strings.TrimPrefix(line, "export "))
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok || variableName.FindString(name) != name || name == "" {
			continue
		}
		values[name] = envValue(strings.TrimSpace(value))
	}
	return values
}

func envValue(s string) string {
	if s == "" {
		return s
	}
	if quote := s[0]; quote == '"' || quote == '\'' || quote == '`' {
		if end := strings.IndexByte(s[1:], quote); end >= 0 {
			s = s[1 : 1+end]
			if quote == '"' {
				s = strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(s)
			}
			return s
		}
	}
	if i := strings.Index(s, " #"); i >= 0 {
		s = strings.TrimSpace(s[:i])
	}
	return s
}
