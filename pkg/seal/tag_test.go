package seal_test

import (
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/trust"

	"golang.org/x/crypto/ssh"
)

// The SHA-256 of sampleLock, by sha256sum.
const sampleSum = "cd69e8c6e8bf5e905d0723a0759c1a5bd8512a69f86402333a29b0b1b7c5c562"

// goodMessage is what a seal of the world's HEAD says.
func (w *world) goodMessage() string {
	return "Seal agentgateway.lock\n\nlockfile-sha256: " + sampleSum + "\ntrust: " + w.chain.Digest().String() + "\n"
}

func (w *world) seal(name, person string) (*seal.Sealed, error) {
	return seal.SignTag(w.t.Context(), w.repo, seal.TagOptions{Name: name, Commit: w.head(), Path: lockPath, SignOptions: seal.SignOptions{Root: w.root(), Signer: newKey(w.t, person)}})
}

func (w *world) verify(ref string) (*seal.Sealed, error) {
	return w.verifyFrom(ref, w.root())
}

func (w *world) verifyFrom(ref string, root *canonical.Digest) (*seal.Sealed, error) {
	s, err := seal.Tag(w.t.Context(), w.repo, ref, "", lockPath)
	if err != nil {
		return nil, err
	}
	return seal.Verify(s, seal.Options{Root: root})
}

func TestSignTag(t *testing.T) {
	w := newWorld(t)
	made, err := w.seal("lock/v1", "dana")
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.verify("refs/tags/lock/v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*seal.Sealed{made, got} {
		if string(s.Lockfile) != sampleLock || s.Signer != "dana@example.com" || s.Commit != w.head() || s.Chain.Len() != 2 ||
			s.Fingerprint != sshsig.Fingerprint(newKey(t, "dana").PublicKey()) || s.Require != seal.RequireTag ||
			s.Tag.String() != w.git("", "rev-parse", "refs/tags/lock/v1") {
			t.Errorf("sealed %+v", s)
		}
	}
	message, _, _ := strings.Cut(w.git("", "for-each-ref", "--format=%(contents)", "refs/tags/lock/v1"), "-----BEGIN")
	if message != w.goodMessage() {
		t.Errorf("message\n%s\nwant\n%s", message, w.goodMessage())
	}
	if _, err := w.seal("lock/v1", "dana"); !errors.Is(err, gitrepo.ErrTagExists) {
		t.Errorf("sealing twice under one name: %v", err)
	}
	// HEAD moves on; the tag goes on sealing what it points to.
	w.write(lockPath, strings.Replace(sampleLock, "12:00", "13:00", 1))
	w.commit()
	if got, err = w.verify("refs/tags/lock/v1"); err != nil || string(got.Lockfile) != sampleLock {
		t.Errorf("after HEAD moved: %v", err)
	}
}

func TestSignTagRefuses(t *testing.T) {
	w := newWorld(t)
	for _, tc := range []struct {
		name string
		opts seal.TagOptions
		rule seal.Rule
	}{
		{"an approver", seal.TagOptions{SignOptions: seal.SignOptions{Signer: newKey(t, "alice")}}, seal.RuleSigner},
		{"a stranger", seal.TagOptions{SignOptions: seal.SignOptions{Signer: newKey(t, "mallory")}}, seal.RuleSigner},
		{"no lockfile", seal.TagOptions{Path: "other.lock"}, seal.RuleLockfile},
		{"another root", seal.TagOptions{SignOptions: seal.SignOptions{Root: &canonical.Digest{1}}}, seal.RuleTrust},
		{"a subject that reads as a seal", seal.TagOptions{Subject: "Trust: me"}, seal.RuleTagMessage},
	} {
		tc.opts.Name, tc.opts.Commit = "lock/v1", w.head()
		if tc.opts.Path == "" {
			tc.opts.Path = lockPath
		}
		if tc.opts.Signer == nil {
			tc.opts.Signer = newKey(t, "dana")
		}
		if _, err := seal.SignTag(t.Context(), w.repo, tc.opts); ruleOf(err) != string(tc.rule) {
			t.Errorf("%s: %v, want the rule %s", tc.name, err, tc.rule)
		}
	}
	if refs := w.git("", "for-each-ref", "refs/tags/"); refs != "" {
		t.Errorf("a refused seal left %s", refs)
	}
}

