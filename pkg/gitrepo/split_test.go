package gitrepo

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	treeLine      = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"
	parentLine    = "parent 279e4b1efb1c313bc82c50827b4e3b1c640e0629\n"
	authorLine    = "author Alice <alice@example.com> 1700000000 +0100\n"
	committerLine = "committer Bob <bob@example.com> 1700000060 -0030\n"
	sigLines      = "gpgsig -----BEGIN SSH SIGNATURE-----\n U1NIU0lH\n -----END SSH SIGNATURE-----\n"
	armored       = "-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----\n"
	foreignSig    = "gpgsig-sha256 -----BEGIN SSH SIGNATURE-----\n QUFB\n -----END SSH SIGNATURE-----\n"
	head          = treeLine + parentLine + authorLine + committerLine
	message       = "\nsubject\n\nbody\n"
)

func TestParseCommit(t *testing.T) {
	c, err := ParseCommit([]byte(head + "encoding ISO-8859-1\n" + sigLines + "mergetag object 00\n type commit\n \n x\n" + message))
	if err != nil {
		t.Fatal(err)
	}
	if c.Tree.String() != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" || len(c.Parents) != 1 ||
		c.Parents[0].String() != "279e4b1efb1c313bc82c50827b4e3b1c640e0629" {
		t.Errorf("graph: %v %v", c.Tree, c.Parents)
	}
	if c.Author.Name != "Alice" || c.Author.Email != "alice@example.com" || c.Author.When.Unix() != 1700000000 {
		t.Errorf("author: %+v", c.Author)
	}
	if _, offset := c.Committer.When.Zone(); offset != -1800 {
		t.Errorf("committer's zone: %d", offset)
	}
	want := []Header{{Name: "mergetag", Value: []byte("object 00\ntype commit\n\nx")}}
	if diff := cmp.Diff(want, c.Extra); diff != "" {
		t.Error(diff)
	}
	if string(c.Signature) != armored || c.Encoding != "ISO-8859-1" || c.Subject() != "subject" || string(c.Message) != message[1:] {
		t.Errorf("%q %q %q %q", c.Signature, c.Encoding, c.Subject(), c.Message)
	}
	if got := string(c.Payload); got != head+"encoding ISO-8859-1\nmergetag object 00\n type commit\n \n x\n"+message {
		t.Errorf("payload %q", got)
	}
	unsigned, err := ParseCommit([]byte(treeLine + authorLine + committerLine + message))
	if err != nil || unsigned.Signature != nil || unsigned.Parents != nil {
		t.Errorf("unsigned root: %+v, %v", unsigned, err)
	}
}

// TestCommitForms holds each malformed commit of attack 14 to its rule. Git
// verifies several of these as if they were the signed commit.
func TestCommitForms(t *testing.T) {
	cases := []struct{ name, raw, rule string }{
		{"attack-14/duplicate-tree-before", treeLine + head + sigLines + message, "order"},
		{"attack-14/duplicate-tree-after", head + treeLine + sigLines + message, "order"},
		{"attack-14/duplicate-author", treeLine + authorLine + authorLine + committerLine + message, "order"},
		{"attack-14/duplicate-committer", head + committerLine + message, "order"},
		{"attack-14/parent-after-author", treeLine + authorLine + parentLine + committerLine + message, "order"},
		{"attack-14/parent-at-end", treeLine + authorLine + committerLine + parentLine + message, "order"},
		{"attack-14/junk-gpgsig-sha256", head + "gpgsig-sha256 junk\n" + sigLines + message, "foreign-signature"},
		{"attack-14/foreign-first", head + foreignSig + sigLines + message, "foreign-signature"},
		{"attack-14/foreign-last", head + sigLines + foreignSig + message, "foreign-signature"},
		{"attack-14/unknown-gpgsig", head + sigLines + "gpgsigx y\n" + message, "foreign-signature"},
		{"attack-14/upper-case-gpgsig", head + sigLines + "GPGSIG y\n" + message, "foreign-signature"},
		{"attack-14/second-gpgsig", head + sigLines + sigLines + message, "second-signature"},
		{"attack-14/second-gpgsig-junk", head + sigLines + "gpgsig junk\n" + message, "second-signature"},
		{"attack-14/nul-in-header", head + "x a\x00b\n" + message, "nul"},
		{"attack-14/nul-in-message", head + message + "\x00hidden\n", "nul"},
		{"attack-14/carriage-return", treeLine + strings.Replace(authorLine, "\n", "\r\n", 1) + committerLine + message, "carriage-return"},
		{"attack-14/no-blank-line", head, "no-blank-line"},
		{"attack-14/no-blank-line-cut", treeLine + "author", "no-blank-line"},
		{"attack-14/tab-continuation", head + "gpgsig -----BEGIN SSH SIGNATURE-----\n\tQQ\n" + message, "header"},
		{"attack-14/continuation-first", " x\n" + head + message, "continuation"},
		{"attack-14/continued-tree", "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n x\n" + authorLine + committerLine + message, "tree"},
		{"attack-14/continued-author", treeLine + authorLine + " x\n" + committerLine + message, "author"},
		{"attack-14/header-without-value", head + "x\n" + message, "header"},
		{"attack-14/second-encoding", head + "encoding a\nencoding b\n" + message, "order"},
		{"upper-case-tree", "tree 4B825DC642CB6EB9A060E54BF8D69288FBEE4904\n" + authorLine + committerLine + message, "tree"},
		{"parent-of-other-hash", treeLine + "parent " + strings.Repeat("a", 64) + "\n" + authorLine + committerLine + message, "parent"},
		{"two-emails", treeLine + "author A <a@x> <b@x> 1 +0000\n" + committerLine + message, "author"},
		{"nested-email", treeLine + "author A <a<b@x> 1 +0000\n" + committerLine + message, "author"},
		{"no-time", treeLine + "author A <a@x>\n" + committerLine + message, "author"},
		{"time-with-zeros", treeLine + "author A <a@x> 01 +0000\n" + committerLine + message, "author"},
		{"huge-time", treeLine + "author A <a@x> 99999999999999 +0000\n" + committerLine + message, "author"},
		{"zone", treeLine + "author A <a@x> 1 UTC\n" + committerLine + message, "author"},
		{"no-committer", treeLine + authorLine + message, "order"},
		{"too-many-headers", head + strings.Repeat("x y\n", maxHeaders) + message, "too-many-headers"},
		{"empty", "", "no-blank-line"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { checkRule(t, c.rule, second(ParseCommit([]byte(c.raw)))) })
	}
}

