package bounded_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"agentgateway-lock/pkg/internal/bounded"
)

func TestMemory(t *testing.T) {
	m := bounded.NewMemory(map[string][]byte{"a/b/c": []byte("text"), "a/d": nil, "e": []byte("e")})
	if err := fstest.TestFS(m, "a/b/c", "a/d", "e"); err != nil {
		t.Error(err)
	}
}

// Over any file system the same is refused.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "sub"), 0o700), os.WriteFile(filepath.Join(dir, "sub", "file"), []byte("text"), 0o600),
		os.Symlink("file", filepath.Join(dir, "sub", "link")), os.Symlink("sub", filepath.Join(dir, "linked")),
	); err != nil {
		t.Fatal(err)
	}
	fsys := os.DirFS(dir)
	text, err := bounded.File(fsys, "sub/file", 4)
	if err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	for name, want := range map[string]string{"sub/link": "sub/link", "linked/file": "linked", "sub": "sub", "sub/file/x": "sub/file"} {
		_, err := bounded.File(fsys, name, 4)
		if link, ok := errors.AsType[*bounded.LinkError](err); !ok || link.Path != want {
			t.Errorf("%s: error %v, want a LinkError of %s", name, err, want)
		}
	}
	if _, err := bounded.File(fsys, "sub/none", 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want ErrNotExist", err)
	}
	if _, err := bounded.File(fsys, "sub/file", 3); !isSize(err) {
		t.Errorf("error %v, want a SizeError", err)
	}
	if _, err := bounded.OSFile(filepath.Join(dir, "sub", "file"), 3); !isSize(err) {
		t.Errorf("error %v, want a SizeError", err)
	}
}

func isSize(err error) bool {
	_, ok := errors.AsType[*bounded.SizeError](err)
	return ok
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "sub"), 0o700), os.WriteFile(filepath.Join(dir, "sub", "b"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "sub", "a"), nil, 0o600), os.Symlink("sub", filepath.Join(dir, "linked")),
	); err != nil {
		t.Fatal(err)
	}
	fsys := os.DirFS(dir)
	entries, err := bounded.Folder(fsys, "sub", 2)
	if err != nil || len(entries) != 2 || entries[0].Name() != "a" {
		t.Errorf("%v, %v", entries, err)
	}
	if entries, err := bounded.Folder(fsys, "none/below", 2); err != nil || entries != nil {
		t.Errorf("%v, %v", entries, err)
	}
	if _, err := bounded.Folder(fsys, "sub", 1); err == nil {
		t.Error("two entries were read where one may be")
	}
	for _, name := range []string{"linked", "linked/below", "sub/a"} {
		_, err := bounded.Folder(fsys, name, 2)
		if _, ok := errors.AsType[*bounded.LinkError](err); !ok {
			t.Errorf("%s: error %v, want a LinkError", name, err)
		}
	}
}
