package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = "# Version: 1.2.3\n" +
	"0441 ;\t0063 ;\tMA\t# ( с → c )\n" +
	"006D ;\t0072 006E ;\tMA\t# ( m → rn )\n" +
	"1F600 ;\t01F6 ;\tMA\t#\n" +
	"0073 ;\t00E7 ;\tMA\t#\n" +
	"0327 ;\t0321 ;\tMA\t#\n" +
	"\n# total: 5\n"

func TestParse(t *testing.T) {
	table, err := parse("\ufeff" + sample)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range table.mappings {
		got = append(got, string(m.from)+"="+m.to)
	}
	// ç is c with U+0327, which is mapped itself.
	if want := "m=rn s=c\u0321 \u0327=\u0321 с=c 😀=\u01f6"; strings.Join(got, " ") != want {
		t.Errorf("got %+q, want %+q", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]string{
		"no version":     strings.Replace(sample, "Version", "version", 1),
		"a line missing": strings.Replace(sample, "0327 ;\t0321 ;\tMA\t#\n", "", 1),
		"another type":   strings.Replace(sample, "MA", "SL", 1),
		"no target":      strings.Replace(sample, "0063", "", 1),
		"not hex":        strings.Replace(sample, "0063", "006g", 1),
		"two sources":    strings.Replace(sample, "0441", "0441 0442", 1),
		"mapped twice":   strings.Replace(sample, "0441", "006D", 1),
	}
	for name, text := range tests {
		if _, err := parse(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCloseRefusesCycle(t *testing.T) {
	table := table{mappings: []mapping{{'a', "b"}, {'b', "a"}}}
	if err := table.close(); err == nil {
		t.Error("no error")
	}
}

func TestRunChecksum(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out.go")
	if err := os.WriteFile(in, []byte(sample), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(in, strings.Repeat("0", 64), out); err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("a file with another checksum: %v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a table was written all the same")
	}
}
