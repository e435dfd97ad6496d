package gitrepo

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"agentgateway-lock/pkg/internal/bounded"
)

// A commit is a file system like any other, in every form of repository, but for
// what is refused.
func TestFS(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			s := form.build(newSandbox(t))
			commit := s.head()
			eachBackend(t, func(t *testing.T, b Backend) {
				if form.gitOnly && b == GoGit {
					return
				}
				r := s.open(b)
				fsys, err := r.FS(context.Background(), commit, "dir")
				if err != nil {
					t.Fatal(err)
				}
				if err := fstest.TestFS(fsys, "deep/a.json"); err != nil {
					t.Error(err)
				}
				root, err := r.FS(context.Background(), commit, "")
				if err != nil {
					t.Fatal(err)
				}
				checkFS(t, root)
			})
		})
	}
}

func checkFS(t *testing.T, root fs.FS) {
	t.Helper()
	text, err := bounded.File(root, "agentgateway.lock", 4)
	if err != nil || string(text) != "two\n" {
		t.Errorf("read %q, %v", text, err)
	}
	if _, err := bounded.File(root, "agentgateway.lock", 3); !isA[*bounded.SizeError](err) {
		t.Errorf("over the limit: %v", err)
	}
	for name, want := range map[string]string{
		"link": "link", "link/x": "link", "dir": "dir", "agentgateway.lock/x": "agentgateway.lock",
	} {
		_, err := bounded.File(root, name, 100)
		if link, ok := errors.AsType[*bounded.LinkError](err); !ok || link.Path != want {
			t.Errorf("%s: error %v, want a LinkError of %s", name, err, want)
		}
		if name != "dir" {
			if _, err := root.Open(name); err == nil {
				t.Errorf("%s was opened", name)
			}
		}
	}
	for _, name := range []string{"none", "dir/none", "none/none"} {
		if _, err := bounded.File(root, name, 100); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want ErrNotExist", name, err)
		}
		if entries, err := bounded.Folder(root, name, 100); err != nil || entries != nil {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}
	for _, name := range []string{"link", "link/x", "agentgateway.lock"} {
		if _, err := bounded.Folder(root, name, 100); !isA[*bounded.LinkError](err) {
			t.Errorf("folder %s: %v, want a LinkError", name, err)
		}
	}
	for _, name := range []string{"../x", "/x", "dir//x", "dir/"} {
		if _, err := bounded.File(root, name, 100); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A submodule and a folder that is not there are told apart, and neither is empty.
func TestFSSubmodule(t *testing.T) {
	s := newSandbox(t)
	s.history()
	s.git("update-index", "--add", "--cacheinfo", "160000,"+s.head().String()+",sub")
	s.git("commit", "-q", "-m", "submodule")
	r := s.open(Automatic)
	fsys, err := r.FS(context.Background(), s.head(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sub", "sub/x"} {
		if _, err := bounded.File(fsys, name, 100); !isA[*bounded.LinkError](err) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := bounded.Folder(fsys, name, 100); !isA[*bounded.LinkError](err) {
			t.Errorf("folder %s: %v", name, err)
		}
	}
	below, err := r.FS(context.Background(), s.head(), "link")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bounded.File(below, "agentgateway.lock", 100); !isA[*bounded.LinkError](err) {
		t.Errorf("below a link: %v", err)
	}
}