// TestAttack16 is the row of that number in the table of attacks, and its
// neighbours: tags that git itself calls good, or that mean something else than
// they seem to.
func TestAttack16(t *testing.T) {
	w := newWorld(t)
	if _, err := w.seal("lock/v1", "dana"); err != nil {
		t.Fatal(err)
	}
	v1 := w.git("", "rev-parse", "refs/tags/lock/v1")
	raw := w.git("", "cat-file", "tag", v1) + "\n"
	payload, block, _ := strings.Cut(raw, "-----BEGIN")
	block = "-----BEGIN" + block
	older := w.head().String()
	w.commit()
	blob := w.git("", "rev-parse", "HEAD:"+lockPath)
	good := func(name string) string { return w.tagBytes(name, w.goodMessage()) }
	byDana := func(text string) string { return signed(t, text, "dana", sshsig.NamespaceGit) }
	message := func(text string) string { return byDana(w.tagBytes("x", text)) }
	lines := strings.SplitAfter(w.goodMessage(), "\n")
	pgp := "-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----\n"

	for _, tc := range []struct {
		name string
		make func(ref string)
		rule seal.Rule
	}{
		{"renamed", func(ref string) { w.git("", "update-ref", ref, v1) }, seal.RuleTagName},
		{"lightweight", func(ref string) { w.git("", "update-ref", ref, "HEAD") }, seal.RuleTagLightweight},
		{"to a tag", func(ref string) {
			w.putTag(ref, byDana(strings.NewReplacer(w.head().String(), v1, "type commit", "type tag").Replace(good("x"))))
		}, seal.RuleTagTarget},
		{"to a tree", func(ref string) {
			w.putTag(ref, byDana(strings.NewReplacer(w.head().String(), w.git("", "rev-parse", "HEAD^{tree}"), "type commit", "type tree").Replace(good("x"))))
		}, seal.RuleTagTarget},
		{"to a blob", func(ref string) {
			w.putTag(ref, byDana(strings.NewReplacer(w.head().String(), blob, "type commit", "type blob").Replace(good("x"))))
		}, seal.RuleTagTarget},
		{"symbolic", func(ref string) { w.git("", "symbolic-ref", ref, "refs/tags/lock/v1") }, seal.RuleTagSymbolic},
		{"unsigned", func(ref string) { w.putTag(ref, good("x")) }, seal.RuleTagUnsigned},
		{"text after the signature", func(ref string) { w.putTag(ref, byDana(good("x"))+"more\n") }, seal.RuleTagTrailingText},
		{"an empty line after the signature", func(ref string) { w.putTag(ref, byDana(good("x"))+"\n") }, seal.RuleTagTrailingText},
		{"two signatures", func(ref string) { w.putTag(ref, byDana(byDana(good("x")))) }, seal.RuleTagSecond},
		{"a block inside the message", func(ref string) { w.putTag(ref, message(block+w.goodMessage())) }, seal.RuleTagSecond},
		{"a PGP block inside the message", func(ref string) { w.putTag(ref, message(pgp+"\n"+w.goodMessage())) }, seal.RuleTagSecond},
		{"a PGP signature", func(ref string) { w.putTag(ref, good("x")+pgp) }, seal.RuleSignature},
		{"a second tag header", func(ref string) {
			w.putTag(ref, byDana(strings.Replace(good("x"), "tag x\n", "tag x\ntag y\n", 1)))
		}, seal.RuleTagMalformed},
		{"a foreign header", func(ref string) {
			w.putTag(ref, byDana(strings.Replace(good("x"), "\n\n", "\ngpgsig-sha256 x\n\n", 1)))
		}, seal.RuleTagMalformed},
		{"NUL in the message", func(ref string) { w.putTag(ref, message("a\x00b\n\n"+lines[2]+lines[3])) }, seal.RuleTagMalformed},
		{"moved to another commit under its signature", func(ref string) {
			w.putTag(ref, strings.NewReplacer(older, w.head().String(), "tag lock/v1", "tag x").Replace(payload)+block)
		}, seal.RuleMismatch},
		{"the namespace of detached seals", func(ref string) { w.putTag(ref, signed(t, good("x"), "dana", sshsig.NamespaceLock)) }, seal.RuleNamespace},
		{"the namespace of decisions", func(ref string) { w.putTag(ref, signed(t, good("x"), "dana", sshsig.NamespaceDecision)) }, seal.RuleNamespace},
		{"by an approver", func(ref string) { w.putTag(ref, signed(t, good("x"), "alice", sshsig.NamespaceGit)) }, seal.RuleSigner},
		{"by a stranger", func(ref string) { w.putTag(ref, signed(t, good("x"), "mallory", sshsig.NamespaceGit)) }, seal.RuleSigner},
		{"of another lockfile", func(ref string) {
			w.putTag(ref, message(strings.Replace(w.goodMessage(), sampleSum, strings.Repeat("0", 64), 1)))
		}, seal.RuleMismatch},
		{"of an older trust version", func(ref string) {
			w.putTag(ref, message(strings.Replace(w.goodMessage(), w.chain.Digest().String(), w.root().String(), 1)))
		}, seal.RuleStale},
		{"without lines", func(ref string) { w.putTag(ref, message("release\n")) }, seal.RuleTagMessage},
		{"without the trust line", func(ref string) { w.putTag(ref, message(lines[0]+lines[1]+lines[2])) }, seal.RuleTagMessage},
		{"lines in the other order", func(ref string) { w.putTag(ref, message(lines[0]+lines[1]+lines[3]+lines[2])) }, seal.RuleTagMessage},
		{"no empty line before", func(ref string) { w.putTag(ref, message(lines[0]+lines[2]+lines[3])) }, seal.RuleTagMessage},
		{"a line twice", func(ref string) { w.putTag(ref, message(lines[0]+lines[2]+lines[1]+lines[2]+lines[3])) }, seal.RuleTagMessage},
		{"a line in capitals above", func(ref string) { w.putTag(ref, message("LOCKFILE-SHA256 : x\n"+w.goodMessage())) }, seal.RuleTagMessage},
		{"a digest in capitals", func(ref string) {
			w.putTag(ref, message(strings.Replace(w.goodMessage(), sampleSum, strings.ToUpper(sampleSum), 1)))
		}, seal.RuleTagMessage},
		{"text after the lines", func(ref string) { w.putTag(ref, message(w.goodMessage()+"Signed-off-by: Dana <dana@example.com>\n")) }, seal.RuleTagMessage},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w.t = t
			const ref = "refs/tags/x"
			tc.make(ref)
			_, err := w.verify(ref)
			w.git("", "update-ref", "--no-deref", "-d", ref)
			if got := ruleOf(err); got != string(tc.rule) {
				t.Errorf("rule %q, want %q (%v)", got, tc.rule, err)
			}
			if e, ok := errors.AsType[*seal.Error](err); ok && (e.Advice == "" || e.Detail == "" || !strings.Contains(e.Subject, "tag")) {
				t.Errorf("not for people: %+v", e)
			}
		})
	}
	w.t = t
	w.putTag("refs/tags/x", byDana(good("x")))
	if _, err := w.verify("refs/tags/x"); err != nil {
		t.Errorf("the tag that all others are made of: %v", err)
	}
	for _, name := range []string{"lock/v1", "refs/heads/main", "HEAD", ""} {
		if _, err := w.verify(name); ruleOf(err) != string(seal.RuleTagName) {
			t.Errorf("verifying %q: %v", name, err)
		}
	}
	if _, err := w.verify("refs/tags/none"); ruleOf(err) != string(seal.RuleMissing) {
		t.Errorf("a tag that is not there: %v", err)
	}
}

