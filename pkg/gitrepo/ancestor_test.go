package gitrepo

import (
	"context"
	"errors"
	"testing"
)

func TestAncestorsAgainstGit(t *testing.T) {
	eachBackend(t, func(t *testing.T, b Backend) {
		ctx := context.Background()
		s := newSandbox(t)
		s.history()
		s.git("checkout", "-q", "-b", "side", "HEAD~1")
		s.commit("x", "1")
		s.git("checkout", "-q", "main")
		s.git("merge", "-q", "--no-ff", "-m", "merge", "side")
		r := s.open(b)
		for _, rev := range []string{"HEAD", "HEAD~", "HEAD~1", "HEAD~0", "HEAD^", "HEAD^0", "HEAD^2", "HEAD^2~1", "HEAD~2", "main^^", "main~1^1"} {
			got, err := r.Resolve(ctx, rev)
			if want := s.git("rev-parse", rev+"^{commit}"); err != nil || got.String() != want {
				t.Errorf("%s is %v (%v); git says %s", rev, got, err, want)
			}
		}
		for _, rev := range []string{"HEAD~9", "HEAD^3", "~1", "nowhere~1"} {
			if got, err := r.Resolve(ctx, rev); err == nil {
				t.Errorf("%s is %v", rev, got)
			}
		}
		if _, err := r.Resolve(ctx, "HEAD~9"); !errors.Is(err, ErrNotFound) {
			t.Errorf("error %v, want ErrNotFound", err)
		}
		for _, rev := range []string{"HEAD~x", "HEAD^{tree}", "HEAD~-1", "HEAD~+1", "HEAD~999999"} {
			if got, err := r.Resolve(ctx, rev); err == nil {
				t.Errorf("%s is %v", rev, got)
			}
		}
	})
}
