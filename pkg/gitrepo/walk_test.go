package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
)

// graph makes a history with merges, a criss-cross and an unrelated root.
func (s *sandbox) graph() {
	s.git("init", "-q", "-b", "main")
	s.commit("a", "1")
	s.git("branch", "side")
	s.commit("b/c", "1")
	s.git("checkout", "-q", "side")
	s.commit("d", "1")
	s.git("tag", "side1")
	s.git("checkout", "-q", "main")
	s.git("tag", "main1")
	s.git("merge", "-q", "--no-ff", "-m", "m1", "side1")
	s.git("checkout", "-q", "side")
	s.git("merge", "-q", "--no-ff", "-m", "m2", "main1")
	s.commit("d", "2")
	s.git("checkout", "-q", "main")
	s.commit("b/e", "1")
	s.git("checkout", "-q", "--orphan", "alone")
	s.commit("z", "1")
	s.git("checkout", "-q", "main")
}

func TestWalksAgainstGit(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	s.graph()
	names := []string{"main", "side", "main1", "side1", "main~2", "alone"}
	eachBackend(t, func(t *testing.T, b Backend) {
		r := s.open(b)
		ids := map[string]Hash{}
		for _, n := range names {
			ids[n] = mustHash(t, s.git("rev-parse", n))
		}
		for _, x := range names {
			checkHistory(t, s, r, ids[x])
			for _, y := range names {
				_, err := s.try("", "merge-base", "--is-ancestor", x, y)
				if got, gotErr := r.IsAncestor(ctx, ids[x], ids[y]); gotErr != nil || got != (err == nil) {
					t.Errorf("IsAncestor(%s, %s) = %v, %v", x, y, got, gotErr)
				}
				all, _ := s.try("", "merge-base", "--all", x, y)
				got, gotErr := r.MergeBase(ctx, ids[x], ids[y])
				if all == "" {
					if !errors.Is(gotErr, ErrNotFound) {
						t.Errorf("MergeBase(%s, %s) = %v, %v", x, y, got, gotErr)
					}
				} else if !slices.Contains(strings.Split(all, "\n"), got.String()) {
					t.Errorf("MergeBase(%s, %s) = %v, %v; git says %s", x, y, got, gotErr, all)
				}
				checkDiff(t, s, r, x, y)
			}
		}
		for _, rev := range []string{"main", "refs/heads/main", "side", "side1", "main~1", "main^"} {
			if id, err := r.Resolve(ctx, rev); err != nil || id.String() != s.git("rev-parse", rev+"^{commit}") {
				t.Errorf("Resolve(%q) = %v, %v", rev, id, err)
			}
		}
		for _, rev := range []string{"", "none", "origin/HEAD", "main~99999999", "main^99", "@{-1}", "-x", "../x", "refs/heads", "deadbeef", ":a"} {
			if id, err := r.Resolve(ctx, rev); err == nil {
				t.Errorf("Resolve(%q) = %v", rev, id)
			}
		}
	})
}

