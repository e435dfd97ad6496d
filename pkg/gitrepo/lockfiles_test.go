package gitrepo

import (
	"path/filepath"
	"testing"
)

// What git writes while a reference is made or moved is no reference, at any stage
// of the writing.
func TestReferencesBesideThoseBeingWritten(t *testing.T) {
	eachBackend(t, func(t *testing.T, b Backend) {
		s := newSandbox(t)
		_, head := s.history()
		for i, text := range []string{"", head.String()[:7], head.String() + "\n", "ref: refs/heads/none\n"} {
			name := filepath.Join(".git", "refs", "tags", "lock", []string{"v2", "v3", "v4", "v5"}[i]+".lock")
			s.write(name, text)
		}
		refs, err := s.open(b).Tags(t.Context(), "lock/*")
		if err != nil || len(refs) != 1 || refs[0].Name != "refs/tags/lock/v1" {
			t.Errorf("%v, %v", refs, err)
		}
	})
}
