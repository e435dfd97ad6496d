package seal_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/sshsig"
)

// ssh-keygen makes and accepts the same detached seals.
func TestSignatureWithSSHKeygen(t *testing.T) {
	program, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	dir := t.TempDir()
	keyFile, signers, lockfile := filepath.Join(dir, "key"), filepath.Join(dir, "allowed_signers"), filepath.Join(dir, lockPath)
	writeKey(t, keyFile, "dana")
	allowed, err := sshsig.FormatAllowedSigners([]sshsig.AllowedSigner{{Principal: "dana@example.com", Namespaces: []sshsig.Namespace{sshsig.NamespaceLock}, Key: newKey(t, "dana").PublicKey()}})
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{signers: allowed, lockfile: []byte(sampleLock)} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(stdin string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Stdin = bytes.NewReader([]byte(stdin))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen %q: %v\n%s", args, err, out)
		}
	}
	run("", "-Y", "sign", "-f", keyFile, "-n", "agentgateway-lock@v1", lockfile)
	theirs, err := os.ReadFile(lockfile + seal.SignatureSuffix)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := seal.VerifyBytes([]byte(sampleLock), theirs, list(t, "dana")); err != nil || got.Principal != "dana@example.com" {
		t.Errorf("verifying what ssh-keygen made: %+v, %v", got, err)
	}
	ours, err := seal.SignBytes(t.Context(), []byte(sampleLock), newKey(t, "dana"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(ours, theirs) { // Ed25519 signatures of one message are one
		t.Errorf("ssh-keygen made\n%s\nand we\n%s", theirs, ours)
	}
	if err := os.WriteFile(filepath.Join(dir, "ours.sig"), ours, 0o600); err != nil {
		t.Fatal(err)
	}
	run(sampleLock, "-Y", "verify", "-f", signers, "-I", "dana@example.com", "-n", "agentgateway-lock@v1", "-s", filepath.Join(dir, "ours.sig"))
}