// What is beside the lockfile decides as well as the tag.
func TestVerifyTagContent(t *testing.T) {
	w := newWorld(t)
	if _, err := w.seal("before", "dana"); err != nil {
		t.Fatal(err)
	}
	oldRoot := *w.root()
	w.nextTrust(trust.Remove("dana@example.com"))
	w.commit()
	if _, err := w.verify("refs/tags/before"); err != nil {
		t.Errorf("the pin of version 1 knows nothing of the removal: %v", err)
	}
	newest := w.chain.Digest()
	if _, err := w.verifyFrom("refs/tags/before", &newest); ruleOf(err) != string(seal.RuleTrust) {
		t.Errorf("moving the pin forward: %v", err)
	}
	if _, err := w.seal("after", "dana"); ruleOf(err) != string(seal.RuleSigner) {
		t.Errorf("a removed deployer: %v", err)
	}
	w.putTag("refs/tags/forged", signed(t, w.tagBytes("forged", w.goodMessage()), "dana", sshsig.NamespaceGit))
	if _, err := w.verify("refs/tags/forged"); ruleOf(err) != string(seal.RuleSigner) {
		t.Errorf("a tag by a removed deployer: %v", err)
	}

	if err := os.RemoveAll(filepath.Join(w.dir, ".agentgateway")); err != nil {
		t.Fatal(err)
	}
	w.commit()
	w.putTag("refs/tags/untrusted", signed(t, w.tagBytes("untrusted", w.goodMessage()), "dana", sshsig.NamespaceGit))
	for _, root := range []*canonical.Digest{nil, &oldRoot} {
		if _, err := w.verifyFrom("refs/tags/untrusted", root); ruleOf(err) != string(seal.RuleTrust) {
			t.Errorf("without a trust list, root %v: %v", root, err)
		}
	}
	if err := os.Remove(filepath.Join(w.dir, lockPath)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere.lock", filepath.Join(w.dir, lockPath)); err != nil {
		t.Fatal(err)
	}
	w.commit()
	w.putTag("refs/tags/linked", signed(t, w.tagBytes("linked", w.goodMessage()), "dana", sshsig.NamespaceGit))
	if _, err := w.verify("refs/tags/linked"); ruleOf(err) != string(seal.RuleLockfile) {
		t.Errorf("a symlinked lockfile: %v", err)
	}
}

