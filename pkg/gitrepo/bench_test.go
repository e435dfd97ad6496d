package gitrepo

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// longHistory makes n commits that each change one of many files, every tenth
// under .agentgateway, and packs them.
func longHistory(b *testing.B, n int) (*sandbox, Hash) {
	s := newSandbox(b)
	s.git("init", "-q", "-b", "main")
	var in strings.Builder
	for i := range n {
		path := fmt.Sprintf("src/%02d/f%d.go", i%40, i%7)
		if i%10 == 0 {
			path = fmt.Sprintf(".agentgateway/decisions/%02x/%d.json", i%256, i)
		}
		text := fmt.Sprintf("content %d\n", i)
		fmt.Fprintf(&in, "commit refs/heads/main\nmark :%d\ncommitter A <a@x> %d +0000\ndata 2\nm\nM 100644 inline %s\ndata %d\n%s\n", i+1, 1700000000+i, path, len(text), text)
	}
	s.gitIn(in.String(), "fast-import", "--quiet")
	s.git("gc", "-q")
	return s, s.head()
}

// BenchmarkWalk10k walks 10,000 commits and looks at one folder in each, as an
// audit does.
func BenchmarkWalk10k(b *testing.B) {
	ctx := context.Background()
	s, head := longHistory(b, 10_000)
	for name, kind := range map[string]Backend{"go-git": GoGit, "git": GitProgram} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := Open(ctx, s.dir, Options{Backend: kind, Env: s.env})
				if err != nil {
					b.Fatal(err)
				}
				nodes, err := r.History(ctx, head)
				if err != nil || len(nodes) != 10_000 {
					b.Fatal(len(nodes), err)
				}
				var before Hash
				changes := 0
				for _, n := range nodes {
					e, _, err := r.Lookup(ctx, n.Tree, ".agentgateway")
					if err != nil {
						b.Fatal(err)
					}
					if e.ID == before {
						continue
					}
					err = r.Diff(ctx, before, e.ID, "", func(Change) error { changes++; return nil })
					if err != nil {
						b.Fatal(err)
					}
					before = e.ID
				}
				if changes != 1000 {
					b.Fatal(changes)
				}
				_ = r.Close()
			}
		})
	}
}

func BenchmarkParseCommit(b *testing.B) {
	raw := []byte(head + sigLines + message)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseCommit(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead10k reads 10,000 small files from one commit.
func BenchmarkRead10k(b *testing.B) {
	ctx := context.Background()
	s := newSandbox(b)
	s.git("init", "-q", "-b", "main")
	for i := range 10_000 {
		s.write(fmt.Sprintf("d%d/%d.json", i%50, i), fmt.Sprintf("{\"n\": %d, \"text\": %q}\n", i, strings.Repeat("words ", 100)))
	}
	s.git("add", ".")
	s.git("commit", "-q", "-m", "all")
	head := s.head()
	read := func(b *testing.B) {
		for b.Loop() {
			r, err := Open(ctx, s.dir, Options{Backend: GoGit, Env: s.env})
			if err != nil {
				b.Fatal(err)
			}
			for i := range 10_000 {
				if _, _, err := r.File(ctx, head, fmt.Sprintf("d%d/%d.json", i%50, i), 1<<20); err != nil {
					b.Fatal(err)
				}
			}
			_ = r.Close()
		}
	}
	b.Run("loose", read)
	s.git("gc", "-q")
	b.Run("packed", read)
}
