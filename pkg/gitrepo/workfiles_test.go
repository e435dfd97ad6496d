package gitrepo

import (
	"context"
	"slices"
	"testing"
)

func TestWorkFiles(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	s.git("init", "-q", "-b", "main")
	s.write(".gitignore", "ignored\nforced\n")
	s.write("tracked", "1")
	s.write("deep/er/tracked", "2")
	s.write("forced", "3")
	s.git("add", "-f", ".gitignore", "tracked", "deep", "forced")
	s.git("update-index", "--add", "--cacheinfo", "160000,1234567890123456789012345678901234567890,sub")
	s.git("commit", "-q", "-m", "m")
	s.write("ignored", "4")
	s.write("new file", "5")
	s.write("deep/new", "6")
	r := s.open(Automatic)
	files, err := r.WorkFiles(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Mode{}
	for _, f := range files {
		got[f.Path] = f.Mode
		if (f.Mode == 0) != f.ID.IsZero() {
			t.Errorf("%+v", f)
		}
	}
	want := map[string]Mode{".gitignore": ModeFile, "tracked": ModeFile, "deep/er/tracked": ModeFile, "forced": ModeFile, "sub": ModeSubmodule, "new file": 0, "deep/new": 0}
	if len(got) != len(want) {
		t.Errorf("the files are %v", got)
	}
	for name, mode := range want {
		if m, ok := got[name]; !ok || m != mode {
			t.Errorf("%s: %v, %v", name, m, ok)
		}
	}
	names, err := r.TreeFiles(ctx, s.head())
	slices.Sort(names)
	if err != nil || !slices.Equal(names, []string{".gitignore", "deep/er/tracked", "forced", "sub", "tracked"}) {
		t.Errorf("%q, %v", names, err)
	}
	blob := mustHash(t, s.git("rev-parse", "HEAD:tracked"))
	if !IsBlob(blob, []byte("1")) || IsBlob(blob, []byte("2")) {
		t.Error("a blob is not known by its bytes")
	}
}
