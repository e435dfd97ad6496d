package lockfile_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

func TestFormatCopy(t *testing.T) {
	for name, test := range map[string]struct{ definition, want string }{
		"empty": {`{"a":{},"b":[],"c":""}`, "{\n  \"a\": {},\n  \"b\": [],\n  \"c\": \"\"\n}\n"},
		"nested": {`{"a":[1,{"b":null}],"c":true}`,
			"{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ],\n  \"c\": true\n}\n"},
		"brackets in strings": {`{"{\"}":"[,:]\\"}`, "{\n  \"{\\\"}\": \"[,:]\\\\\"\n}\n"},
		"invisible": {"{\"a\":\"\u200b\u202e\U000E0041\u00a0\x7f\ufeff\\n\\u001b\"}",
			"{\n  \"a\": \"\\u200b\\u202e\\udb40\\udc41\\u00a0\\u007f\\ufeff\\n\\u001b\"\n}\n"},
		"visible": {`{"a":"<b>&é漢😀 "}`, "{\n  \"a\": \"<b>&é漢😀 \"\n}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			have := lockfile.FormatCopy([]byte(test.definition))
			if diff := cmp.Diff(test.want, string(have)); diff != "" {
				t.Error(diff)
			}
			back, err := lockfile.ParseCopy(have)
			if err != nil || string(back) != test.definition {
				t.Errorf("back %s, %v", back, err)
			}
		})
	}
}

func TestParseCopyWhateverACheckoutDid(t *testing.T) {
	const want = `{"a":[1,2],"b":"x y"}`
	for _, text := range []string{
		"{\r\n  \"a\": [\r\n    1,\r\n    2\r\n  ],\r\n  \"b\": \"x y\"\r\n}\r\n",
		"{\n\t\"b\": \"x y\",\n\t\"a\": [1, 2]\n}", want,
	} {
		if have, err := lockfile.ParseCopy([]byte(text)); err != nil || string(have) != want {
			t.Errorf("have %s, %v", have, err)
		}
	}
}