func second[T any](_ T, err error) error { return err }

func checkRule(t *testing.T, rule string, err error) {
	t.Helper()
	var form *FormatError
	if !errors.As(err, &form) || form.Rule != rule {
		t.Errorf("error is %v, want rule %q", err, rule)
	}
}

const (
	tagHead = "object 279e4b1efb1c313bc82c50827b4e3b1c640e0629\ntype commit\ntag lock/v1\ntagger Bob <bob@example.com> 1700000060 +0000\n"
	tagText = "\nLock 1\n\nlockfile-sha256: 00\n"
)

func TestParseTag(t *testing.T) {
	tag, err := ParseTag([]byte(tagHead + tagText + armored))
	if err != nil {
		t.Fatal(err)
	}
	if tag.Target.String() != "279e4b1efb1c313bc82c50827b4e3b1c640e0629" || tag.Kind != KindCommit || tag.Name != "lock/v1" || tag.Tagger.Name != "Bob" {
		t.Errorf("%+v", tag)
	}
	if string(tag.Message) != tagText[1:] || string(tag.Signature) != armored || string(tag.Payload) != tagHead+tagText {
		t.Errorf("%q %q %q", tag.Message, tag.Signature, tag.Payload)
	}
	if tag, err := ParseTag([]byte(tagHead + tagText)); err != nil || tag.Signature != nil {
		t.Errorf("unsigned: %+v, %v", tag, err)
	}
}

func TestTagForms(t *testing.T) {
	pgp := strings.ReplaceAll(armored, "SSH", "PGP")
	cases := []struct{ name, raw, rule string }{
		{"attack-16/text-after-signature", tagHead + tagText + armored + "and more\n", "text-after-signature"},
		{"attack-16/newline-after-signature", tagHead + tagText + armored + "\n", "text-after-signature"},
		{"attack-16/block-inside-message", tagHead + tagText + armored + "words\n" + armored, "second-signature"},
		{"attack-16/two-blocks", tagHead + tagText + armored + armored, "second-signature"},
		{"attack-16/other-kind-of-block", tagHead + tagText + pgp + armored, "second-signature"},
		{"attack-16/unfinished-block", tagHead + tagText + "-----BEGIN SSH SIGNATURE-----\nAAAA\n", "signature"},
		{"attack-16/no-last-newline", tagHead + tagText + strings.TrimSuffix(armored, "\n"), "signature"},
		{"attack-16/carriage-returns", tagHead + tagText + strings.ReplaceAll(armored, "\n", "\r\n"), "signature"},
		{"attack-16/indented-begin", tagHead + tagText + "-----BEGIN SSH SIGNATURE----- \nA\n-----END SSH SIGNATURE-----\n", "signature"},
		{"attack-16/gpgsig-header", tagHead + sigLines + tagText, "order"},
		{"attack-16/second-object", "object 279e4b1efb1c313bc82c50827b4e3b1c640e0629\n" + tagHead + tagText, "order"},
		{"attack-16/nul", tagHead + tagText + "\x00", "nul"},
		{"no-tagger", strings.Join(strings.SplitAfter(tagHead, "\n")[:3], "") + tagText, "order"},
		{"odd-type", strings.Replace(tagHead, "commit", "Commit", 1) + tagText, "type"},
		{"odd-name", strings.Replace(tagHead, "lock/v1", "../v1", 1) + tagText, "tag"},
		{"short-id", strings.Replace(tagHead, "object 27", "object 7", 1) + tagText, "object"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { checkRule(t, c.rule, second(ParseTag([]byte(c.raw)))) })
	}
}

