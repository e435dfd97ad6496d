package trust

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/schema"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// A schemaCase is a file, made of a good one by replacing texts in turn.
type schemaCase struct {
	name    string
	replace []string // old, new, old, new, …
	good    bool
	// beyond marks what only the reader can refuse.
	beyond bool
}

// agree holds that reader and schema accept and refuse the same files.
func agree(t *testing.T, name string, schemaText []byte, good []byte, read func([]byte) error, cases []schemaCase) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, bytes.NewReader(schemaText)); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			for i := 0; i < len(test.replace); i += 2 {
				if !bytes.Contains(good, []byte(test.replace[i])) {
					t.Fatalf("%q is not in the file", test.replace[i])
				}
			}
			text := []byte(strings.NewReplacer(test.replace...).Replace(string(good)))
			decoder := json.NewDecoder(bytes.NewReader(text))
			decoder.UseNumber()
			var value any
			if err := decoder.Decode(&value); err != nil {
				t.Fatal(err)
			}
			bySchema, byReader := compiled.Validate(value), read(text)
			if (byReader == nil) != test.good {
				t.Errorf("the reader says: %v", byReader)
			}
			if (bySchema == nil) != (test.good || test.beyond) {
				t.Errorf("the schema says: %v", bySchema)
			}
		})
	}
}

