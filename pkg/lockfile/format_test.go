package lockfile_test

import (
	"bytes"
	"os"
	"testing"

	"agentgateway-lock/pkg/lockfile"
)

func original(t testing.TB) []byte {
	t.Helper()
	src, err := os.ReadFile("../../testdata/vectors/original-v1.lock")
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func mustParse(t testing.TB, src []byte) *lockfile.File {
	t.Helper()
	f, err := lockfile.Parse(src)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return f
}

func TestOriginalFormatIsAFixedPoint(t *testing.T) {
	src := original(t)
	f := mustParse(t, src)
	if have := lockfile.Format(f); !bytes.Equal(have, src) {
		t.Errorf("as read:\n%s", have)
	}
	f.Reformat()
	if have := lockfile.Format(f); !bytes.Equal(have, src) {
		t.Errorf("anew:\n%s", have)
	}
}