// A definition of the largest size that grows the most stays below the limit.
func TestCopiesAreBounded(t *testing.T) {
	deep := strings.Repeat("[", canonical.MaxDepth-2)
	for name, body := range map[string]string{
		"indent":  strings.Repeat("[", 30) + "1" + strings.Repeat(",1", 500_000) + strings.Repeat("]", 30),
		"deep":    deep + "1" + strings.Repeat(",1", 500_000) + strings.Repeat("]", len(deep)),
		"numbers": strings.Repeat("[", 30) + "1" + strings.Repeat(",1e20", 200_000) + strings.Repeat("]", 30),
		"escapes": `"` + strings.Repeat("\x7f", 1_000_000) + `"`,
	} {
		raw := []byte(`{"name":"x","y":` + body + `}`)
		d, err := surface.Read(surface.KindTool, raw)
		if err != nil {
			t.Fatal(name, err)
		}
		text := lockfile.FormatCopy(d.Canonical)
		if len(text) > lockfile.MaxCopySize {
			t.Errorf("%s: %d bytes", name, len(text))
		}
		reader := surface.Reader{MaxSize: lockfile.MaxCopySize}
		again, err := reader.Read(surface.KindTool, text)
		if err != nil || again.Digest != d.Digest || again.GatewayDigest != d.GatewayDigest || *again.Tool != *d.Tool {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInstructionsCopy(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "\n",
		"a":                   "a\n",
		"a\n":                 "a\n\n",
		"a\n\n":               "a\n\n\n",
		"\n":                  "\n\n",
		`C:\new`:              "C:\\\\new\n",
		"a\r\nb\tc\u200b":     "a\\u000d\nb\\u0009c\\u200b\n",
		`\u200b`:              "\\\\u200b\n",
		"\U000E0041 é":        "\\udb40\\udc41 é\n",
		"line\u2028separator": "line\\u2028separator\n",
	} {
		have := lockfile.FormatInstructions(text)
		if string(have) != want {
			t.Errorf("%q: have %q, want %q", text, have, want)
		}
		for _, copy := range [][]byte{have, bytes.ReplaceAll(have, []byte("\n"), []byte("\r\n"))} {
			if back, err := lockfile.ParseInstructions(copy); err != nil || back != text {
				t.Errorf("%q: back %q, %v", text, back, err)
			}
		}
	}
	for _, text := range []string{"", "a", "\\x\n", "\u200b\n", "a\rb\n", "\\u0041\n"} {
		if back, err := lockfile.ParseInstructions([]byte(text)); err == nil {
			t.Errorf("%q is taken for a copy of %q", text, back)
		}
	}
}

func TestFileNames(t *testing.T) {
	suffix := func(name string) string { return "~" + sum(name).String()[:12] }
	for name, test := range map[string]struct{ names, want []string }{
		"plain":         {[]string{"read_file", "über_工具😀", "a.b", "a b", "-x"}, []string{"read_file", "über_工具😀", "a.b", "a b", "-x"}},
		"case twins":    {[]string{"Foo", "foo", "bar"}, []string{"Foo" + suffix("Foo"), "foo" + suffix("foo"), "bar"}},
		"three":         {[]string{"É", "é", "E"}, []string{"É" + suffix("É"), "é" + suffix("é"), "E"}},
		"slash":         {[]string{"a/b", `a\b`}, []string{"a_b" + suffix("a/b"), "a_b" + suffix(`a\b`)}},
		"dots":          {[]string{"..", ".", ".git", "a.", "..."}, []string{"_" + suffix(".."), "_" + suffix("."), "git" + suffix(".git"), "a" + suffix("a."), "_" + suffix("...")}},
		"spaces":        {[]string{" a", "a "}, []string{"a" + suffix(" a"), "a" + suffix("a ")}},
		"windows":       {[]string{"CON", "nul.txt", "com1", "com¹", "lpt0 .x", "console", "a:b"}, []string{"CON" + suffix("CON"), "nul.txt" + suffix("nul.txt"), "com1" + suffix("com1"), "com¹" + suffix("com¹"), "lpt0 .x" + suffix("lpt0 .x"), "console", "a_b" + suffix("a:b")}},
		"controls":      {[]string{"a\x00b", "a\x1b[31m", "a\u202eb"}, []string{"a_b" + suffix("a\x00b"), "a_[31m" + suffix("a\x1b[31m"), "a_b" + suffix("a\u202eb")}},
		"not NFC":       {[]string{"e\u0301"}, []string{"é" + suffix("e\u0301")}},
		"approved copy": {[]string{"x.approved", "x.APPROVED"}, []string{"x.approved" + suffix("x.approved"), "x.APPROVED" + suffix("x.APPROVED")}},
		"made name":     {[]string{"a/b", "a_b" + suffix("a/b")}, []string{"a_b" + suffix("a/b"), "a_b_" + sum("a/b").String()[:12] + suffix("a_b"+suffix("a/b"))}},
		"long":          {[]string{strings.Repeat("x", 300), strings.Repeat("é", 100)}, []string{strings.Repeat("x", 60) + suffix(strings.Repeat("x", 300)), strings.Repeat("é", 30) + suffix(strings.Repeat("é", 100))}},
		"template":      {[]string{"file:///{path}"}, []string{"file____{path}" + suffix("file:///{path}")}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, lockfile.FileNames(test.names)); diff != "" {
				t.Error(diff)
			}
			reversed := slices.Clone(test.names)
			slices.Reverse(reversed)
			have := lockfile.FileNames(reversed)
			slices.Reverse(have)
			if diff := cmp.Diff(test.want, have); diff != "" {
				t.Errorf("in another order: %s", diff)
			}
		})
	}
}

