package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"agentgateway-lock/cmd/mockupstream/upstream"
	"agentgateway-lock/pkg/project"
)

// lockParallel locks 50 HTTP servers that answer each request after 200 ms, 50 at
// a time; over locking one such server.
func lockParallel(b *testing.B) {
	const servers = 50
	one, all := map[string]string{}, map[string]string{}
	for i := range servers {
		s := upstream.New(upstream.Options{})
		url, err := s.Start(b.Context(), "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		s.Delay(200 * time.Millisecond)
		name := fmt.Sprintf("server%02d", i)
		all[name] = url
		if i == 0 {
			one[name] = url
		}
	}
	reportRatio(b, 3, median, func() { lock(b, all, servers) }, func() { lock(b, one, servers) })
}

// lock locks servers for the first time, in a new folder.
func lock(b *testing.B, servers map[string]string, jobs int) {
	env := project.Env{
		Lookup: func(string) (string, bool) { return "", false },
		GOOS:   runtime.GOOS, Now: time.Now, Program: "agentgateway", Version: "0",
	}
	p, err := project.Open(b.Context(), env, project.Options{Dir: b.TempDir(), Direct: servers})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	opts := project.LockOptions{Listing: project.Listing{Jobs: jobs}}
	for name := range servers {
		opts.AllowPrivate = append(opts.AllowPrivate, name)
	}
	rep, err := p.Lock(b.Context(), opts)
	if err != nil || rep.ExitCode != 0 {
		b.Fatalf("lock: %v, %+v", err, rep)
	}
}

// lockMemory locks a server of 10,000 tools with the command itself; its peak
// memory over ten times the bytes of the listing and 50 MiB. The larger of a
// listing of 6 MB and one of 60 MB counts.
func lockMemory(b *testing.B) {
	bin := build(b, "agentgateway", "./cmd/agentgateway")
	for b.Loop() {
		worst := 0.0
		for _, padding := range []int{300, 5700} {
			peak, listing := lockPeak(b, bin, strings.Repeat(" x", padding/2))
			worst = max(worst, float64(peak)/float64(10*listing+50<<20))
		}
		b.ReportMetric(worst, "ratio")
	}
}

// lockPeak returns the peak memory of a lock, and the size of what was listed.
func lockPeak(b *testing.B, bin, padding string) (peak, listing int64) {
	raws := tenThousandTools(1, padding)
	var answer strings.Builder
	answer.WriteString(`{"tools":[`)
	for i, raw := range raws {
		if i > 0 {
			answer.WriteByte(',')
		}
		answer.Write(raw)
	}
	answer.WriteString(`]}`)
	s := upstream.New(upstream.Options{})
	url, err := s.Start(b.Context(), "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	s.SetPrompts()
	s.SetTemplates() // no more than 10,000 definitions of all kinds are listed
	s.Result("tools/list", answer.String())
	cmd := exec.CommandContext(b.Context(), bin, "lock", "-C", b.TempDir(), "--server", "big="+url, "--allow-private", "big")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("lock: %v\n%.2000s", err, out)
	}
	return peakMemory(b, cmd.ProcessState), int64(answer.Len())
}

// startup is the shortest command over a Go program that does nothing.
func startup(b *testing.B) {
	hello := filepath.Join(b.TempDir(), "hello.go")
	if err := os.WriteFile(hello, []byte("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello, world\") }\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	command, nothing := build(b, "agentgateway", "./cmd/agentgateway"), build(b, "hello", hello)
	start := func(args ...string) func() {
		return func() {
			if err := exec.CommandContext(b.Context(), args[0], args[1:]...).Run(); err != nil {
				b.Fatal(err)
			}
		}
	}
	reportRatio(b, 101, median, start(command, "version"), start(nothing))
}

// build builds a command as make does.
func build(b *testing.B, name, what string) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), name)
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-o", bin, what)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("building %s: %v\n%s", what, err, out)
	}
	return bin
}
