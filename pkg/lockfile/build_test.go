package lockfile_test

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

func sum(text string) canonical.Digest { return sha256.Sum256([]byte(text)) }

// digest returns a digest that is easy to tell from others.
func digest(b byte) canonical.Digest {
	d := canonical.Digest{}
	for i := range d {
		d[i] = b
	}
	return d
}

func listed(t testing.TB, kind surface.Kind, definitions ...string) surface.List {
	t.Helper()
	var raws [][]byte
	for _, d := range definitions {
		raws = append(raws, []byte(d))
	}
	list, refused := surface.NewList(kind, raws)
	if len(refused) > 0 {
		t.Fatalf("refused: %v", refused)
	}
	return list
}

func tools(t testing.TB, definitions ...string) surface.Surface {
	t.Helper()
	return surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: listed(t, surface.KindTool, definitions...)}}
}

const (
	ping  = `{"name":"ping","description":"Answers.","inputSchema":{"type":"object"}}`
	pong  = `{"name":"pong","inputSchema":{}}`
	stdio = source.Stdio
)

func TestFromSurface(t *testing.T) {
	s := tools(t, pong, ping)
	s.Instructions = surface.NewInstructions("Be kind.")
	s.Lists[surface.KindPrompt] = surface.List{}
	s.Lists[surface.KindResource] = listed(t, surface.KindResource, `{"uri":"file:///a","name":"a"}`)
	s.Refused = []surface.Refused{{Kind: surface.KindTool, Name: "x", Rule: canonical.RuleNumber, Raw: digest(9)}}
	entry := lockfile.FromSurface("demo", &source.Source{Transport: stdio, Command: "demo"}, []string{"tools", "instructions", "prompts"}, s)

	ph := `["` + sum("ping").String() + `","` + sum("Answers.").String() + `","` + sum(`{"type":"object"}`).String() + `"]`
	gh := `["` + sum("pong").String() + `","` + sum("").String() + `","` + sum("{}").String() + `"]`
	if want := sum("[" + ph + "," + gh + "]"); entry.SurfaceHash != want {
		t.Errorf("surfaceHash %v, want %v", entry.SurfaceHash, want)
	}
	if entry.Instructions.Hash != sum("Be kind.") {
		t.Errorf("instructions %v", entry.Instructions.Hash)
	}
	if diff := cmp.Diff([]string{"instructions", "prompts", "tools"}, entry.Covers); diff != "" {
		t.Error(diff)
	}
	tool := entry.Item(surface.KindTool, "ping")
	if tool == nil || tool.Digest != sum(`{"description":"Answers.","inputSchema":{"type":"object"},"name":"ping"}`) || tool.GatewayDigest != tool.Digest {
		t.Errorf("tool %v", tool)
	}
	if prompts, ok := entry.Lists[surface.KindPrompt]; !ok || len(prompts) != 0 {
		t.Errorf("offered and empty: %v %v", prompts, ok)
	}
	if _, ok := entry.Lists[surface.KindResource]; ok {
		t.Error("a kind that is not covered is recorded")
	}
	f := &lockfile.File{Servers: []*lockfile.Server{entry}}
	checkFixedPoint(t, nil, mustParse(t, lockfile.Format(f)))
	if findings := lockfile.Check(f); len(findings) > 0 {
		t.Error(findings)
	}
}