func TestTrustSchema(t *testing.T) {
	v := Version{Signed: sampleSigned(t), Signatures: [][]byte{{1, 2, 3}, {4, 5}}}
	v.Signed.Stands = []canonical.Digest{digestOf("a"), digestOf("b")}
	v.Signed.Stands = ordered(v.Signed.Stands, compareDigests)
	first := v.Signed.Stands[0].String()
	alice, bob := testKey(t, "alice").Key(), testKey(t, "bob").Key()
	agree(t, "trust.schema.json", schema.Trust, v.Format(), func(text []byte) error { _, err := ParseVersion(text); return err }, []schemaCase{
		{"good", nil, true, false},
		{"version 2", []string{`"version": 1`, `"version": 2`, `"previous": ""`, `"previous": "` + first + `"`}, true, false},
		{"a checkpoint", []string{`"checkpoint": null`, `"checkpoint": {"commit": "` + first[:40] + `", "lockfile": "` + first + `", "reason": "x"}`}, true, false},
		{"no signatures", []string{`"AQID",`, ``, `"BAU="`, ``}, true, false},
		{"no patterns", []string{`"files*",`, ``, `"git"`, ``}, true, false},
		{"a deployer too", []string{`"admin",`, `"admin", "approver", "deployer"`, "\n          \"approver\"\n        ],\n        \"servers\": []", "],\n        \"servers\": []"}, true, false},
		{"a person with letters of another script", []string{`"Bob"`, `"Борис Ельцин"`}, true, false},
		{"emails", []string{`"person": "Bob"`, `"person": "Bob", "emails": ["12+bob@users.noreply.github.com", "bob@home.example"]`}, true, false},
		{"an email of another script", []string{`"person": "Bob"`, `"person": "Bob", "emails": ["боб@пример.example"]`}, true, false},
		{"no emails", []string{`"person": "Bob"`, `"person": "Bob", "emails": []`}, false, false},
		{"an email without a domain", []string{`"person": "Bob"`, `"person": "Bob", "emails": ["bob"]`}, false, false},
		{"an email in upper case", []string{`"person": "Bob"`, `"person": "Bob", "emails": ["Bob@home.example"]`}, false, false},
		{"an email with a space", []string{`"person": "Bob"`, `"person": "Bob", "emails": ["bob @home.example"]`}, false, false},
		{"an email in brackets", []string{`"person": "Bob"`, `"person": "Bob", "emails": ["<bob@home.example>"]`}, false, false},
		{"an email twice", []string{`"person": "Bob"`, `"person": "Bob", "emails": ["bob@home.example", "bob@home.example"]`}, false, false},
		{"emails out of order", []string{`"person": "Bob"`, `"person": "Bob", "emails": ["rob@home.example", "bob@home.example"]`}, false, true},
		{"an email that cannot be seen", []string{`"person": "Bob"`, `"person": "Bob", "emails": ["bob\u200b@home.example"]`}, false, true},
		{"the email of another person", []string{`"person": "Bob"`, `"person": "Bob", "emails": ["alice@example.com"]`}, false, true},
		{"one noreply address for two", []string{`"person": "Bob"`, `"person": "Bob", "emails": ["1+al@users.noreply.github.com"]`,
			`"person": "Alice"`, `"person": "Alice", "emails": ["al@users.noreply.github.com"]`}, false, true},
		{"new items are critical", []string{`"maxAge"`, `"newItems": "critical", "maxAge"`}, true, false},
		{"new items are a warning, spelled", []string{`"maxAge"`, `"newItems": "warning", "maxAge"`}, false, false},
		{"another type", []string{`agentgateway-trust/v1`, `agentgateway-trust/v2`}, false, false},
		{"version 0", []string{`"version": 1`, `"version": 0`}, false, false},
		{"version 1025", []string{`"version": 1`, `"version": 1025`, `"previous": ""`, `"previous": "` + first + `"`}, false, false},
		{"version as a text", []string{`"version": 1`, `"version": "1"`}, false, false},
		{"version 1 with a previous one", []string{`"previous": ""`, `"previous": "` + first + `"`}, false, false},
		{"version 2 without", []string{`"version": 1`, `"version": 2`}, false, false},
		{"previous null", []string{`"previous": ""`, `"previous": null`}, false, false},
		{"no rules", []string{`"rules"`, `"rule"`}, false, false},
		{"an unknown member", []string{`"enforced"`, `"later": true, "enforced"`}, false, false},
		{"a role with a typo", []string{`"admin",`, `"admim",`}, false, false},
		{"threshold 0", []string{`"approve": 1`, `"approve": 0`}, false, false},
		{"threshold 1.5", []string{`"approve": 1`, `"approve": 1.5`}, false, false},
		{"a threshold nobody meets", []string{`"approve": 1`, `"approve": 3`}, false, true},
		{"an upper-case principal", []string{`"alice@example.com"`, `"Alice@example.com"`}, false, false},
		{"a wildcard principal", []string{`"alice@example.com"`, `"*@example.com"`}, false, false},
		{"principals out of order", []string{`"alice@example.com"`, `"zoe@example.com"`}, false, true},
		{"an empty person", []string{`"Bob"`, `""`}, false, false},
		{"a person with a space at the end", []string{`"Bob"`, `"Bob "`}, false, false},
		{"a person that looks like another", []string{`"Bob"`, `"alice"`}, false, true},
		{"a key of another type", []string{`ssh-ed25519 `, `ssh-dss `}, false, false},
		{"a key with a comment", []string{alice, alice + " laptop"}, false, false},
		{"a key twice", []string{bob, alice}, false, true},
		{"a digest in upper case", []string{first, strings.ToUpper(first)}, false, false},
		{"a digest of zeros", []string{first, strings.Repeat("0", 64)}, false, false},
		{"a double wildcard", []string{`files*`, `files**`}, false, false},
		{"an empty pattern", []string{`files*`, ``}, false, false},
		{"a negative age", []string{`"maxAge": 7776000`, `"maxAge": -1`}, false, false},
		{"a checkpoint at a branch", []string{`"checkpoint": null`, `"checkpoint": {"commit": "main", "lockfile": "` + first + `", "reason": "x"}`}, false, false},
		{"a signature that is not base64", []string{`AQID`, `AQI`}, false, false},
		{"a signature twice", []string{`BAU=`, `AQID`}, false, false},
	})
}

