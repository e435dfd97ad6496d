package trust

import (
	"bytes"
	"testing"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"

	"github.com/google/go-cmp/cmp"
)

// FuzzVersion holds that what is read and written again is the same version, and
// that the signed bytes are the canonical form of what stood in the file.
func FuzzVersion(f *testing.F) {
	v := Version{Signed: sampleSigned(f), Signatures: [][]byte{{1, 2, 3}}}
	f.Add(v.Format())
	f.Add([]byte(`{"signatures":[],"signed":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := ParseVersion(text)
		if err != nil {
			if ruleOf(err) == "" {
				t.Fatalf("not a FormatError with a rule: %v", err)
			}
			return
		}
		out := v.Format()
		again, err := ParseVersion(out)
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, out)
		}
		if diff := cmp.Diff(v, again); diff != "" {
			t.Fatal(diff)
		}
		sameCanonical(t, text, out)
		if _, err := LoadChain([]File{{v.Signed.Version, text}}, nil, nil); err == nil && len(v.Signatures) == 0 {
			t.Fatal("a version without signatures is in force")
		}
	})
}

// sameCanonical holds that two files have one canonical form.
func sameCanonical(t *testing.T, a, b []byte) {
	t.Helper()
	enc := canonical.Encoder{MaxSize: MaxDecisionSize}
	x, err := enc.Append(nil, a)
	if err != nil {
		t.Fatalf("a file that was read has no canonical form: %v", err)
	}
	y, err := enc.Append(nil, b)
	if err != nil || !bytes.Equal(x, y) {
		t.Fatalf("the canonical form differs: %v\n%s\n%s", err, x, y)
	}
}

// FuzzDecision is FuzzVersion for decisions.
func FuzzDecision(f *testing.F) {
	st := sampleStatement()
	blob, err := testKey(f, "alice").Sign(f.Context(), sshsig.NamespaceDecision, st.Canonical())
	if err != nil {
		f.Fatal(err)
	}
	d := Decision{Statement: st, Signatures: [][]byte{blob}}
	f.Add(d.Format())
	st.Action, st.Items = Pause, []Item{{Key: surface.Key{Server: "files", Kind: "server"}, Serial: 1}}
	d = Decision{Statement: st}
	f.Add(d.Format())
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := ParseDecision(text)
		if err != nil {
			if ruleOf(err) == "" {
				t.Fatalf("not a FormatError with a rule: %v", err)
			}
			return
		}
		out := d.Format()
		again, err := ParseDecision(out)
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, out)
		}
		if diff := cmp.Diff(d, again); diff != "" {
			t.Fatal(diff)
		}
		sameCanonical(t, text, out)
		l, err := NewLedger([]DecisionFile{{DecisionPath(d.Statement.ID()), text}}, nil, nil)
		if err != nil || l.Len()+len(l.Invalid()) != 1 {
			t.Fatalf("the ledger lost it: %v", err)
		}
	})
}
