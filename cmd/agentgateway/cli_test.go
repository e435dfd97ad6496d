package main

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A command that is built alone has the help and the errors that it has among
// all. A flag before the command has all of them built.
func TestGrammarOfOneCommand(t *testing.T) {
	ends := func(args ...string) (string, int) {
		var out bytes.Buffer
		a := app{ctx: t.Context(), program: "agentgateway", stdin: strings.NewReader(""), stdout: &out, stderr: &out,
			getenv: func(string) (string, bool) { return "", false }}
		code := a.run(args)
		return out.String(), code
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[cli]()) {
		if _, ok := f.Tag.Lookup("cmd"); !ok {
			continue
		}
		name := strings.ToLower(f.Name)
		for _, rest := range [][]string{{"--help"}, {"--no-such-flag"}, {"a", "b", "c", "--no-such-flag"}, {"--jobs=0", "--help"}} {
			alone, code := ends(append([]string{name}, rest...)...)
			among, want := ends(append([]string{"-C", ".", name}, rest...)...)
			if diff := cmp.Diff(among, alone); diff != "" || code != want {
				t.Errorf("%s %v: exit code %d, want %d (-among all +alone):\n%s", name, rest, code, want, diff)
			}
		}
	}
}
