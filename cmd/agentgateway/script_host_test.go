package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// hosts says how the buttons of a host make commits.
var hosts = map[string]struct {
	committer string // of merges and squashes; empty for whoever presses the button
	coAuthors bool   // a squash names the authors of the other commits
	sign      func(ts *testscript.TestScript, payload string) string
}{
	"github": {committer: "GitHub <noreply@github.com>", coAuthors: true, sign: pgpSignature},
	"gitlab": {},
	"gitea":  {coAuthors: true, sign: hostSignature},
}

// cmdHostMerge merges a branch into main as a host does when PERSON presses a
// button: merge makes a merge commit, squash one commit by the author of the pull
// request, rebase its commits again with PERSON as committer:
//
//	hostmerge github|gitlab|gitea merge|squash|rebase BRANCH PERSON
func cmdHostMerge(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: hostmerge HOST merge|squash|rebase BRANCH PERSON")
	}
	host, ok := hosts[args[0]]
	if !ok {
		ts.Fatalf("no host %q", args[0])
	}
	branch := args[2]
	presser := identityOf(args[3])
	committer := host.committer
	if committer == "" {
		committer = presser
	}
	commits := strings.Fields(outputOf(ts, "git", "rev-list", "--reverse", "main.."+branch))
	first, tip := commits[0], commits[len(commits)-1]
	author := func(commit string) string { return outputOf(ts, "git", "log", "-1", "--format=%an <%ae>", commit) }
	main := revision(ts, "main")
	c := hostCommit{tree: outputOf(ts, "git", "rev-parse", tip+"^{tree}"), parents: []string{main}, author: author(first), committer: committer, sign: host.sign}
	switch args[1] {
	case "merge":
		c.parents = append(c.parents, tip)
		c.author, c.message = presser, "Merge pull request #1 from "+branch
		main = c.make(ts)
	case "squash":
		c.message = "Better words (#1)\n"
		seen := map[string]bool{c.author: true}
		for _, commit := range commits {
			if who := author(commit); host.coAuthors && !seen[who] {
				seen[who] = true
				c.message += "\nCo-authored-by: " + who
			}
		}
		main = c.make(ts)
	case "rebase":
		for _, commit := range commits {
			again := hostCommit{tree: outputOf(ts, "git", "rev-parse", commit+"^{tree}"), parents: []string{main}, author: author(commit), committer: presser}
			again.message = outputOf(ts, "git", "log", "-1", "--format=%B", commit)
			main = again.make(ts)
		}
	default:
		ts.Fatalf("no button %q", args[1])
	}
	ts.Check(ts.Exec("git", "checkout", "-q", "-f", "-B", "main", main))
}

func identityOf(name string) string {
	return strings.ToUpper(name[:1]) + name[1:] + " <" + name + "@example.com>"
}

func outputOf(ts *testscript.TestScript, program string, args ...string) string {
	ts.Check(ts.Exec(program, args...))
	return strings.TrimSpace(ts.ReadFile("stdout"))
}

// A hostCommit is a commit as a host writes it.
type hostCommit struct {
	tree, author, committer, message string
	parents                          []string
	sign                             func(ts *testscript.TestScript, payload string) string
}

func (c *hostCommit) make(ts *testscript.TestScript) string {
	const when = " 1796040000 +0000"
	var head strings.Builder
	fmt.Fprintf(&head, "tree %s\n", c.tree)
	for _, p := range c.parents {
		fmt.Fprintf(&head, "parent %s\n", p)
	}
	fmt.Fprintf(&head, "author %s\ncommitter %s\n", c.author+when, c.committer+when)
	body := "\n" + strings.TrimSpace(c.message) + "\n"
	signature := ""
	if c.sign != nil {
		armor := strings.TrimSuffix(c.sign(ts, head.String()+body), "\n")
		signature = "gpgsig " + strings.ReplaceAll(armor, "\n", "\n ") + "\n"
	}
	file := filepath.Join(ts.Getenv("HOME"), "host-commit")
	ts.Check(os.WriteFile(file, []byte(head.String()+signature+body), 0o600))
	return outputOf(ts, "git", "hash-object", "-t", "commit", "-w", file)
}

// hostSignature signs with the SSH key of the host, which no trust list has.
func hostSignature(ts *testscript.TestScript, payload string) string {
	key := keyFile(ts, "host")
	if !exists(key) {
		cmdKeygen(ts, false, []string{"host"})
	}
	file := filepath.Join(ts.Getenv("HOME"), "host-payload")
	ts.Check(os.WriteFile(file, []byte(payload), 0o600))
	_ = os.Remove(file + ".sig")
	ts.Check(ts.Exec("ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", key, file))
	return ts.ReadFile(file + ".sig")
}

// pgpSignature stands for one that is not judged.
func pgpSignature(*testscript.TestScript, string) string {
	return "-----BEGIN PGP SIGNATURE-----\n\nwsBcBAABCAAQBQJnAAAACRBK7hj4Ov3rIwAA\n=abcd\n-----END PGP SIGNATURE-----\n"
}
