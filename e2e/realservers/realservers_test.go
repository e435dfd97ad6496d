package realservers

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// fake ends a test as testing.T does, and says how.
type fake struct{ end string }

func (f *fake) Helper() {}

func (f *fake) Fatalf(format string, args ...any) { f.stop("failed", format, args) }

func (f *fake) Skipf(format string, args ...any) { f.stop("skipped", format, args) }

func (f *fake) stop(how, format string, args []any) {
	f.end = how
	panic(fmt.Sprintf(format, args...))
}

// Without the servers a plain run is skipped, and one that asks for them fails.
func TestFind(t *testing.T) {
	installed, empty, node := t.TempDir(), t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(installed, "node_modules", ".installed"), filepath.Join(node, "node")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ name, e2e, path, required, want string }{
		{"all there", installed, node, "", ""},
		{"all there and required", installed, node, "1", ""},
		{"no servers", empty, node, "", "skipped"},
		{"no servers but required", empty, node, "1", "failed"},
		{"no node", installed, empty, "", "skipped"},
		{"no node but required", installed, empty, "1", "failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("PATH", tc.path)
			t.Setenv(Required, tc.required)
			var f fake
			func() {
				defer func() { _ = recover() }()
				Find(&f, tc.e2e)
			}()
			if f.end != tc.want {
				t.Errorf("the test was %q, want %q", f.end, tc.want)
			}
		})
	}
}