// git accepts our tags, and we accept those that git makes.
func TestTagWithGit(t *testing.T) {
	w := newWorld(t)
	if _, err := w.seal("lock/v1", "dana"); err != nil {
		t.Fatal(err)
	}
	allowed, err := sshsig.FormatAllowedSigners([]sshsig.AllowedSigner{{Principal: "dana@example.com", Namespaces: []sshsig.Namespace{sshsig.NamespaceGit}, Key: newKey(t, "dana").PublicKey()}})
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	signers, keyFile := filepath.Join(outside, "allowed_signers"), filepath.Join(outside, "key")
	if err := os.WriteFile(signers, allowed, 0o600); err != nil {
		t.Fatal(err)
	}
	config := []string{"-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile=" + signers, "-c", "user.signingKey=" + keyFile}
	out := w.git("", append(config, "verify-tag", "lock/v1")...)
	if !strings.Contains(out, `Good "git" signature for dana@example.com`) {
		t.Errorf("git verify-tag: %s", out)
	}
	w.git("", "fsck", "--strict")

	writeKey(t, keyFile, "dana")
	w.git(w.goodMessage(), append(config, "tag", "-s", "-F", "-", "lock/v2")...)
	if got, err := w.verify("refs/tags/lock/v2"); err != nil || got.Signer != "dana@example.com" {
		t.Errorf("a tag that git made: %+v, %v", got, err)
	}
}

// writeKey writes the private key of a person as OpenSSH does.
func writeKey(t *testing.T, path, person string) {
	t.Helper()
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, person)
	block, err := ssh.MarshalPrivateKey(ed25519.NewKeyFromSeed(seed), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".pub", []byte(keyLine(t, person)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