// locked returns a lockfile of what a server lists, and its copies.
func locked(t testing.TB, s surface.Surface) (*lockfile.File, fstest.MapFS) {
	t.Helper()
	f := &lockfile.File{Servers: []*lockfile.Server{
		lockfile.FromSurface("demo", &source.Source{Transport: stdio, Command: "demo"}, surface.DefaultCovers(), s),
	}}
	copies := fstest.MapFS{}
	layout := lockfile.NewLayout(f)
	for kind, list := range s.Lists {
		for _, d := range list.Definitions {
			c, ok := layout.Copy(surface.Key{Server: "demo", Kind: kind, Name: d.Name})
			if !ok {
				t.Fatalf("no place for %s", d.Name)
			}
			copies[c.Path] = &fstest.MapFile{Data: lockfile.FormatCopy(d.Canonical)}
		}
	}
	if s.Instructions != nil {
		c, _ := layout.Copy(surface.Key{Server: "demo", Kind: surface.KindInstructions})
		copies[c.Path] = &fstest.MapFile{Data: lockfile.FormatInstructions(s.Instructions.Text)}
	}
	return mustParse(t, lockfile.Format(f)), copies
}

func TestCheckCopies(t *testing.T) {
	s := tools(t, ping, pong)
	s.Lists[surface.KindPrompt] = listed(t, surface.KindPrompt, `{"name":"Ask/it","x":1}`)
	s.Instructions = surface.NewInstructions("Be kind.\n")
	const folder = ".agentgateway/definitions/demo/"
	prompt := folder + "prompt/Ask_it~" + sum("Ask/it").String()[:12] + ".json"
	edit := func(path, old, new string) func(*lockfile.File, fstest.MapFS) {
		return func(_ *lockfile.File, copies fstest.MapFS) {
			copies[path].Data = bytes.ReplaceAll(copies[path].Data, []byte(old), []byte(new))
		}
	}
	for name, test := range map[string]struct {
		change func(*lockfile.File, fstest.MapFS)
		want   []finding.Code
		place  finding.Place
		detail string
	}{
		"as written": {func(*lockfile.File, fstest.MapFS) {}, nil, finding.Place{}, ""},
		"CRLF":       {edit(folder+"tool/ping.json", "\n", "\r\n"), nil, finding.Place{}, ""},
		"CRLF instructions": {edit(folder+"instructions.txt", "\n", "\r\n"), nil, finding.Place{},
			""},
		"edited": {edit(folder+"tool/ping.json", "Answers.", "Answers!"), []finding.Code{finding.DefinitionMismatch},
			finding.Place{File: "agentgateway.lock", Line: 20, Server: "demo", Kind: "tool", Name: "ping"}, "descriptionHash, digest, gatewayDigest"},
		"unknown member edited": {edit(prompt, "1", "2"), []finding.Code{finding.DefinitionMismatch},
			finding.Place{File: "agentgateway.lock", Line: 38, Server: "demo", Kind: "prompt", Name: "Ask/it"}, "differ: digest."},
		"instructions edited": {edit(folder+"instructions.txt", "kind", "mean"), []finding.Code{finding.DefinitionMismatch},
			finding.Place{File: "agentgateway.lock", Line: 16, Server: "demo", Kind: "instructions"}, "the copy gives"},
		"not a definition": {edit(folder+"tool/pong.json", "\"name\"", "\"game\""), []finding.Code{finding.DefinitionMismatch},
			finding.Place{File: "agentgateway.lock", Line: 28, Server: "demo", Kind: "tool", Name: "pong"}, "shape"},
		"duplicate member": {edit(folder+"tool/pong.json", "{\n", "{\n\"name\": \"pong\","), []finding.Code{finding.DefinitionMismatch},
			finding.Place{File: "agentgateway.lock", Line: 28, Server: "demo", Kind: "tool", Name: "pong"}, "duplicate-key"},
		"another spelling": {edit(folder+"tool/ping.json", "Answers.", `\u0041nswers.`), []finding.Code{finding.DefinitionForm},
			finding.Place{File: "agentgateway.lock", Line: 20, Server: "demo", Kind: "tool", Name: "ping"}, ""},
		"missing": {func(_ *lockfile.File, copies fstest.MapFS) { delete(copies, folder+"tool/pong.json") }, []finding.Code{finding.DefinitionMissing},
			finding.Place{File: "agentgateway.lock", Line: 28, Server: "demo", Kind: "tool", Name: "pong"}, ""},
		"gatewayDigest of another text": {func(f *lockfile.File, _ fstest.MapFS) {
			f.Server("demo").Item(surface.KindTool, "ping").GatewayDigest = digest(1)
		}, []finding.Code{finding.DefinitionMismatch}, finding.Place{File: "agentgateway.lock", Line: 20, Server: "demo", Kind: "tool", Name: "ping"}, "differ: gatewayDigest."},
		"three hashes of another text": {func(f *lockfile.File, _ fstest.MapFS) {
			f.Server("demo").Item(surface.KindTool, "ping").Tool.InputSchema = digest(1)
		}, []finding.Code{finding.DefinitionMismatch}, finding.Place{File: "agentgateway.lock", Line: 20, Server: "demo", Kind: "tool", Name: "ping"}, "differ: inputSchemaHash."},
		"original format": {func(f *lockfile.File, copies fstest.MapFS) {
			it := f.Server("demo").Item(surface.KindTool, "ping")
			it.Digest, it.GatewayDigest = canonical.Digest{}, canonical.Digest{}
			delete(copies, folder+"tool/ping.json")
		}, nil, finding.Place{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, copies := locked(t, s)
			test.change(f, copies)
			findings := lockfile.CheckCopies(f, copies.ReadFile)
			if diff := cmp.Diff(test.want, codes(findings)); diff != "" {
				t.Fatal(diff, findings)
			}
			if len(findings) == 0 {
				return
			}
			if diff := cmp.Diff(test.place, findings[0].Place); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(findings[0].Detail, test.detail) {
				t.Errorf("detail %q, want %q in it", findings[0].Detail, test.detail)
			}
		})
	}
}