func TestParseTree(t *testing.T) {
	id := string(bytes.Repeat([]byte{0xab}, 20))
	entry := func(mode, name string) string { return mode + " " + name + "\x00" + id }
	good := entry("100644", "a-b") + entry("100644", "a.b") + entry("40000", "a") + entry("100755", "a0") + entry("160000", "s")
	entries, err := ParseTree([]byte(good), 20)
	if err != nil || len(entries) != 5 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if got, ok := findEntry(entries, e.Name); !ok || got != e {
			t.Errorf("findEntry(%q) = %v, %v", e.Name, got, ok)
		}
	}
	if !bytes.Equal(formatTree(entries), []byte(good)) {
		t.Error("formatTree does not give the tree back")
	}
	cases := []struct{ name, raw, rule string }{
		{"cut-short", good[:len(good)-1], "truncated"},
		{"no-nul", "100644 a", "truncated"},
		{"no-mode", "a\x00" + id, "truncated"},
		{"padded-mode", entry("040000", "a"), "mode"},
		{"not-octal", entry("100648", "a"), "mode"},
		{"no-name", entry("100644", ""), "name"},
		{"slash", entry("100644", "a/b"), "name"},
		{"dot-dot", entry("40000", ".."), "name"},
		{"dot-git", entry("40000", ".GIT"), "name"},
		{"order", entry("100644", "b") + entry("100644", "a"), "order"},
		{"folder-order", entry("40000", "a") + entry("100644", "a.b"), "order"},
		{"twice", entry("100644", "a") + entry("100755", "a"), "order"},
		{"file-and-folder", entry("100644", "a") + entry("100644", "a.b") + entry("40000", "a"), "duplicate-name"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { checkRule(t, c.rule, second(ParseTree([]byte(c.raw), 20))) })
	}
}

func TestCompareVersions(t *testing.T) {
	sorted := []string{"lock/v", "lock/v1-rc1", "lock/v1-rc2", "lock/v1-rc10", "lock/v01", "lock/v1", "lock/v1.0", "lock/v1.2-a", "lock/v1.2",
		"lock/v1.2.1", "lock/v1.10", "lock/v2", "lock/v9", "lock/v10", "lock/v18446744073709551617", "lock/va"}
	for i, a := range sorted {
		for j, b := range sorted {
			got, want := CompareVersions(a, b), 0
			if i != j {
				want = map[bool]int{true: -1, false: 1}[i < j]
			}
			if got != want {
				t.Errorf("CompareVersions(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func FuzzParseCommit(f *testing.F) {
	f.Add([]byte(head + sigLines + message))
	f.Add([]byte(treeLine + authorLine + committerLine + "\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ParseCommit(raw)
		if err != nil {
			return
		}
		// What was signed is a commit itself, unsigned and otherwise the same.
		p, err := ParseCommit(c.Payload)
		if err != nil || p.Signature != nil || !bytes.Equal(p.Payload, c.Payload) {
			t.Fatalf("payload %q: %v", c.Payload, err)
		}
		if diff := cmp.Diff(c.Parents, p.Parents, cmp.Comparer(func(a, b Hash) bool { return a == b })); diff != "" || p.Tree != c.Tree || !bytes.Equal(p.Message, c.Message) {
			t.Fatalf("payload differs: %s", diff)
		}
		if (c.Signature == nil) != (len(c.Payload) == len(raw)) {
			t.Fatal("a signature without bytes of its own, or the reverse")
		}
	})
}

func FuzzParseTag(f *testing.F) {
	f.Add([]byte(tagHead + tagText + armored))
	f.Add([]byte(tagHead + tagText))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tag, err := ParseTag(raw)
		if err != nil {
			return
		}
		if !bytes.Equal(append(bytes.Clone(tag.Payload), tag.Signature...), raw) || !bytes.HasSuffix(tag.Payload, tag.Message) {
			t.Fatal("the parts are not the whole")
		}
	})
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x00"+strings.Repeat("x", 20)+"40000 b\x00"+strings.Repeat("y", 20)), false)
	f.Fuzz(func(t *testing.T, raw []byte, wide bool) {
		size := 20
		if wide {
			size = 32
		}
		entries, err := ParseTree(raw, size)
		if err == nil && !bytes.Equal(formatTree(entries), raw) {
			t.Fatal("formatTree does not give the tree back")
		}
	})
}
