package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files again")

// The classification of every change between two published versions of a server.
// The golden files were read against the definitions; each line of an aspect is
// its grade, code, path and summary.
func TestRealDrift(t *testing.T) {
	for _, test := range []struct{ name, old, fresh, entry string }{
		{"everything", "everything-2025", "@modelcontextprotocol/server-everything", "dist/index.js"},
		{"playwright", "playwright-old", "@playwright/mcp", "cli.js"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRepository(t)
			r.link(test.name, test.old)
			r.configure(map[string][]string{test.name: {"servers/" + test.name + "/" + test.entry}})
			r.run(0, "lock")
			r.link(test.name, test.fresh)
			out, _ := r.run(1, "diff", "--allow-source", test.name, "--format", "json")
			got, golden := classification(t, out), filepath.Join("testdata", "drift-"+test.name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// classification lists the changes of a report in JSON.
func classification(t *testing.T, report string) string {
	t.Helper()
	var r struct {
		Servers []struct {
			Changes []struct {
				Kind, Name, Status, Grade string
				Aspects                   []struct{ Code, Grade, Path, Summary string }
			}
		}
	}
	if err := json.Unmarshal([]byte(report), &r); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range r.Servers {
		for _, c := range s.Changes {
			fmt.Fprintf(&b, "%s %s %s %s\n", c.Grade, c.Kind, c.Name, c.Status)
			for _, a := range c.Aspects {
				fmt.Fprintf(&b, "    %s %s %s: %s\n", a.Grade, a.Code, a.Path, a.Summary)
			}
		}
	}
	return b.String()
}