func TestCarry(t *testing.T) {
	src := &source.Source{Transport: source.HTTP, URL: "http://127.0.0.1", AllowPrivate: true}
	first := tools(t, ping, pong, `{"name":"pang"}`)
	first.Instructions = surface.NewInstructions("Be kind.")
	old := lockfile.FromSurface("demo", src, surface.DefaultCovers(), first)
	old.Target, old.Decision, old.SourceDecision = "gw", digest(1), digest(2)
	old.Instructions.Decision = digest(3)
	old.Item(surface.KindTool, "ping").Decision = digest(4)
	old.Item(surface.KindTool, "pong").Decision = digest(5)

	plain := &source.Source{Transport: source.HTTP, URL: "http://127.0.0.1"}
	current := lockfile.FromSurface("demo", plain, surface.DefaultCovers(), tools(t, `{"name":"ping","description":"Other."}`))
	lockfile.Carry(old, current)
	if current.Target != "gw" || current.Decision != digest(1) || current.SourceDecision != digest(2) {
		t.Errorf("server: %+v", current)
	}
	if !current.Source.AllowPrivate || plain.AllowPrivate {
		t.Error("the permission of an equal source is not carried, or the source given was changed")
	}
	if in := current.Instructions; in == nil || !in.Absent || in.Decision != digest(3) || in.Hash != sum("Be kind.") {
		t.Errorf("instructions %+v", in)
	}
	if it := current.Item(surface.KindTool, "ping"); it.Decision != digest(4) || it.Absent || it.Tool.Description != sum("Other.") {
		t.Errorf("changed item %+v", it)
	}
	if it := current.Item(surface.KindTool, "pong"); it == nil || !it.Absent || it.Decision != digest(5) {
		t.Errorf("decided item that is gone: %+v", it)
	}
	if it := current.Item(surface.KindTool, "pang"); it != nil {
		t.Errorf("an undecided item that is gone stays: %+v", it)
	}
	ph := `["` + sum("ping").String() + `","` + sum("Other.").String() + `","` + sum("{}").String() + `"]`
	if current.SurfaceHash != sum("["+ph+"]") {
		t.Error("an absent tool counts in surfaceHash")
	}

	returned := lockfile.FromSurface("demo", plain, surface.DefaultCovers(), first)
	lockfile.Carry(current, returned)
	if it := returned.Item(surface.KindTool, "pong"); it.Absent || it.Decision != digest(5) {
		t.Errorf("returned item %+v", it)
	}
	if in := returned.Instructions; in.Absent || in.Decision != digest(3) {
		t.Errorf("returned instructions %+v", in)
	}

	gone := lockfile.FromSurface("demo", &source.Source{Transport: source.HTTP, URL: "http://10.0.0.1"}, surface.DefaultCovers(), surface.Surface{})
	lockfile.Carry(old, gone)
	if gone.Source.AllowPrivate {
		t.Error("the permission is carried to another address")
	}
	if gone.SurfaceHash != sum("[]") || len(gone.Lists[surface.KindTool]) != 2 {
		t.Errorf("tools no longer offered: %+v", gone.Lists)
	}
	for _, s := range []*lockfile.Server{current, returned, gone} {
		f := &lockfile.File{Servers: []*lockfile.Server{s}}
		checkFixedPoint(t, nil, mustParse(t, lockfile.Format(f)))
	}
}

func TestRetire(t *testing.T) {
	undecided := lockfile.FromSurface("a", nil, nil, tools(t, ping))
	decided := lockfile.FromSurface("b", nil, nil, surface.Surface{Instructions: surface.NewInstructions("x")})
	decided.Lists[surface.KindPrompt] = []lockfile.Item{{Name: "p", Digest: digest(1), GatewayDigest: digest(1), Decision: digest(2)}}
	f := &lockfile.File{Servers: []*lockfile.Server{undecided, decided}}
	for _, name := range []string{"a", "b", "c"} {
		f.Retire(name)
	}
	if f.Server("a") != nil || f.Server("b") == nil || !f.Server("b").Absent || decided.Absent {
		t.Errorf("servers %v", f.Servers)
	}
}

// What a decision about a source is about has the target only where it is not the
// server's name.
func TestSourceDigest(t *testing.T) {
	entry := func(target string) *lockfile.Server {
		return &lockfile.Server{Name: "demo", Target: target, Covers: []string{"tools"}, Skipped: "why", Source: &source.Source{Transport: stdio, Command: "x"}}
	}
	const rest = `"skipped":"why","source":{"command":"x","transport":"stdio"}`
	for target, want := range map[string]string{
		"":     `{"covers":["tools"],` + rest + `}`,
		"demo": `{"covers":["tools"],` + rest + `}`,
		"gw":   `{"covers":["tools"],` + rest + `,"target":"gw"}`,
	} {
		if have := lockfile.SourceDigest(entry(target)); have != sum(want) {
			t.Errorf("target %q: digest %v, want that of %s", target, have, want)
		}
	}
}

func codes(findings []finding.Finding) []finding.Code {
	var list []finding.Code
	for _, f := range findings {
		list = append(list, f.Code)
	}
	return list
}