func checkHistory(t *testing.T, s *sandbox, r *Repo, id Hash) {
	t.Helper()
	ctx := context.Background()
	nodes, err := r.History(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	seen := map[Hash]bool{}
	for _, n := range nodes {
		got = append(got, n.ID.String())
		for _, p := range n.Parents {
			if !seen[p] {
				t.Errorf("%v is before its parent %v", n.ID, p)
			}
		}
		seen[n.ID] = true
	}
	want := strings.Split(s.git("rev-list", id.String()), "\n")
	sort.Strings(got)
	sort.Strings(want)
	if !slices.Equal(got, want) {
		t.Errorf("History has %v; git has %v", got, want)
	}
	main1 := mustHash(t, s.git("rev-parse", "main1"))
	nodes, err = r.History(ctx, id, main1)
	if n := s.git("rev-list", "--count", id.String(), "^main1"); err != nil || fmt.Sprint(len(nodes)) != n {
		t.Errorf("History without main1 has %d; git has %s", len(nodes), n)
	}
	var line []string
	for n, err := range r.FirstParents(ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		line = append(line, n.ID.String())
	}
	if got, want := strings.Join(line, "\n"), s.git("rev-list", "--first-parent", id.String()); got != want {
		t.Errorf("FirstParents = %s; git has %s", got, want)
	}
}

func checkDiff(t *testing.T, s *sandbox, r *Repo, x, y string) {
	t.Helper()
	a, b := mustHash(t, s.git("rev-parse", x+"^{tree}")), mustHash(t, s.git("rev-parse", y+"^{tree}"))
	var got []string
	err := r.Diff(context.Background(), a, b, "", func(c Change) error {
		status := "M"
		if c.Before.Mode == 0 {
			status = "A"
		} else if c.After.Mode == 0 {
			status = "D"
		}
		got = append(got, status+"\t"+c.Path)
		return nil
	})
	if want := s.git("diff-tree", "-r", "--no-renames", "--name-status", a.String(), b.String()); err != nil || strings.Join(got, "\n") != want {
		t.Errorf("Diff(%s, %s) = %q, %v; git says %q", x, y, got, err, want)
	}
}

func TestDiffFileBecomesFolder(t *testing.T) {
	s := newSandbox(t)
	s.git("init", "-q", "-b", "main")
	s.commit("a.b", "x")
	s.commit("a", "file")
	s.git("rm", "-q", "a")
	s.git("commit", "-q", "-m", "rm")
	s.commit("a/c", "in folder")
	checkDiff(t, s, s.open(GoGit), "HEAD~2", "HEAD")
	checkDiff(t, s, s.open(GoGit), "HEAD", "HEAD~2")
}

func TestRemoteHead(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	m := s.in("m")
	mkdir(t, m.dir)
	_, last := m.history()
	s.git("clone", "-q", "m", "c")
	c := s.in("c")
	c.commit("x", "mine")
	eachBackend(t, func(t *testing.T, b Backend) {
		r := c.open(b)
		for _, rev := range []string{"origin/HEAD", "origin/main", "refs/remotes/origin/HEAD", "lock/v1"} {
			if id, err := r.Resolve(ctx, rev); err != nil || id != last {
				t.Errorf("Resolve(%q) = %v, %v", rev, id, err)
			}
		}
		if ref, err := r.Reference(ctx, "HEAD"); err != nil || ref.Target != "refs/heads/main" {
			t.Errorf("Reference(HEAD) = %+v, %v", ref, err)
		}
		refs, err := r.References(ctx, "refs/remotes/")
		if err != nil || len(refs) != 2 || refs[0].Target != "refs/remotes/origin/main" || refs[0].ID != last || refs[1].ID != last {
			t.Errorf("References = %+v, %v", refs, err)
		}
		if url, err := r.Remote(ctx, "origin"); err != nil || url != s.dir+"/m" {
			t.Errorf("Remote = %q, %v", url, err)
		}
		if _, err := r.Remote(ctx, "none"); !errors.Is(err, ErrNotFound) {
			t.Errorf("Remote(none): %v", err)
		}
	})
}

func TestCheckWorktreeFile(t *testing.T) {
	ctx := context.Background()
	const path = "agentgateway.lock"
	cases := []struct {
		name   string
		change func(s *sandbox)
		want   Problem
	}{
		{"same", func(s *sandbox) {}, ""},
		{"differs", func(s *sandbox) { s.write(path, "other\n") }, Differs},
		{"line-endings", func(s *sandbox) { s.write(path, "two\r\n") }, LineEndings},
		{"checked-out-with-crlf", func(s *sandbox) {
			s.git("config", "core.autocrlf", "true")
			must(s.t, os.Remove(filepath.Join(s.dir, path)))
			s.git("checkout", "--", path)
		}, LineEndings},
		{"absent", func(s *sandbox) { must(s.t, os.Remove(filepath.Join(s.dir, path))) }, Absent},
		{"symlink", func(s *sandbox) {
			s.write("elsewhere", "two\n")
			must(s.t, os.Remove(filepath.Join(s.dir, path)))
			must(s.t, os.Symlink("elsewhere", filepath.Join(s.dir, path)))
		}, NotRegular},
		{"folder", func(s *sandbox) {
			must(s.t, os.Remove(filepath.Join(s.dir, path)))
			mkdir(s.t, filepath.Join(s.dir, path))
		}, NotRegular},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSandbox(t)
			_, last := s.history()
			c.change(s)
			err := s.open(Automatic).CheckWorktreeFile(ctx, last, path)
			var work *WorktreeError
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.As(err, &work) || work.Problem != c.want):
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	if _, err := Open(ctx, s.dir, Options{Env: s.env}); !errors.Is(err, ErrNotRepository) {
		t.Errorf("empty folder: %v", err)
	}
	if _, err := Open(ctx, filepath.Join(s.dir, "none"), Options{Env: s.env}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	s.write(".git", "gitdir: /nonexistent\n")
	if _, err := Open(ctx, s.dir, Options{Env: s.env}); !errors.Is(err, ErrNotRepository) {
		t.Errorf("pointer to nowhere: %v", err)
	}
	bare := s.in("bare")
	mkdir(t, bare.dir)
	bare.git("init", "-q", "--bare", ".")
	if err := os.Remove(filepath.Join(s.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, bare.dir, Options{Env: s.env}); !errors.Is(err, ErrNotRepository) {
		t.Errorf("a bare repository that was not asked for: %v", err)
	}
	n := s.in("n")
	mkdir(t, n.dir)
	n.history()
	n.git("config", "core.repositoryFormatVersion", "1")
	n.git("config", "extensions.fromTheFuture", "true")
	_, err := Open(ctx, n.dir, Options{Env: s.env})
	if !isA[*UnsupportedError](err) || !strings.Contains(err.Error(), "fromthefuture") {
		t.Errorf("unknown extension: %v", err)
	}
	n.git("config", "-f", ".git/config", "--unset", "extensions.fromTheFuture")
	n.git("sparse-checkout", "set", "dir")
	_, err = Open(ctx, n.dir, Options{Env: s.env, Git: filepath.Join(s.dir, "no-such-git")})
	if !isA[*UnsupportedError](err) || !errors.Is(err, ErrNoGit) {
		t.Errorf("without git: %v", err)
	}
}

func TestCancelled(t *testing.T) {
	s := newSandbox(t)
	_, last := s.history()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	eachBackend(t, func(t *testing.T, b Backend) {
		r := s.open(b)
		if _, _, err := r.Object(ctx, last); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		if _, _, err := r.Object(context.Background(), last); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