func TestCheckCopiesNeverPassesWhatItCannotRead(t *testing.T) {
	f, _ := locked(t, tools(t, ping))
	findings := lockfile.CheckCopies(f, func(string) ([]byte, error) { return nil, os.ErrPermission })
	if diff := cmp.Diff([]finding.Code{finding.DefinitionMismatch}, codes(findings)); diff != "" {
		t.Error(diff)
	}
}

func TestStrayCopies(t *testing.T) {
	f, copies := locked(t, tools(t, ping))
	var paths []string
	err := fs.WalkDir(copies, ".", func(path string, entry fs.DirEntry, err error) error {
		if !entry.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const folder = ".agentgateway/definitions/demo/tool/"
	paths = append(paths, folder+"ping.approved.json", folder+"gone.json")
	f.Path = "sub/agentgateway.lock"
	findings := lockfile.StrayCopies(f, paths)
	if len(findings) != 1 || findings[0].Code != finding.DefinitionStray || findings[0].Place.File != "sub/"+folder+"gone.json" {
		t.Errorf("findings %v", findings)
	}
}

// Every vector survives the way through its copy.
func TestCopyOfVectors(t *testing.T) {
	var v struct {
		Accept []struct {
			ID, Canonical string
			Digest        canonical.Digest
		}
	}
	data, err := os.ReadFile("../../testdata/vectors/digest.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	for _, c := range v.Accept {
		back, err := lockfile.ParseCopy(lockfile.FormatCopy([]byte(c.Canonical)))
		if err != nil || canonical.Sum(back) != c.Digest {
			t.Errorf("%s: %v", c.ID, err)
		}
	}
}
