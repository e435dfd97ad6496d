package bench_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/e2e/approved"
	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/project"
	"agentgateway-lock/pkg/surface"
)

// ciOffline10k judges 10,000 tools and 1,000 decisions offline, over reading every
// one of the files and canonicalising it once, both on all cores.
func ciOffline10k(b *testing.B) {
	dir := approvedRepository(b)
	root := func() string {
		p := openProject(b, dir, nil)
		defer p.Close()
		list, err := p.TrustList()
		if err != nil {
			b.Fatal(err)
		}
		return list.Chain.Digest().String()
	}()
	gate := func() {
		p := openProject(b, dir, &root)
		defer p.Close()
		rep, err := p.Gate(b.Context(), project.GateOptions{Offline: true})
		if err != nil || rep.ExitCode != 0 {
			b.Fatalf("the gate: %v, %+v", err, rep)
		}
	}
	reportRatio(b, 7, fastest, gate, func() { canonicaliseAll(b, dir) })
}

func openProject(b *testing.B, dir string, root *string) *project.Project {
	p, err := project.Open(b.Context(), project.Env{
		Lookup: func(string) (string, bool) { return "", false },
		GOOS:   runtime.GOOS, Now: time.Now, Program: "agentgateway", Version: "0",
	}, project.Options{Dir: dir, TrustRoot: root})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// approvedRepository holds 10 servers of 1,000 tools, configured and approved by
// some 1,000 decisions.
func approvedRepository(b *testing.B) string {
	r, err := approved.New(b.Context(), b.TempDir(), false)
	if err != nil {
		b.Fatal(err)
	}
	servers := map[string]any{}
	for s := range 10 {
		raws := make([][]byte, 1000)
		for i := range raws {
			raws[i] = fmt.Appendf(nil, `{"name":"tool_%04d","description":"Does the thing number %d of the server %d, with care and attention.","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"Where."},"depth":{"type":"integer"}},"required":["path"]}}`, i, i, s)
		}
		list, _ := surface.NewList(surface.KindTool, raws)
		name := fmt.Sprintf("server-%02d", s)
		url := "https://" + name + ".example.com/mcp"
		seen := surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: list}}
		if err := r.Put(b.Context(), name, &source.Source{Transport: source.HTTP, URL: url}, seen); err != nil {
			b.Fatal(err)
		}
		servers[name] = map[string]string{"url": url}
	}
	config, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Write(".mcp.json", config); err != nil {
		b.Fatal(err)
	}
	if err := r.DecideEach(b.Context(), 10); err != nil {
		b.Fatal(err)
	}
	return r.Dir
}

// canonicaliseAll reads every file that the gate reads and canonicalises it once,
// on all cores.
func canonicaliseAll(b *testing.B, dir string) {
	paths := make(chan string, 1024)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			enc := canonical.Encoder{MaxSize: 64 << 20}
			var text []byte
			for path := range paths {
				data, err := os.ReadFile(path)
				if err != nil {
					b.Error(err)
					continue
				}
				if text, err = enc.Append(text[:0], data); err != nil {
					b.Errorf("%s: %v", path, err)
				}
			}
		})
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case name == ".git":
			return filepath.SkipDir
		case strings.HasSuffix(name, ".json") || name == lockfile.DefaultName:
			paths <- path
		}
		return nil
	})
	close(paths)
	workers.Wait()
	if err != nil {
		b.Fatal(err)
	}
}
