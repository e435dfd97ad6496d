package gitrepo

import (
	"context"
	"errors"
	"testing"
)

// TestResolveBase holds the order of names: for every set of places where the name
// main is, the first of the order wins, and a tag of the same name is never looked at.
func TestResolveBase(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	s.git("init", "-q", "-b", "trunk")
	var commits []string
	for range 5 {
		s.git("commit", "-q", "--allow-empty", "-m", "c")
		commits = append(commits, s.git("rev-parse", "HEAD"))
	}
	s.git("remote", "add", "origin", "https://example.com/a")
	s.git("remote", "add", "fork", "https://example.com/b")
	s.git("update-ref", "refs/tags/only", commits[0])
	places := []string{"refs/heads/main", "refs/remotes/main", "refs/remotes/origin/main", "refs/remotes/fork/main"}
	for n := range 1 << len(places) {
		var want string
		for i, place := range places {
			s.git("update-ref", "refs/tags/main", commits[4])
			if n>>i&1 == 0 {
				s.git("update-ref", "-d", place)
				continue
			}
			s.git("update-ref", place, commits[i])
			if want == "" {
				want = commits[i]
			}
		}
		ambiguous := n == 0b1100
		r := s.open(Automatic)
		got, err := r.ResolveBase(ctx, "main")
		switch {
		case ambiguous && !isA[*AmbiguousError](err):
			t.Errorf("%04b: %v, %v", n, got, err)
		case !ambiguous && want == "" && !errors.Is(err, ErrNotFound):
			t.Errorf("%04b: %v, %v", n, got, err)
		case !ambiguous && want != "" && (err != nil || got.String() != want):
			t.Errorf("%04b: %v, %v, want %s", n, got, err, want)
		}
	}
	// Two remotes that agree are one answer.
	s.git("update-ref", "-d", "refs/heads/main")
	s.git("update-ref", "-d", "refs/remotes/main")
	s.git("update-ref", "refs/remotes/fork/main", commits[2])
	r := s.open(Automatic)
	for name, want := range map[string]string{
		"main": commits[2], "origin/main": commits[2], "main~1": commits[1], "main^": commits[1], "refs/tags/main": commits[4], "HEAD": commits[4],
		"HEAD~2": commits[2], commits[3]: commits[3], commits[3][:12]: commits[3], "trunk": commits[4], "refs/heads/trunk": commits[4],
	} {
		if got, err := r.ResolveBase(ctx, name); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v, want %s", name, got, err, want)
		}
	}
	for _, name := range []string{"only", "tags/only", "nowhere", "", "a b", "-x", "main@{1}"} {
		if got, err := r.ResolveBase(ctx, name); err == nil {
			t.Errorf("%q is %v", name, got)
		}
	}
}

func TestMainRemote(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	s.history()
	check := func(want string, wantErr bool) {
		t.Helper()
		got, err := s.open(Automatic).MainRemote(ctx)
		if got != want || (err != nil) != wantErr {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	check("", false)
	s.git("remote", "add", "upstream", "https://example.com/a")
	check("upstream", false)
	s.git("remote", "add", "fork.of.it", "https://example.com/b")
	check("", true)
	s.git("remote", "add", "origin", "https://example.com/c")
	check("origin", false)
}

func TestDefaultBranchOf(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	_, last := s.history()
	if _, err := s.open(Automatic).DefaultBranchOf(ctx, "origin"); !errors.Is(err, ErrNotFound) {
		t.Errorf("without a remote: %v", err)
	}
	s.git("update-ref", "refs/remotes/origin/team/trunk", last.String())
	s.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/team/trunk")
	eachBackend(t, func(t *testing.T, b Backend) {
		if got, err := s.open(b).DefaultBranchOf(ctx, "origin"); err != nil || got != "team/trunk" {
			t.Errorf("%q, %v", got, err)
		}
	})
	s.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/main")
	if got, err := s.open(Automatic).DefaultBranchOf(ctx, "origin"); err == nil {
		t.Errorf("a HEAD that leads elsewhere is %q", got)
	}
}

func TestOnFirstParents(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	first, second := s.history()
	s.git("checkout", "-q", "-b", "side", first.String())
	s.git("commit", "-q", "--allow-empty", "-m", "side")
	side := mustHash(t, s.git("rev-parse", "HEAD"))
	s.git("checkout", "-q", "main")
	s.git("merge", "-q", "--no-ff", "-m", "merge", "side")
	tip := mustHash(t, s.git("rev-parse", "HEAD"))
	r := s.open(Automatic)
	for _, c := range []struct {
		commit Hash
		want   bool
	}{{tip, true}, {second, true}, {first, true}, {side, false}} {
		if got, err := r.OnFirstParents(ctx, tip, c.commit); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", c.commit, got, err)
		}
	}
}
