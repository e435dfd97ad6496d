package bench_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"agentgateway-lock/e2e/realservers"
	"agentgateway-lock/pkg/crawl"
	"agentgateway-lock/pkg/project"
)

// A realServer is a program of an npm package, and the argument it needs.
type realServer struct{ name, module, script, arg string }

// args are what node is given.
func (s realServer) args(modules string) []string {
	args := []string{filepath.Join(modules, s.module, s.script)}
	if s.arg != "" {
		args = append(args, s.arg)
	}
	return args
}

// eightServers are the packages that lock-vs-start starts, and their programs.
var eightServers = []realServer{
	{"everything", "@modelcontextprotocol/server-everything", "dist/index.js", ""},
	{"filesystem", "@modelcontextprotocol/server-filesystem", "dist/index.js", "."},
	{"memory", "@modelcontextprotocol/server-memory", "dist/index.js", ""},
	{"sequential-thinking", "@modelcontextprotocol/server-sequential-thinking", "dist/index.js", ""},
	{"playwright", "@playwright/mcp", "cli.js", ""},
	{"github", "@modelcontextprotocol/server-github", "dist/index.js", ""},
	{"chart", "@antv/mcp-server-chart", "build/index.js", ""},
	{"context7", "@upstash/context7-mcp", "dist/index.js", ""},
}

// lockVsStart locks eight real servers for the first time; over starting the same
// commands, as many at a time, with the two questions that a client cannot do
// without, and ending them in the same way.
func lockVsStart(b *testing.B) {
	modules, node := realservers.Find(b, "..")
	starts := &counted{}
	env := project.Env{
		Lookup: os.LookupEnv, Environ: os.Environ(), GOOS: runtime.GOOS, Now: time.Now, Program: "agentgateway", Version: "0",
		Start: starts.start,
	}
	reportRatio(b, 7, median, func() {
		starts.n = 0
		dir := b.TempDir()
		writeServers(b, dir, node, modules)
		p, err := project.Open(b.Context(), env, project.Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		rep, err := p.Lock(b.Context(), project.LockOptions{})
		if err != nil || rep.ExitCode != 0 {
			b.Fatalf("lock: %v, exit code %d", err, rep.ExitCode)
		}
		if starts.n != len(eightServers) {
			b.Fatalf("%d processes were started", starts.n)
		}
	}, func() {
		dir := b.TempDir()
		var all sync.WaitGroup
		for _, s := range eightServers {
			all.Go(func() {
				if err := startAndList(node, s.args(modules), dir); err != nil {
					b.Errorf("%s: %v", s.name, err)
				}
			})
		}
		all.Wait()
	})
}

// counted starts processes and counts them.
type counted struct {
	mu sync.Mutex
	n  int
}

func (c *counted) start(spec crawl.ProcessSpec) (*crawl.Process, error) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	return crawl.StartProcess(spec)
}

func writeServers(b *testing.B, dir, node, modules string) {
	b.Helper()
	servers := map[string]any{}
	for _, s := range eightServers {
		servers[s.name] = map[string]any{"command": node, "args": s.args(modules)}
	}
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".mcp.json"), data, 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// startAndList does what the shortest client does.
func startAndList(node string, args []string, dir string) error {
	p, err := crawl.StartProcess(crawl.ProcessSpec{Command: node, Args: args, Dir: dir, Env: os.Environ()})
	if err != nil {
		return err
	}
	defer p.Stop(false)
	go func() { _, _ = io.Copy(io.Discard, p.Stderr) }()
	lines := bufio.NewReaderSize(p.Stdout, 1<<20)
	ask := func(id int, method, params string) error {
		if _, err := fmt.Fprintf(p.Stdin, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
			return err
		}
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return fmt.Errorf("%s: %w", method, err)
			}
			var answer struct {
				ID     int
				Result json.RawMessage
			}
			if json.Unmarshal(line, &answer) == nil && answer.ID == id && answer.Result != nil {
				return nil
			}
		}
	}
	if err := ask(1, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"0"}}`); err != nil {
		return err
	}
	if _, err := io.WriteString(p.Stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		return err
	}
	return ask(2, "tools/list", "{}")
}
