package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/processor"
)

const operations = "../../docs/operations.md"

// section returns the text under a heading of docs/operations.md.
func section(t *testing.T, heading string) string {
	t.Helper()
	data, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(data), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("docs/operations.md has no section %q", heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// firstColumn are the names in the first column of the tables of a text.
func firstColumn(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cell, _, _ := strings.Cut(line[2:], " |")
		for _, m := range regexp.MustCompile("`([a-z_-]+)").FindAllStringSubmatch(cell, -1) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return names
}

func TestOperationsDescribeEveryCode(t *testing.T) {
	text := section(t, "Codes of denials")
	for _, d := range processor.Denials() {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", d.Code, d.Meaning, d.Action); !strings.Contains(text, row) {
			t.Errorf("docs/operations.md lacks the row\n%s", row)
		}
	}
	if got := len(firstColumn(text)); got != len(processor.Denials()) {
		t.Errorf("docs/operations.md has %d codes, want %d", got, len(processor.Denials()))
	}
}

func TestOperationsDescribeEveryReasonAndRule(t *testing.T) {
	want := append(ReasonCodes(), Rules()...)
	slices.Sort(want)
	if diff := cmp.Diff(want, firstColumn(section(t, "Readiness"))); diff != "" {
		t.Errorf("docs/operations.md (-want +got):\n%s", diff)
	}
}

func TestOperationsDescribeEveryMetric(t *testing.T) {
	root := canonical.SumString("a root")
	d, err := NewDaemon(t.Context(), DaemonConfig{
		Origin:   Origin{Repo: t.TempDir(), Ref: "lock/v*", TrustRoot: &root},
		Listener: Listener{Address: "127.0.0.1:0", InsecureLoopback: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	descs := make(chan *prometheus.Desc, 1024)
	d.metrics.registry.Describe(descs)
	close(descs)
	var want []string
	for desc := range descs {
		m := regexp.MustCompile(`fqName: "` + metricsPrefix + `([a-z_]+)"`).FindStringSubmatch(desc.String())
		if m == nil {
			t.Fatalf("%s does not begin with %s", desc, metricsPrefix)
		}
		want = append(want, m[1])
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, firstColumn(section(t, "Metrics"))); diff != "" {
		t.Errorf("docs/operations.md (-want +got):\n%s", diff)
	}
}

// The documented configuration hooks every method in its phase.
func TestOperationsHookEveryMethod(t *testing.T) {
	_, text, _ := strings.Cut(section(t, "The gateway's configuration"), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	var config struct {
		Routes []struct {
			Policies struct {
				MCPGuardrails struct {
					Processors []struct {
						FailureMode    string            `yaml:"failureMode"`
						Methods        map[string]string `yaml:"methods"`
						RequestHeaders struct{ Disallowed []string }
					}
				} `yaml:"mcpGuardrails"`
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	p := config.Routes[0].Policies.MCPGuardrails.Processors[0]
	want := map[string]string{}
	for _, h := range processor.Hooks() {
		want[h.Method] = h.Phase
	}
	if diff := cmp.Diff(want, p.Methods); diff != "" {
		t.Errorf("methods (-want +got):\n%s", diff)
	}
	if p.FailureMode != "failClosed" {
		t.Errorf("failureMode is %q", p.FailureMode)
	}
}

// Every YAML text of the page is one that parses.
func TestOperationsParse(t *testing.T) {
	data, err := os.ReadFile(filepath.Clean(operations))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(data), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		var out any
		if err := yaml.Unmarshal([]byte(text), &out); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
}
