package seal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/trust"
	"agentgateway-lock/schema"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// smallBundle is a bundle to spoil. Its parts are not judged by ParseBundle.
const smallBundle = `{"type":"agentgateway-bundle/v1","path":"agentgateway.lock","lockfile":"{}","trust":["{}"],"decisions":{"` + zeros + `":"{}"},"instructions":["x"],"seal":{"kind":"signature","text":"s"}}`

const zeros = "0000000000000000000000000000000000000000000000000000000000000000"

// bundleFiles are texts that reader and schema judge alike, by name; the rest of
// the strictness (a member twice, the order of instructions) is the reader's.
var bundleFiles = []struct {
	name, old, new string
	good           bool
}{
	{"small", "", "", true},
	{"white space", `","path"`, "\" \r\n,\t\"path\"", true},
	{"no trust versions", `["{}"]`, `[]`, true},
	{"no decisions", `{"` + zeros + `":"{}"}`, `{}`, true},
	{"no instructions", `["x"]`, `[]`, true},
	{"no seal", `"signature","text":"s"`, `"none","text":""`, true},
	{"sigstore", `"signature"`, `"sigstore"`, true},
	{"a path in a folder", `"agentgateway.lock"`, `"a/b.c/d..e"`, true},
	{"another type", `bundle/v1`, `bundle/v2`, false},
	{"an unknown member", `"path":`, `"x":1,"path":`, false},
	{"a missing member", `"trust":["{}"],`, ``, false},
	{"type missing", `"type":"agentgateway-bundle/v1",`, ``, false},
	{"a path upwards", `"agentgateway.lock"`, `"../agentgateway.lock"`, false},
	{"a rooted path", `"agentgateway.lock"`, `"/agentgateway.lock"`, false},
	{"an empty path", `"agentgateway.lock"`, `""`, false},
	{"a path of here", `"agentgateway.lock"`, `"."`, false},
	{"a path through here", `"agentgateway.lock"`, `"a/./b"`, false},
	{"a folder's path", `"agentgateway.lock"`, `"a/"`, false},
	{"a long path", `"agentgateway.lock"`, `"` + strings.Repeat("a", 4097) + `"`, false},
	{"a lockfile as an object", `"{}","trust"`, `{},"trust"`, false},
	{"trust as an object", `["{}"]`, `{}`, false},
	{"a version as an object", `["{}"]`, `[{}]`, false},
	{"decisions as a list", `{"` + zeros + `":"{}"}`, `[]`, false},
	{"a short id", zeros, zeros[1:], false},
	{"an id in capitals", zeros, zeros[1:] + "A", false},
	{"a decision as an object", zeros + `":"{}"`, zeros + `":{}`, false},
	{"instructions as null", `["x"]`, `null`, false},
	{"instructions twice", `["x"]`, `["x","x"]`, false},
	{"a seal of a tag", `"signature"`, `"tag"`, false},
	{"a seal without text", `"text":"s"`, `"text":""`, false},
	{"a text without seal", `"signature"`, `"none"`, false},
	{"a seal without kind", `"kind":"signature",`, ``, false},
	{"a seal with more", `"kind":`, `"by":"x","kind":`, false},
	{"a list", "", "[]", false},
	{"something after", "", smallBundle + "{}", false},
	{"cut short", "", smallBundle[:len(smallBundle)-1], false},
	{"nothing", "", " ", false},
}

func TestBundleFiles(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("bundle.json", bytes.NewReader(schema.Bundle)); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("bundle.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range bundleFiles {
		text := smallBundle
		switch {
		case tc.old != "":
			text = strings.Replace(smallBundle, tc.old, tc.new, 1)
		case tc.new != "":
			text = tc.new
		}
		if tc.old != "" && text == smallBundle {
			t.Errorf("%s: nothing was changed", tc.name)
		}
		_, err := seal.ParseBundle([]byte(text))
		if (err == nil) != tc.good || err != nil && ruleOf(err) != string(seal.RuleBundle) {
			t.Errorf("%s: reader %v", tc.name, err)
		}
		var value any
		decoder := json.NewDecoder(strings.NewReader(text))
		err = decoder.Decode(&value)
		if err == nil && decoder.More() {
			err = errors.New("something after")
		}
		if err == nil {
			err = compiled.Validate(value)
		}
		if (err == nil) != tc.good {
			t.Errorf("%s: schema %v", tc.name, err)
		}
	}
	for name, text := range map[string]string{
		"a member twice":     strings.Replace(smallBundle, `"path"`, `"path":"a","path"`, 1),
		"a decision twice":   strings.Replace(smallBundle, `"`+zeros, `"`+zeros+`":"","`+zeros, 1),
		"instructions order": strings.Replace(smallBundle, `["x"]`, `["Be kind.\n","x"]`, 1),
		"decisions order":    strings.Replace(smallBundle, `"`+zeros, `"1`+zeros[1:]+`":"","`+zeros, 1),
		"a lone surrogate":   strings.Replace(smallBundle, `"x"`, `"\ud800"`, 1),
		"invalid UTF-8":      strings.Replace(smallBundle, `"x"`, "\"\xff\"", 1),
	} {
		if _, err := seal.ParseBundle([]byte(text)); ruleOf(err) != string(seal.RuleBundle) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = seal.ParseBundle([]byte(strings.Replace(smallBundle, `,"path"`, ",\n\"path\u202e\"", 1)))
	if err == nil || !strings.Contains(err.Error(), `line 2, column`) || !strings.Contains(err.Error(), `"path\u202e"`) {
		t.Errorf("an error for people: %v", err)
	}
	var many strings.Builder
	for n := range trust.MaxVersions + 1 {
		fmt.Fprintf(&many, `,"%d"`, n)
	}
	if _, err := seal.ParseBundle([]byte(strings.Replace(smallBundle, `["{}"]`, "["+many.String()[1:]+"]", 1))); ruleOf(err) != string(seal.RuleBundle) {
		t.Errorf("too many versions: %v", err)
	}
}

// FuzzParseBundle checks that a text is refused with a reason, or is a bundle that
// is written and read as the same.
func FuzzParseBundle(f *testing.F) {
	for _, tc := range bundleFiles {
		if tc.old != "" {
			f.Add([]byte(strings.Replace(smallBundle, tc.old, tc.new, 1)))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		b, err := seal.ParseBundle(src)
		if err != nil {
			if e, ok := errors.AsType[*seal.Error](err); !ok || e.Detail == "" || e.Advice == "" {
				t.Fatalf("error %#v", err)
			}
			return
		}
		text, err := seal.WriteBundle(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := seal.ParseBundle(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, again); diff != "" {
			t.Fatalf("read back (-first +second):\n%s", diff)
		}
		_, _ = seal.Verify(b.Subject(), seal.Options{Require: seal.RequireNone})
	})
}
