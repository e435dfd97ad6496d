package lockfile_test

import (
	"bytes"
	"os"
	"strings"
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

func TestFormatRenamed(t *testing.T) {
	file, err := lockfile.Parse([]byte("{\n  \"lockfileVersion\": 1,\n  \"generatedBy\": \"x@1\",\n  \"generatedAt\": \"2026-11-30T12:00:00.000Z\",\n  \"servers\": {\n    \"a\": {\n      \"tools\": [],\n      \"surfaceHash\": \"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945\"\n    }\n  }\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	file.Servers[0].Name = "b"
	if text := string(lockfile.Format(file)); strings.Contains(text, `"a"`) || !strings.Contains(text, `"b": {`) {
		t.Errorf("an entry that was renamed is written as it was read:\n%s", text)
	}
}
