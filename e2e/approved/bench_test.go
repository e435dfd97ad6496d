package approved_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/e2e/approved"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/serve"
	"agentgateway-lock/pkg/surface"
)

// large is a repository of 100 servers with 100 tools each, approved by 1,000
// decisions and sealed with a tag.
func large(b *testing.B) *approved.Repository {
	b.Helper()
	r, err := approved.New(b.Context(), b.TempDir(), false)
	if err != nil {
		b.Fatal(err)
	}
	for s := range 100 {
		raws := make([][]byte, 100)
		for i := range raws {
			raws[i] = fmt.Appendf(nil, `{"name":"tool_%03d","description":"Does the thing number %d of the server %d, with care and attention.","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"Where."},"depth":{"type":"integer"}},"required":["path"]}}`, i, i, s)
		}
		list, _ := surface.NewList(surface.KindTool, raws)
		seen := surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: list}}
		name := fmt.Sprintf("server-%03d", s)
		r.File.Put(lockfile.FromSurface(name, &source.Source{Transport: source.HTTP, URL: "https://" + name + ".example.com/mcp"}, surface.AllCovers(), seen))
	}
	r.File.Trust = r.Chain.Digest()
	// 10,100 items: the tools and the sources.
	if err := r.DecideEach(b.Context(), 11); err != nil {
		b.Fatal(err)
	}
	// One pack, as a clone has.
	if err := r.Tag(b.Context(), "lock/v1"); err != nil {
		b.Fatal(err)
	}
	if _, err := r.Git(b.Context(), "repack", "-q", "-a", "-d"); err != nil {
		b.Fatal(err)
	}
	return r
}

// load-10k is the time until a processor is ready with 10,000 tools and 1,000
// decisions from a tag, over reading the same files with git archive.
func BenchmarkRatio(b *testing.B) {
	b.Run("reload-under-load-git", reloadUnderLoad)
	b.Run("load-10k", func(b *testing.B) {
		r := large(b)
		files, err := filepath.Glob(filepath.Join(r.Dir, ".agentgateway", "decisions", "*", "*.json"))
		if err != nil || len(files) < 900 {
			b.Fatalf("%d decisions, %v", len(files), err)
		}
		var ours, theirs []time.Duration
		var heap uint64
		for range 5 {
			began := time.Now()
			stop := ready(b, r)
			ours = append(ours, time.Since(began))
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap = max(heap, m.HeapAlloc)
			stop()

			began = time.Now()
			cmd := exec.CommandContext(b.Context(), "git", "archive", "lock/v1", lockfile.DefaultName, ".agentgateway/trust", ".agentgateway/decisions")
			cmd.Dir = r.Dir
			if out, err := cmd.Output(); err != nil || len(out) < 1<<20 {
				b.Fatalf("%d bytes, %v", len(out), err)
			}
			theirs = append(theirs, time.Since(began))
		}
		slices.Sort(ours)
		slices.Sort(theirs)
		mine, git := ours[len(ours)/2], theirs[len(theirs)/2]
		b.ReportMetric(mine.Seconds()/git.Seconds(), "ratio")
		b.ReportMetric(mine.Seconds(), "s")
		b.ReportMetric(float64(heap>>20), "MiB")
	})
}

// ready starts a processor and waits until it is ready.
func ready(b *testing.B, r *approved.Repository) (stop func()) {
	b.Helper()
	folder, err := os.MkdirTemp("", "agw") //nolint:usetesting // the path of a socket has to be short
	if err != nil {
		b.Fatal(err)
	}
	d, err := serve.NewDaemon(b.Context(), serve.DaemonConfig{
		Origin:   serve.Origin{Repo: r.Dir, Ref: "lock/v1", TrustRoot: r.Root()},
		Listener: serve.Listener{Address: "unix:" + filepath.Join(folder, "p.sock")}, StateDir: filepath.Join(folder, "state"),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, nil) }()
	for {
		if ok, _ := d.Ready(); ok {
			break
		}
		if ctx.Err() != nil {
			b.Fatal(ctx.Err())
		}
		time.Sleep(time.Millisecond)
	}
	return func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		_ = os.RemoveAll(folder)
	}
}
