package gitrepo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOwner asks about a repository of which a part is another user's, in every
// spelling of safe.directory.
func TestOwner(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	s.history()
	global := filepath.Join(t.TempDir(), "gitconfig")
	s.env = append(slices.DeleteFunc(slices.Clone(s.env), func(kv string) bool { return strings.HasPrefix(kv, "GIT_CONFIG_GLOBAL=") }), "GIT_CONFIG_GLOBAL="+global)
	r := s.open(Automatic)
	foreign := ""
	check := func() error {
		return checkOwner(ctx, r.place, r.git, func(path string, _ []string) (bool, error) { return path != foreign, nil })
	}
	if err := check(); err != nil {
		t.Fatalf("one's own: %v", err)
	}
	var owner *OwnerError
	for _, foreign = range []string{s.dir, filepath.Join(s.dir, ".git")} {
		if err := check(); !errors.As(err, &owner) || owner.Path != foreign || !strings.HasSuffix(owner.Hint(), "safe.directory "+s.dir) {
			t.Errorf("%s: %v", foreign, err)
		}
	}
	for _, c := range []struct {
		lines string
		want  bool
	}{
		{"directory = " + s.dir, true}, {"directory = *", true}, {"directory = " + filepath.Dir(s.dir) + "/*", true},
		{"directory = /elsewhere", false}, {"directory = " + s.dir + "x", false}, {"directory = *\n\tdirectory =", false},
	} {
		if err := os.WriteFile(global, []byte("[safe]\n\t"+c.lines+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := check(); (err == nil) != c.want {
			t.Errorf("%q: %v", c.lines, err)
		}
	}
	// What the repository says of itself is not asked.
	if err := os.Remove(global); err != nil {
		t.Fatal(err)
	}
	s.git("config", "safe.directory", "*")
	if err := check(); err == nil {
		t.Error("a repository vouched for itself")
	}
}