func TestDecisionSchema(t *testing.T) {
	st := sampleStatement()
	st.Reason = "a reason"
	d := Decision{Statement: st, Signatures: [][]byte{{1, 2, 3}}}
	g, before := digestOf("g").String(), digestOf("before").String()
	agree(t, "decision.schema.json", schema.Decision, d.Format(), func(text []byte) error { _, err := ParseDecision(text); return err }, []schemaCase{
		{"good", nil, true, false},
		{"reject", []string{`"approve"`, `"reject"`}, true, false},
		{"a lockfile in a folder", []string{`"agentgateway.lock"`, `"a/.b/..c/agentgateway.lock"`}, true, false},
		{"no reason", []string{`"a reason"`, `""`}, true, false},
		{"instructions and a prompt", []string{`"source"`, `"instructions"`, `"tool"`, `"prompt"`}, true, false},
		{"not mine", []string{`"at"`, `"notMine": ["` + strings.Repeat("a", 40) + `", "` + strings.Repeat("b", 64) + `"], "at"`}, true, false},
		{"not mine, nothing", []string{`"at"`, `"notMine": [], "at"`}, false, false},
		{"not mine, a branch", []string{`"at"`, `"notMine": ["main"], "at"`}, false, false},
		{"not mine, twice", []string{`"at"`, `"notMine": ["` + g + `", "` + g + `"], "at"`}, false, false},
		{"not mine, in upper case", []string{`"at"`, `"notMine": ["` + strings.ToUpper(g) + `"], "at"`}, false, false},
		{"not mine, out of order", []string{`"at"`, `"notMine": ["` + strings.Repeat("b", 40) + `", "` + strings.Repeat("a", 40) + `"], "at"`}, false, true},
		{"an item twice", []string{`"server": "files"`, `"server": "z"`, `"kind": "source"`, `"kind": "tool"`, `"name": ""`, `"name": "read"`, `"gatewayDigest": ""`, `"gatewayDigest": "` + g + `"`}, false, true},
		{"another type", []string{`agentgateway-decision/v1`, `agentgateway-decision/v0`}, false, false},
		{"another action", []string{`"approve"`, `"allow"`}, false, false},
		{"pause of a tool", []string{`"approve"`, `"pause"`}, false, false},
		{"approve of a server", []string{`"source"`, `"server"`}, false, false},
		{"an unknown kind", []string{`"tool"`, `"tools"`}, false, false},
		{"a tool without a name", []string{`"read"`, `""`}, false, false},
		{"a source with a name", []string{`"name": "",`, `"name": "x",`}, false, false},
		{"a tool without a gateway digest", []string{g, ``}, false, false},
		{"a source with a gateway digest", []string{`"gatewayDigest": "",`, `"gatewayDigest": "` + g + `",`}, false, false},
		{"a source without a digest", []string{digestOf("source").String(), ``}, false, false},
		{"a digest that is too short", []string{g, g[1:]}, false, false},
		{"serial 0", []string{`"serial": 1`, `"serial": 0`}, false, false},
		{"serial 1 after another", []string{`"serial": 2`, `"serial": 1`}, false, false},
		{"serial 2 after nothing", []string{`"serial": 1`, `"serial": 2`}, false, false},
		{"previous as a text", []string{"[\n          \"" + before + "\"\n        ]", `"` + before + `"`}, false, false},
		{"an unknown grade", []string{`"warning"`, `"serious"`}, false, false},
		{"a path upwards", []string{`"agentgateway.lock"`, `"../agentgateway.lock"`}, false, false},
		{"a path with a dot", []string{`"agentgateway.lock"`, `"./agentgateway.lock"`}, false, false},
		{"an absolute path", []string{`"agentgateway.lock"`, `"/agentgateway.lock"`}, false, false},
		{"a path with two slashes", []string{`"agentgateway.lock"`, `"a//agentgateway.lock"`}, false, false},
		{"an empty path", []string{`"agentgateway.lock"`, `""`}, false, false},
		{"a time as a text", []string{`1796040000`, `"2026-11-30"`}, false, false},
		{"a negative time", []string{`1796040000`, `-1`}, false, false},
		{"by a name that is none", []string{`"alice@example.com"`, `"alice example"`}, false, false},
		{"a missing member", []string{`"reason": "a reason",`, ``}, false, false},
		{"an unknown member", []string{`"reason"`, `"note": "", "reason"`}, false, false},
		{"an empty proposer", []string{`"Bob"`, `""`}, false, false},
		{"kinds swapped", []string{`"server": "files"`, `"server": "files"`, `"source"`, `"tool"`, `"tool"`, `"source"`}, false, false},
		{"no items", []string{`"items"`, `"items": [], "old"`}, false, false},
	})
	st = sampleStatement()
	st.Action = Pause
	st.Items = []Item{{Key: surface.Key{Server: "files", Kind: "server"}, Previous: []canonical.Digest{}, Serial: 1, Proposers: []string{}}}
	d = Decision{Statement: st, Signatures: [][]byte{{1, 2, 3}}}
	agree(t, "decision.schema.json", schema.Decision, d.Format(), func(text []byte) error { _, err := ParseDecision(text); return err }, []schemaCase{
		{"pause of a server", nil, true, false},
		{"resume of a server", []string{`"pause"`, `"resume"`}, true, false},
		{"a server with a digest", []string{`"digest": ""`, `"digest": "` + g + `"`}, false, false},
	})
}