func TestCheck(t *testing.T) {
	src := string(original(t))
	ping := sum("ping").String()
	for name, test := range map[string]struct {
		old, new string
		want     []finding.Code
		line     int
	}{
		"as it is":        {"", "", nil, 0},
		"surfaceHash":     {"72fd8af7", "72fd8af8", []finding.Code{finding.HashMismatch}, 6},
		"nameHash":        {ping, strings.Repeat("1", 64), []finding.Code{finding.HashMismatch, finding.HashMismatch}, 9},
		"descriptionHash": {"a8542ed6", "a8542ed7", []finding.Code{finding.HashMismatch}, 6},
		"order of items":  {"\"tools\": [\n", "\"tools\": [\n        {\n" + toolZ + "        },\n", []finding.Code{finding.HashMismatch, finding.LockfileOrder}, 6},
		"indent":          {"    \"demo\"", "   \"demo\"", []finding.Code{finding.LockfileOrder}, 6},
		"line ends":       {"\n", "\r\n", []finding.Code{finding.LockfileOrder}, 1},
		"no last newline": {"  }\n}\n", "  }\n}", []finding.Code{finding.LockfileOrder}, 30},
	} {
		t.Run(name, func(t *testing.T) {
			f := mustParse(t, []byte(strings.ReplaceAll(src, test.old, test.new)))
			if test.old == "" {
				f = mustParse(t, []byte(src))
			}
			findings := lockfile.Check(f)
			if diff := cmp.Diff(test.want, codes(findings)); diff != "" {
				t.Fatal(diff)
			}
			if len(findings) > 0 && findings[0].Place.Line != test.line {
				t.Errorf("line %d, want %d: %v", findings[0].Place.Line, test.line, findings[0])
			}
		})
	}
}

var toolZ = `          "name": "z",
          "nameHash": "` + sum("z").String() + `",
          "descriptionHash": "` + sum("").String() + `",
          "inputSchemaHash": "` + sum("{}").String() + `"
`

func TestFormatKeepsUntouchedEntries(t *testing.T) {
	const odd = `{ "lockfileVersion":1, "servers": {
"b" :{"covers":["tools","prompts"]  },
  "a": {"source": {"command": "x", "transport": "stdio"}} } }`
	f := mustParse(t, []byte(odd))
	have := string(lockfile.Format(f))
	for _, entry := range []string{`"b" :{"covers":["tools","prompts"]  }`, `"a": {"source": {"command": "x", "transport": "stdio"}}`} {
		if !strings.Contains(have, entry) {
			t.Errorf("entry %s is not kept:\n%s", entry, have)
		}
	}
	f.Server("b").Decision = digest(0xcc)
	have = string(lockfile.Format(f))
	if strings.Contains(have, `"b" :`) || !strings.Contains(have, `"decision": "cccc`) {
		t.Errorf("a changed entry is not written again:\n%s", have)
	}
	if !strings.Contains(have, `"a": {"source": {"command": "x", "transport": "stdio"}}`) {
		t.Errorf("another entry is not kept:\n%s", have)
	}
	f.Server("b").Decision = canonical.Digest{}
	if have = string(lockfile.Format(f)); !strings.Contains(have, `"b" :`) {
		t.Errorf("an entry that says again what was read is not kept:\n%s", have)
	}
}

func TestFormatShowsInvisibleCharacters(t *testing.T) {
	f := &lockfile.File{GeneratedBy: "a\u202eb\u200b<&>\u00fc\U000E0041\x7f\n"}
	const want = `"generatedBy": "a\u202eb\u200b<&>ü\udb40\udc41\u007f\n"`
	have := lockfile.Format(f)
	if !strings.Contains(string(have), want) {
		t.Errorf("have %s\nwant %s", have, want)
	}
	var decoded struct{ GeneratedBy string }
	if err := json.Unmarshal(have, &decoded); err != nil || decoded.GeneratedBy != f.GeneratedBy {
		t.Errorf("decoded %q, %v", decoded.GeneratedBy, err)
	}
}

func TestParseRemembersLines(t *testing.T) {
	s := mustParse(t, original(t)).Server("demo")
	if s == nil || s.Line != 6 || len(s.Lists[surface.KindTool]) != 3 || s.Lists[surface.KindTool][1].Line != 15 {
		t.Fatalf("entry %+v", s)
	}
	if !s.CoversKind("tools") || s.CoversKind("prompts") {
		t.Error("an entry of the original format covers tools")
	}
}
