package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"agentgateway-lock/pkg/internal/atomicfile"
	"agentgateway-lock/pkg/internal/bounded"
)

// A work tree with a link of every kind, to a folder outside.
func world(t *testing.T) (tree, outside string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree, outside = filepath.Join(top, "tree"), filepath.Join(top, "outside")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(tree, ".git"), 0o700), os.MkdirAll(filepath.Join(tree, "out", "deep"), 0o700),
		os.MkdirAll(filepath.Join(outside, ".git"), 0o700), os.MkdirAll(filepath.Join(outside, "deep"), 0o700),
		os.WriteFile(filepath.Join(outside, "file"), []byte("theirs"), 0o600), os.WriteFile(filepath.Join(tree, "out", "file"), []byte("old"), 0o600),
		os.Symlink(filepath.Join(outside, "file"), filepath.Join(tree, "link")), os.Symlink(filepath.Join(outside, "none"), filepath.Join(tree, "dangling")),
		os.Symlink(outside, filepath.Join(tree, "folder")), os.Symlink("out", filepath.Join(tree, "inner")),
		os.Symlink(tree, filepath.Join(top, "way")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return tree, outside
}

func TestLinks(t *testing.T) {
	for name, write := range map[string]func(string, []byte, os.FileMode) error{"write": atomicfile.Write, "append": atomicfile.Append} {
		t.Run(name, func(t *testing.T) {
			tree, outside := world(t)
			for _, relative := range []bool{false, true} {
				t.Chdir(tree)
				for _, bad := range []string{"link", "dangling", "folder/file", "folder/new", "folder/deep/new", "inner/new", "out/../folder/new", "out"} {
					at := bad
					if !relative {
						at = filepath.Join(tree, bad)
					}
					if err := write(at, []byte("ours"), 0o644); !isLink(err) {
						t.Errorf("%s: error %v, want a LinkError", at, err)
					}
				}
				// From a folder of the tree, and one that is reached through a link.
				t.Chdir(filepath.Join(tree, "out"))
				if err := write("../folder/new", []byte("ours"), 0o644); !isLink(err) {
					t.Errorf("error %v, want a LinkError", err)
				}
			}
			found, err := os.ReadDir(outside)
			text, readErr := os.ReadFile(filepath.Join(outside, "file"))
			if err != nil || readErr != nil || len(found) != 3 || string(text) != "theirs" {
				t.Errorf("outside there is %v, %q", found, text)
			}
			if err := write(filepath.Join(filepath.Dir(tree), "way", "out", "new"), []byte("ours"), 0o644); err != nil {
				t.Errorf("a work tree that is reached through a link: %v", err)
			}
		})
	}
}

func isLink(err error) bool {
	_, ok := errors.AsType[*bounded.LinkError](err)
	return ok
}

func TestWrite(t *testing.T) {
	tree, _ := world(t)
	name := filepath.Join(tree, "out", "file")
	if err := atomicfile.Write(name, []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	info, statErr := os.Stat(name)
	if err != nil || statErr != nil || string(text) != "new" || info.Mode().Perm() != 0o644 {
		t.Errorf("%q, %v, %v", text, info.Mode(), err)
	}
	if err := atomicfile.Append(name, []byte("er"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "newer" {
		t.Errorf("%q, %v", text, err)
	}
	if found, err := os.ReadDir(filepath.Dir(name)); err != nil || len(found) != 2 {
		t.Errorf("left behind: %v", found)
	}
	if err := atomicfile.Write(filepath.Join(tree, "none", "file"), nil, 0o644); err == nil {
		t.Error("wrote into a folder that is not there")
	}
}
