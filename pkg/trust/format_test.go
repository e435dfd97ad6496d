package trust

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
)

// memoryKey is an Ed25519 key made of a name, for tests.
type memoryKey struct{ ssh.Signer }

func (k memoryKey) Sign(_ context.Context, data []byte) (*ssh.Signature, error) {
	return k.Signer.Sign(nil, data)
}

func testKey(t testing.TB, name string) SigningKey {
	t.Helper()
	seed := sha256.Sum256([]byte(name))
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(seed[:]))
	if err != nil {
		t.Fatal(err)
	}
	return SSHKey(memoryKey{signer})
}

func digestOf(text string) canonical.Digest { return canonical.SumString(text) }

func sampleSigned(t testing.TB) Signed {
	return Signed{
		Version: 1, Repository: digestOf("repository"),
		Signers: []Signer{
			{Principal: "alice@example.com", Person: "Alice", Keys: []string{testKey(t, "alice").Key()}, Roles: []Role{Admin, Approver}, Servers: []string{}},
			{Principal: "bob@example.com", Person: "Bob", Keys: []string{testKey(t, "bob").Key()}, Roles: []Role{Approver}, Servers: []string{"files*", "git"}},
		},
		Thresholds: Thresholds{Approve: 1, Critical: 2, Admin: 1},
		Rules:      Rules{MaxAge: 7776000},
		Stands:     []canonical.Digest{},
	}
}

func sampleStatement() Statement {
	return Statement{
		Repository: digestOf("repository"), Lockfile: "agentgateway.lock", Trust: digestOf("trust"), Action: Approve,
		Items: []Item{
			{Key: surface.Key{Server: "files", Kind: surface.KindSource}, Digest: digestOf("source"), Previous: []canonical.Digest{}, Serial: 1, Grade: finding.Critical, Proposers: []string{"Bob"}},
			{Key: surface.Key{Server: "files", Kind: surface.KindTool, Name: "read"}, Digest: digestOf("d"), GatewayDigest: digestOf("g"), Previous: []canonical.Digest{digestOf("before")}, Serial: 2, Grade: finding.Warning, Proposers: []string{}},
		},
		Reason: "read \u202eit", At: 1796040000, By: "alice@example.com",
	}
}

func TestFormatParse(t *testing.T) {
	v := &Version{Signed: sampleSigned(t)}
	v.Signed.Signers[1].Emails = []string{"7+bob@users.noreply.github.com", "bob@home.example"}
	v.Signed.Rules.NewItemsCritical = true
	blob, err := testKey(t, "alice").Sign(t.Context(), sshsig.NamespaceTrust, v.Signed.Canonical())
	if err != nil {
		t.Fatal(err)
	}
	v.Signatures = [][]byte{blob}
	back, err := ParseVersion(v.Format())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v, back); diff != "" {
		t.Errorf("a version that is written and read differs:\n%s", diff)
	}

	d := &Decision{Statement: sampleStatement(), Signatures: [][]byte{blob}}
	d.Statement.NotMine = []string{strings.Repeat("0a", 20), strings.Repeat("1b", 32)}
	text := d.Format()
	decision, err := ParseDecision(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, decision); diff != "" {
		t.Errorf("a decision that is written and read differs:\n%s", diff)
	}
	if bytes.Contains(text, []byte("\u202e")) || !bytes.Contains(text, []byte(`\u202e`)) {
		t.Errorf("a character that a reader cannot see is in the file")
	}
	if !bytes.HasSuffix(text, []byte("}\n")) {
		t.Errorf("the file does not end in a newline")
	}
}

// TestCanonicalForm holds the signed bytes against text written by hand.
func TestCanonicalForm(t *testing.T) {
	s := sampleStatement()
	s.Items = s.Items[1:]
	s.Reason = "x"
	hash := func(text string) string { h := sha256.Sum256([]byte(text)); return hex.EncodeToString(h[:]) }
	want := `{"acceptSuspicious":false,"action":"approve","at":1796040000,"by":"alice@example.com","items":[{"digest":"` + hash("d") +
		`","gatewayDigest":"` + hash("g") + `","grade":"warning","kind":"tool","name":"read","previous":["` + hash("before") +
		`"],"proposers":[],"serial":2,"server":"files"}],"lockfile":"agentgateway.lock","reason":"x","repository":"` + hash("repository") +
		`","trust":"` + hash("trust") + `","type":"agentgateway-decision/v1"}`
	if diff := cmp.Diff(want, string(s.Canonical())); diff != "" {
		t.Error(diff)
	}
	if got := s.ID().String(); got != hash(want) {
		t.Errorf("the id is %s, not %s", got, hash(want))
	}
	withdrawn := s
	withdrawn.NotMine = []string{strings.Repeat("0a", 20)}
	if diff := cmp.Diff(strings.Replace(want, `"reason"`, `"notMine":["`+strings.Repeat("0a", 20)+`"],"reason"`, 1), string(withdrawn.Canonical())); diff != "" {
		t.Error(diff)
	}
	review := strings.Replace(want, `"at":1796040000,"by":"alice@example.com",`, "", 1)
	if got := s.ReviewDigest().String(); got != hash(review) {
		t.Errorf("the review digest is %s, not %s", got, hash(review))
	}
	if got, want := DecisionPath(s.ID()), ".agentgateway/decisions/"+hash(want)[:2]+"/"+hash(want)+".json"; got != want {
		t.Errorf("the path is %s, not %s", got, want)
	}
}

// TestKeygenVerify has ssh-keygen verify what is signed here.
func TestKeygenVerify(t *testing.T) {
	program, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	s := sampleStatement()
	blob, err := testKey(t, "alice").Sign(t.Context(), sshsig.NamespaceDecision, s.Canonical())
	if err != nil {
		t.Fatal(err)
	}
	sig, err := sshsig.ParseBlob(blob)
	if err != nil {
		t.Fatal(err)
	}
	signed := sampleSigned(t)
	allowed, err := signed.AllowedSigners()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"allowed": allowed, "sig": sig.Armor()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for namespace, good := range map[string]bool{"agentgateway-decision@v1": true, "agentgateway-trust@v1": false, "git": false} {
		cmd := exec.Command(program, "-Y", "verify", "-f", filepath.Join(dir, "allowed"), "-I", "alice@example.com", "-n", namespace, "-s", filepath.Join(dir, "sig"))
		cmd.Stdin = bytes.NewReader(s.Canonical())
		if out, err := cmd.CombinedOutput(); (err == nil) != good {
			t.Errorf("namespace %s: ssh-keygen says %v\n%s", namespace, err, out)
		}
	}
}

func ruleOf(err error) Rule {
	var fe *FormatError
	if errors.As(err, &fe) {
		return fe.Rule
	}
	return ""
}
