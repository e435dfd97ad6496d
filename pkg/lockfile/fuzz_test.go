package lockfile_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
)

// FuzzParse checks that a file is refused with a place, or is written so that it
// says the same.
func FuzzParse(f *testing.F) {
	names, err := filepath.Glob("testdata/files/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	f.Add(original(f))
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := lockfile.Parse(src)
		if err != nil {
			var e *lockfile.Error
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 || e.Advice == "" || e.Summary == "" {
				t.Fatalf("error %#v", err)
			}
			return
		}
		lockfile.Check(file)
		lockfile.NewLayout(file)
		checkFixedPoint(t, src, file)
	})
}

// FuzzCopy checks that a definition survives the way through its copy, and
// instructions the way through theirs.
func FuzzCopy(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"\u200b"}],"c":9223372036854775807}`, "Be kind.\r\n\\u200b\n", "[]", "\ufeff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if want, err := canonical.Append(nil, text); err == nil {
			written := lockfile.FormatCopy(want)
			if have, err := lockfile.ParseCopy(written); err != nil || !bytes.Equal(have, want) {
				t.Errorf("definition %q: have %q, %v", want, have, err)
			}
			crlf := bytes.ReplaceAll(written, []byte("\n"), []byte("\r\n"))
			if have, err := lockfile.ParseCopy(crlf); err != nil || !bytes.Equal(have, want) {
				t.Errorf("definition %q with CRLF: have %q, %v", want, have, err)
			}
		}
		if utf8.Valid(text) {
			if have, err := lockfile.ParseInstructions(lockfile.FormatInstructions(string(text))); err != nil || have != string(text) {
				t.Errorf("instructions %q: have %q, %v", text, have, err)
			}
		}
		if back, err := lockfile.ParseInstructions(text); err == nil {
			if again := lockfile.FormatInstructions(back); !bytes.Equal(again, bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))) {
				t.Errorf("two copies of one text: %q and %q", text, again)
			}
		}
	})
}
