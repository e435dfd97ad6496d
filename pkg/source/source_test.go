package source_test

import (
	"strings"
	"testing"

	"agentgateway-lock/pkg/canonical"
	. "agentgateway-lock/pkg/source" //nolint:revive // the package is a value of its own in every test here
)

func filled(b byte) (d canonical.Digest) {
	for i := range d {
		d[i] = b
	}
	return d
}

var (
	ones, twos = strings.Repeat("11", 32), strings.Repeat("22", 32)

	stdio = &Source{
		Transport: Stdio, Command: "npx", Args: []string{"-y", "<x>", "it's"}, Cwd: "sub",
		Env:     map[string]string{"b": "${B}", "a": "\u200b", "\U0001F600": "1", "\uE000": "2"},
		EnvFile: &EnvFile{Path: ".env", Hash: filled(0x11)},
	}
	url = &Source{Transport: SSE, URL: "https://x", AllowPrivate: true, Headers: map[string]string{"X-Key": "${KEY}"}}
	// Sums stand sorted, whatever the order they are given in.
	literal = &Source{Transport: Stdio, Command: "x", AllowLiteral: []canonical.Digest{filled(0x22), filled(0x11)}}

	// By UTF-16, U+1F600 comes before U+E000.
	stdioCanonical = `{"args":["-y","<x>","it's"],"command":"npx","cwd":"sub","env":{"a":"` + "\u200b" + `","b":"${B}","` + "\U0001F600" + `":"1","` + "\uE000" +
		`":"2"},"envFile":{"hash":"` + ones + `","path":".env"},"transport":"stdio"}`
	urlCanonical     = `{"allowPrivate":true,"headers":{"X-Key":"${KEY}"},"transport":"sse","url":"https://x"}`
	literalCanonical = `{"allowLiteral":["` + ones + `","` + twos + `"],"command":"x","transport":"stdio"}`
)

func TestForms(t *testing.T) {
	for _, test := range []struct {
		source                    *Source
		json, canonical, describe string
	}{
		{
			stdio, `{"transport":"stdio","command":"npx","args":["-y","<x>","it's"],"cwd":"sub","env":{"a":"` + "\u200b" + `","b":"${B}","` + "\uE000" + `":"2","` +
				"\U0001F600" + `":"1"},"envFile":{"path":".env","hash":"` + ones + `"}}`,
			stdioCanonical, "a=\u200b b=${B} \uE000=2 \U0001F600=1 npx -y '<x>' 'it'\\''s' (in sub) (variables of .env, 1111111111111111)",
		},
		{
			url, `{"transport":"sse","url":"https://x","headers":{"X-Key":"${KEY}"},"allowPrivate":true}`,
			urlCanonical, "https://x -H 'X-Key: ${KEY}' (sse) (private addresses allowed)",
		},
		{
			literal, `{"transport":"stdio","command":"x","allowLiteral":["` + ones + `","` + twos + `"]}`,
			literalCanonical, "x",
		},
	} {
		if got := string(test.source.JSON()); got != test.json {
			t.Errorf("JSON\n have %s\n want %s", got, test.json)
		}
		if got := string(test.source.CanonicalJSON()); got != test.canonical {
			t.Errorf("canonical form\n have %s\n want %s", got, test.canonical)
		}
		if got, want := test.source.Digest(), canonical.SumString(test.canonical); got != want {
			t.Errorf("%s: digest %v, want %v", test.canonical, got, want)
		}
		if got := Describe(test.source); got != test.describe {
			t.Errorf("described as\n %s, want\n %s", got, test.describe)
		}
	}
	if got := Describe(nil); got != "not recorded" {
		t.Errorf("no source is described as %q", got)
	}
	// Invalid UTF-8 is replaced, which makes one name of two.
	twins := &Source{Transport: Stdio, Command: "x", Env: map[string]string{"\xff": "", "\ufffd": ""}}
	if form, d := twins.CanonicalJSON(), twins.Digest(); form != nil || !d.IsZero() {
		t.Errorf("two names that are one text have the form %s and the digest %v", form, d)
	}
}

func TestTerms(t *testing.T) {
	for _, test := range []struct {
		terms Terms
		text  string // empty for none
	}{
		{Terms{Source: stdio, Target: "gw", Covers: []string{"tools", "instructions"}}, `{"covers":["instructions","tools"],"source":` + stdioCanonical + `,"target":"gw"}`},
		{Terms{Source: url}, `{"source":` + urlCanonical + `}`},
		{Terms{Source: literal, Covers: []string{}, Skipped: "no reason given"}, `{"covers":[],"skipped":"no reason given","source":` + literalCanonical + `}`},
		{Terms{Target: "gw", Covers: []string{"tools"}}, ""},
	} {
		var want canonical.Digest
		if test.text != "" {
			want = canonical.SumString(test.text)
		}
		if got := test.terms.Digest(); got != want {
			t.Errorf("%s: digest %v, want %v", test.text, got, want)
		}
	}
}

// Each member takes part in the comparison but those that are the lockfile's own.
func TestEqual(t *testing.T) {
	for member, change := range map[string]func(*Source){
		"transport":    func(s *Source) { s.Transport = HTTP },
		"command":      func(s *Source) { s.Command = "other" },
		"args":         func(s *Source) { s.Args = []string{"-y"} },
		"cwd":          func(s *Source) { s.Cwd = "" },
		"env":          func(s *Source) { s.Env = map[string]string{"b": "${B}"} },
		"envFile":      func(s *Source) { s.EnvFile = &EnvFile{Path: ".env", Hash: filled(0x22)} },
		"no envFile":   func(s *Source) { s.EnvFile = nil },
		"url":          func(s *Source) { s.URL = "https://y" },
		"headers":      func(s *Source) { s.Headers = map[string]string{"X": "y"} },
		"allowPrivate": func(s *Source) { s.AllowPrivate = true },
		"allowLiteral": func(s *Source) { s.AllowLiteral = []canonical.Digest{filled(0x11)} },
	} {
		other := *stdio
		other.EnvFile = &EnvFile{Path: ".env", Hash: filled(0x11)}
		if !stdio.Equal(&other) {
			t.Fatal("a copy is not equal")
		}
		change(&other)
		if got, want := stdio.Equal(&other), strings.HasPrefix(member, "allow"); got != want {
			t.Errorf("with another %s, equal is %t", member, got)
		}
	}
	if stdio.Equal(nil) || !(*Source)(nil).Equal(nil) {
		t.Error("no source is equal to a source, or not to none")
	}
}
