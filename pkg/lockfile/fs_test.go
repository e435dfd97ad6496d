package lockfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"agentgateway-lock/pkg/lockfile"
)

func TestReadFile(t *testing.T) {
	folder, dir := openDir(t)
	inside := filepath.Join(folder, "sub")
	if err := errors.Join(
		os.Mkdir(inside, 0o777), os.WriteFile(filepath.Join(inside, "file"), []byte("text"), 0o666),
		os.Symlink("file", filepath.Join(inside, "link")), os.Symlink("sub", filepath.Join(folder, "linked")),
		os.Symlink(inside, filepath.Join(folder, "absolute")), os.Symlink("nowhere", filepath.Join(folder, "dangling")),
	); err != nil {
		t.Fatal(err)
	}
	// A name with a dot is read the way of systems that cannot refuse links at once.
	for _, prefix := range []string{"", "./"} {
		for name, want := range map[string]string{
			"sub/file": "", "sub/link": "sub/link", "linked/file": "linked", "absolute/file": "absolute",
			"dangling": "dangling", "sub": "sub", "sub/file/x": "sub/file",
		} {
			text, err := dir.ReadFile(prefix+name, 4)
			var link *lockfile.LinkError
			switch {
			case want == "":
				if err != nil || string(text) != "text" {
					t.Errorf("%s: %q, %v", prefix+name, text, err)
				}
			case !errors.As(err, &link) || filepath.Clean(link.Path) != want:
				t.Errorf("%s: error %v, want a LinkError of %s", prefix+name, err, want)
			}
		}
		if _, err := dir.ReadFile(prefix+"sub/none", 4); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v, want ErrNotExist", err)
		}
		if text, err := dir.ReadFile(prefix+"sub/file", 3); err == nil {
			t.Errorf("%d bytes over a limit of 3", len(text))
		}
		if text, err := dir.ReadFile("../"+filepath.Base(folder)+"/sub/file", 4); err == nil {
			t.Errorf("read %q from outside", text)
		}
	}
}
