package gitrepo

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestSplitAgainstGit compares what the splitters find in objects that git made
// with what git says of them.
func TestSplitAgainstGit(t *testing.T) {
	ctx := context.Background()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			s := newSandbox(t)
			s.history("--object-format=" + format)
			sign := s.sshSigner()
			s.git("checkout", "-q", "-b", "side", "HEAD~1")
			s.commit("x", "1")
			s.git("tag", "-a", "-m", "signed away", "merged")
			s.git("checkout", "-q", "main")
			s.git("merge", "-q", "--no-ff", "-m", "merge a tag", "merged") // has a mergetag header
			s.git("-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "--allow-empty", "-m", "caf\xe9")
			s.git("commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "", "--author=Ünï  Cödé <>")
			r := s.open(Automatic)
			s.write("f", "x")
			_, err := r.Commit(ctx, CommitOptions{Paths: []string{"f"}, Message: "signed", Sign: sign})
			must(t, err)
			for id := range strings.SplitSeq(s.git("rev-list", "HEAD"), "\n") {
				c, err := r.ReadCommit(ctx, mustHash(t, id))
				must(t, err)
				var parents []string
				for _, p := range c.Parents {
					parents = append(parents, p.String())
				}
				got := strings.Join([]string{c.Tree.String(), strings.Join(parents, " "), c.Author.Name, c.Author.Email,
					c.Author.When.Format("2006-01-02T15:04:05-07:00"), c.Committer.Email, c.Encoding}, "|")
				want := s.git("log", "-1", "--no-show-signature", "--encoding=ISO-8859-1", "--format=%T|%P|%an|%ae|%ad|%ce|%e", "--date=format:%Y-%m-%dT%H:%M:%S%z", id)
				if norm(got) != norm(want) {
					t.Errorf("commit %s is\n%s; git says\n%s", id, got, want)
				}
			}
			for _, e := range mustTree(t, r, s.git("rev-parse", "HEAD^{tree}")) {
				if got := s.git("rev-parse", "HEAD:"+e.Name); got != e.ID.String() {
					t.Errorf("%s is %s; git says %s", e.Name, e.ID, got)
				}
			}
		})
	}
}

// norm evens out the spellings of a zone and of a name in another encoding.
func norm(s string) string {
	s = strings.ReplaceAll(s, "+01:00", "+0100")
	return strings.Map(func(r rune) rune {
		if r > 127 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

func mustTree(t *testing.T, r *Repo, id string) []Entry {
	t.Helper()
	entries, err := r.Tree(context.Background(), mustHash(t, id))
	must(t, err)
	return entries
}

// TestAttackMalleableCommit is attacks 14 and 15: from one signed commit others
// are made that git's own verification calls good. The splitter refuses each,
// but for one that changes nothing it covers: the id is never content proof.
func TestAttackMalleableCommit(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	s.history()
	sign := s.sshSigner()
	r := s.open(Automatic)
	s.write("f", "x")
	id, err := r.Commit(ctx, CommitOptions{Paths: []string{"f"}, Message: "signed", Sign: sign})
	must(t, err)
	_, raw, err := r.Object(ctx, id)
	must(t, err)
	at := bytes.Index(raw, []byte("gpgsig "))
	insert := func(header string) []byte {
		return append(append(bytes.Clone(raw[:at]), header...), raw[at:]...)
	}
	original, err := ParseCommit(raw)
	must(t, err)
	for _, c := range []struct {
		name, rule string
		raw        []byte
	}{
		{"junk-gpgsig-sha256", "foreign-signature", insert("gpgsig-sha256 junk\n")},
		{"second-signature", "second-signature", append(append(bytes.Clone(raw[:bytes.Index(raw, []byte("\n\n"))+1]), "gpgsig junk\n"...), raw[bytes.Index(raw, []byte("\n\n"))+1:]...)},
		{"space-in-armor", "", bytes.Replace(raw, []byte("\n -----END"), []byte("\n \n -----END"), 1)},
	} {
		t.Run("attack-15/"+c.name, func(t *testing.T) {
			sibling := strings.TrimSpace(s.gitIn(string(c.raw), "hash-object", "-t", "commit", "-w", "--stdin", "--literally"))
			if sibling == id.String() {
				t.Fatal("nothing was changed")
			}
			out, gitErr := s.try("", "verify-commit", sibling)
			t.Logf("git verify-commit: %v %s", gitErr, out)
			got, err := r.ReadCommit(ctx, mustHash(t, sibling))
			if c.rule != "" {
				checkRule(t, c.rule, err)
				return
			}
			// The armor is for the reader of signatures to judge; what it gets differs.
			if err != nil || !bytes.Equal(got.Payload, original.Payload) || bytes.Equal(got.Signature, original.Signature) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestAttackMalleableTag: text after the signature of a tag is unsigned, and
// git accepts it.
func TestAttackMalleableTag(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	_, head := s.history()
	r := s.open(Automatic)
	id, err := r.SignedTag(ctx, TagOptions{Name: "lock/v2", Target: head, Message: "m", Sign: s.sshSigner()})
	must(t, err)
	_, raw, err := r.Object(ctx, id)
	must(t, err)
	longer := s.gitIn(string(raw)+"lockfile-sha256: ff\n", "hash-object", "-t", "tag", "-w", "--stdin", "--literally")
	s.git("update-ref", "refs/tags/lock/v2", longer)
	_, _, err = r.AnnotatedTag(ctx, "refs/tags/lock/v2")
	checkRule(t, "text-after-signature", err)
}
