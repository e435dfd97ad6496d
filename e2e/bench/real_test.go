package bench_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gowebpki/jcs"

	"agentgateway-lock/e2e/realservers"
	"agentgateway-lock/pkg/surface"
)

var update = flag.Bool("update", false, "record the listings of the real servers again")

// root is the repository.
var root = filepath.Join("..", "..")

// A recording is what a real server lists, the definitions byte for byte as they
// were sent.
type recording struct {
	Package           string            `json:"package"`
	Instructions      string            `json:"instructions,omitempty"`
	Tools             []json.RawMessage `json:"tools"`
	Prompts           []json.RawMessage `json:"prompts,omitempty"`
	ResourceTemplates []json.RawMessage `json:"resourceTemplates,omitempty"`
}

// realServers are the servers that e2e/package.json pins.
var realServers = []struct{ name, module, script string }{
	{"everything", "@modelcontextprotocol/server-everything", "dist/index.js"},
	{"filesystem", "@modelcontextprotocol/server-filesystem", "dist/index.js"},
	{"memory", "@modelcontextprotocol/server-memory", "dist/index.js"},
	{"sequential-thinking", "@modelcontextprotocol/server-sequential-thinking", "dist/index.js"},
	{"playwright", "@playwright/mcp", "cli.js"},
}

func recordingPath(name string) string {
	return filepath.Join(root, "testdata", "real", name+".json")
}

func readRecording(tb testing.TB, name string) recording {
	tb.Helper()
	data, err := os.ReadFile(recordingPath(name))
	if err != nil {
		tb.Fatal(err)
	}
	var r recording
	if err := json.Unmarshal(data, &r); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return r
}

// realDefinitions are those of all recordings, by kind.
func realDefinitions(tb testing.TB) map[surface.Kind][][]byte {
	tb.Helper()
	all := map[surface.Kind][][]byte{}
	add := func(kind surface.Kind, raws []json.RawMessage) {
		for _, raw := range raws {
			all[kind] = append(all[kind], raw)
		}
	}
	for _, s := range realServers {
		r := readRecording(tb, s.name)
		add(surface.KindTool, r.Tools)
		add(surface.KindPrompt, r.Prompts)
		add(surface.KindResourceTemplate, r.ResourceTemplates)
	}
	return all
}

// The digests of real definitions are those of an independent implementation of
// RFC 8785, and no real definition is refused.
func TestRealDigests(t *testing.T) {
	n := 0
	for kind, raws := range realDefinitions(t) {
		for _, raw := range raws {
			n++
			d, err := surface.Read(kind, raw)
			if err != nil {
				t.Errorf("refused: %v: %.80s", err, raw)
				continue
			}
			text, err := jcs.Transform(raw)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(text)
			if want := hex.EncodeToString(sum[:]); d.Digest.String() != want {
				t.Errorf("%s: digest %s, want %s", d.Name, d.Digest, want)
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d definitions are recorded", n)
	}
}

// The recordings are what the pinned versions list.
func TestRecordings(t *testing.T) {
	modules, _ := realservers.Find(t, filepath.Join(root, "e2e"))
	for _, s := range realServers {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			data, err := record(t, filepath.Join(modules, filepath.FromSlash(s.module)), s.script)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(recordingPath(s.name), data, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			was, err := os.ReadFile(recordingPath(s.name))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(was, data) {
				t.Errorf("%s lists something else than testdata/real holds; go test ./e2e/bench -update, and look at the difference", s.module)
			}
		})
	}
}

// record starts a server and writes down what it lists. It speaks the protocol by
// hand, so that nothing of this project stands between the server and the file.
func record(t *testing.T, module, script string) ([]byte, error) {
	t.Helper()
	version, err := moduleVersion(module)
	if err != nil {
		return nil, err
	}
	script, err = filepath.Abs(filepath.Join(module, filepath.FromSlash(script)))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(t.Context(), "node", script)
	cmd.Dir = t.TempDir()
	if strings.Contains(module, "filesystem") {
		cmd.Args = append(cmd.Args, cmd.Dir)
	}
	cmd.WaitDelay = time.Minute
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return nil, err
	}
	defer func() {
		in.Close()
		cmd.Process.Kill() // some do not end with their input
		cmd.Wait()
	}()
	c := &conversation{in: in, out: bufio.NewReaderSize(out, 1<<20)}
	r, err := c.list()
	if err != nil {
		return nil, err
	}
	r.Package = version
	return r.format()
}

func moduleVersion(module string) (string, error) {
	data, err := os.ReadFile(filepath.Join(module, "package.json"))
	if err != nil {
		return "", err
	}
	var p struct{ Name, Version string }
	err = json.Unmarshal(data, &p)
	return p.Name + "@" + p.Version, err
}

// conversation asks a server one thing after another.
type conversation struct {
	in  io.Writer
	out *bufio.Reader
	id  int
}

func (c *conversation) list() (*recording, error) {
	var first struct {
		Instructions string
		Capabilities struct{ Prompts, Resources json.RawMessage }
	}
	err := c.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"record","version":"1"}}`, &first)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintln(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return nil, err
	}
	r := &recording{Instructions: first.Instructions}
	err = c.ask("tools/list", "{}", r)
	if err == nil && first.Capabilities.Prompts != nil {
		err = c.ask("prompts/list", "{}", r)
	}
	if err == nil && first.Capabilities.Resources != nil {
		err = c.ask("resources/templates/list", "{}", r)
	}
	return r, err
}

// ask decodes the result of a request into result.
func (c *conversation) ask(method, params string, result any) error {
	c.id++
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params); err != nil {
		return err
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		var answer struct {
			ID     *int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if json.Unmarshal(line, &answer) != nil || answer.ID == nil || *answer.ID != c.id {
			continue
		}
		if answer.Error != nil {
			return fmt.Errorf("%s: %s", method, answer.Error)
		}
		return json.Unmarshal(answer.Result, result)
	}
}

// format writes a recording with one definition a line, byte for byte.
func (r *recording) format() ([]byte, error) {
	var b bytes.Buffer
	head := func(name string, value any) error {
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		err := enc.Encode(value)
		fmt.Fprintf(&b, "  %q: %s", name, bytes.TrimSpace(text.Bytes()))
		return err
	}
	b.WriteString("{\n")
	err := head("package", r.Package)
	if r.Instructions != "" {
		b.WriteString(",\n")
		err = errors.Join(err, head("instructions", r.Instructions))
	}
	for _, list := range []struct {
		name string
		raws []json.RawMessage
	}{{"tools", r.Tools}, {"prompts", r.Prompts}, {"resourceTemplates", r.ResourceTemplates}} {
		if list.raws == nil {
			continue
		}
		fmt.Fprintf(&b, ",\n  %q: [", list.name)
		for i, raw := range list.raws {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n    %s", raw)
		}
		b.WriteString("\n  ]")
	}
	b.WriteString("\n}\n")
	return b.Bytes(), err
}
