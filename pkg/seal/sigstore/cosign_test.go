package sigstore_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"strconv"
	"testing"

	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/seal/sigstore"
)

// cosignForm is the older form of cosign of a bundle in the newer.
func cosignForm(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var b map[string]any
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	decode := func(v any) []byte {
		raw, err := base64.StdEncoding.DecodeString(v.(string))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	number := func(v any) int64 { // protojson leaves out a zero
		s, _ := v.(string)
		n, _ := strconv.ParseInt(s, 10, 64)
		return n
	}
	entry := at(b, "verificationMaterial", "tlogEntries")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: decode(at(b, "verificationMaterial", "certificate")["rawBytes"])})
	return map[string]any{
		"base64Signature": at(b, "messageSignature")["signature"],
		"cert":            base64.StdEncoding.EncodeToString(certificate),
		"rekorBundle": map[string]any{
			"SignedEntryTimestamp": at(entry, "inclusionPromise")["signedEntryTimestamp"],
			"Payload": map[string]any{
				"body": entry["canonicalizedBody"], "integratedTime": number(entry["integratedTime"]), "logIndex": number(entry["logIndex"]),
				"logID": hex.EncodeToString(decode(at(entry, "logId")["keyId"])),
			},
		},
	}
}

func TestCosign(t *testing.T) {
	in := newInstance(t)
	good := in.sign(parts{log: true})
	other, err := in.signer(parts{log: true}).Sign(t.Context(), []byte("another lockfile"), token(identity))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		from   []byte
		change func(b map[string]any)
		rule   seal.Rule
	}{
		{"as cosign makes it", good, nil, ""},
		{"of other bytes", other, nil, seal.RuleLog},
		{"another time", good, func(b map[string]any) { at(b, "rekorBundle", "Payload")["integratedTime"] = 1700000000 }, seal.RuleLog},
		{"another log", good, func(b map[string]any) { at(b, "rekorBundle", "Payload")["logID"] = "00" }, seal.RuleLog},
		{"a log that has no name", good, func(b map[string]any) { at(b, "rekorBundle", "Payload")["logID"] = "x" }, seal.RuleContent},
		{"no log entry", good, func(b map[string]any) { delete(b, "rekorBundle") }, seal.RuleContent},
		{"no promise", good, func(b map[string]any) { delete(at(b, "rekorBundle"), "SignedEntryTimestamp") }, seal.RuleContent},
		{"another signature", good, func(b map[string]any) { b["base64Signature"] = cosignForm(t, other)["base64Signature"] }, seal.RuleLog},
		{"another certificate", good, func(b map[string]any) { b["cert"] = cosignForm(t, other)["cert"] }, seal.RuleLog},
		{"a key for a certificate", good, func(b map[string]any) {
			b["cert"] = base64.StdEncoding.EncodeToString([]byte("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"))
		}, seal.RuleContent},
		{"an unknown member", good, func(b map[string]any) { b["x"] = 1 }, seal.RuleContent},
	} {
		b := cosignForm(t, tc.from)
		if tc.change != nil {
			tc.change(b)
		}
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		err = sigstore.Verifier{}.Verify([]byte(lockfile), text, in.policy(parts{log: true}))
		if got := ruleOf(err); got != string(tc.rule) {
			t.Errorf("%s: rule %q, want %q (%v)", tc.name, got, tc.rule, err)
		}
	}
}
