package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/serve"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// An oddTree is a change of a good tree. Every command that reads a tree accepts it
// or refuses it, and all of them alike.
type oddTree struct {
	name   string
	change func(t *oddWorld)
	// but are the commands that do the opposite, and why is in the name.
	but []string
}

// An oddWorld is the work tree that a change is made in.
type oddWorld struct {
	ts       *testscript.TestScript
	decision string // the path of one
}

func (w *oddWorld) path(name string) string { return w.ts.MkAbs(name) }

func (w *oddWorld) write(name, text string) {
	w.ts.Check(os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	w.ts.Check(os.WriteFile(w.path(name), []byte(text), 0o644))
}

func (w *oddWorld) read(name string) string { return w.ts.ReadFile(name) }

// link moves what is at name elsewhere, and leaves a link to it.
func (w *oddWorld) link(name string) {
	w.ts.Check(os.Rename(w.path(name), w.path("elsewhere")))
	up := strings.Repeat("../", strings.Count(name, "/"))
	w.ts.Check(os.Symlink(up+"elsewhere", w.path(name)))
}

func (w *oddWorld) remove(name string) { w.ts.Check(os.RemoveAll(w.path(name))) }

const secondVersion = ".agentgateway/trust/2.json"

// oddTrees are refused by everybody. Those of the copies are about what people read:
// who only enforces or verifies digests does not read copies.
var oddTrees = []oddTree{
	{name: "a stray file in the trust folder", change: func(w *oddWorld) { w.write(".agentgateway/trust/README", "hello") }},
	{name: "a stray file in the decisions folder", change: func(w *oddWorld) { w.write(".agentgateway/decisions/README", "hello") }},
	{name: "a stray file among decisions", change: func(w *oddWorld) { w.write(filepath.Dir(w.decision)+"/README", "hello") }},
	{name: "a lockfile that names a version which is not there", change: func(w *oddWorld) {
		file := readLock(w.ts)
		file.Trust = canonical.SumString("another list")
		writeLock(w.ts, file)
	}},
	{name: "a linked trust version", change: func(w *oddWorld) { w.link(secondVersion) }},
	{name: "a linked trust folder", change: func(w *oddWorld) { w.link(".agentgateway/trust") }},
	{name: "a linked decision", change: func(w *oddWorld) { w.link(w.decision) }},
	{name: "a linked decisions folder", change: func(w *oddWorld) { w.link(".agentgateway/decisions") }},
	{name: "a linked lockfile", change: func(w *oddWorld) { w.link("agentgateway.lock") }},
	{name: "a linked folder of all", change: func(w *oddWorld) { w.link(".agentgateway") }},
	{name: "a huge trust version", change: func(w *oddWorld) {
		w.write(".agentgateway/trust/3.json", strings.Repeat(" ", trust.MaxVersionSize+1))
	}},
	{name: "a huge decision", change: func(w *oddWorld) {
		w.write(w.decision, w.read(w.decision)+strings.Repeat(" ", trust.MaxDecisionSize))
	}},
	{name: "a case twin of a trust version", change: func(w *oddWorld) { w.write(".agentgateway/trust/2.JSON", w.read(secondVersion)) }},
	{name: "a case twin of the trust folder", change: func(w *oddWorld) { w.write(".agentgateway/Trust/2.json", w.read(secondVersion)) }},
	{name: "a trust version under a second number", change: func(w *oddWorld) { w.write(".agentgateway/trust/4.json", w.read(secondVersion)) }},
	{name: "a decision under another id", change: func(w *oddWorld) {
		w.write(trust.DecisionPath(canonical.SumString("another")), w.read(w.decision))
	}},
	// A pause only takes away, and needs no decision but its own.
	{name: "a missing decision", change: func(w *oddWorld) { w.remove(w.decision) }, but: []string{"pause"}},
	{name: "a missing trust list", change: func(w *oddWorld) { w.remove(".agentgateway/trust") }},
	{name: "a missing trust version", change: func(w *oddWorld) { w.remove(secondVersion) }},
	{name: "a missing lockfile", change: func(w *oddWorld) { w.remove("agentgateway.lock") }},
	{name: "a linked copy", change: func(w *oddWorld) { w.link(w.copy()) }, but: enforcing},
	{name: "a copy of other words", change: func(w *oddWorld) { w.write(w.copy(), strings.Replace(w.read(w.copy()), "{", `{"x": 1, `, 1)) }, but: enforcing},
	{name: "a missing copy", change: func(w *oddWorld) { w.remove(w.copy()) }, but: enforcing},
}

// enforcing are the commands that enforce or verify what was signed: by digests.
var enforcing = []string{"verify", "verify --tag", "serve", "audit verify"}

// copy is the readable copy of the first tool.
func (w *oddWorld) copy() string {
	copies := lockfile.NewLayout(readLock(w.ts)).Copies
	return copies[slices.IndexFunc(copies, func(c lockfile.Copy) bool { return c.Kind == surface.KindTool })].Path
}

// treeCommands read a tree, and accept or refuse it. A clean tree comes before each.
var treeCommands = []struct {
	name string
	run  func(ts *testscript.TestScript) bool // accepts
}{
	{"ci", accepts("ci", "--offline", "--base", "main")},
	{"review", accepts("review")},
	{"approve", func(ts *testscript.TestScript) bool {
		// There is nothing to approve in a good tree, which is found last of all.
		_ = ts.Exec("agentgateway", "approve", "--review", ts.Getenv("REVIEW"), "--trust-root", ts.Getenv("ROOT"))
		return strings.Contains(ts.ReadFile("stderr"), "nothing waits for a decision")
	}},
	{"pause", accepts("pause", "notes", "--no-commit")},
	{"seal", accepts("seal", "--ssh-key", "$HOME/mallory")},
	{"seal --tag", accepts("seal", "--ssh-key", "$HOME/mallory", "--tag", "made")},
	{"verify", accepts("verify", "--signature", "$WORK/lock.sig")},
	{"verify --tag", accepts("verify", "--tag", "odd")},
	{"bundle", accepts("bundle", "-")},
	{"audit verify", accepts("audit", "verify")},
	{"serve", servesTree},
}

func accepts(args ...string) func(*testscript.TestScript) bool {
	return func(ts *testscript.TestScript) bool {
		words := []string{}
		for _, arg := range args {
			words = append(words, strings.NewReplacer("$HOME", ts.Getenv("HOME"), "$WORK", ts.Getenv("WORK")).Replace(arg))
		}
		err := ts.Exec("agentgateway", append(words, "--trust-root", ts.Getenv("ROOT"))...)
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			ts.Check(err)
		}
		return err == nil
	}
}

// servesTree loads the tag as the processor does.
func servesTree(ts *testscript.TestScript) bool {
	root, err := canonical.ParseDigest(ts.Getenv("ROOT"))
	ts.Check(err)
	loader, err := serve.NewLoader(serve.Origin{Repo: ts.MkAbs("."), Ref: "odd", TrustRoot: &root}, time.Now)
	ts.Check(err)
	defer loader.Close()
	_, err = loader.Load(context.Background(), func(context.Context, *serve.Loaded) error { return nil })
	return err == nil
}

// cmdOddTrees gives the same odd trees to every command, and holds that all refuse
// them, but those of a row, and that all accept the tree before it was made odd:
//
//	oddtrees
func cmdOddTrees(ts *testscript.TestScript, _ bool, _ []string) {
	trees := append([]oddTree{{name: "a good tree"}}, oddTrees...)
	for i, tree := range trees {
		ts.Check(ts.Exec("git", "checkout", "-q", "-f", "-B", "evil", "main"))
		w := &oddWorld{ts: ts, decision: aDecision(ts)}
		sealTree := ts.ReadFile("agentgateway.lock")
		if tree.change != nil {
			tree.change(w)
			if data, err := os.ReadFile(ts.MkAbs("agentgateway.lock")); err == nil {
				sealTree = string(data)
			}
			ts.Check(ts.Exec("git", "add", "-A"))
			ts.Check(ts.Exec("git", "commit", "-q", "-m", "Odd"))
		}
		sealBehind(ts, sealTree)
		for _, c := range treeCommands {
			want := (i == 0) != slices.Contains(tree.but, c.name)
			if got := c.run(ts); got != want {
				ts.Fatalf("%s: %s accepts it: %v, want %v\n%s", tree.name, c.name, got, want, ts.ReadFile("stderr"))
			}
			ts.Check(ts.Exec("git", "reset", "-q", "--hard"))
			ts.Check(ts.Exec("git", "clean", "-qfdx"))
		}
		for _, tag := range []string{"odd", "made"} {
			_ = ts.Exec("git", "tag", "-d", tag)
		}
	}
}

// aDecision is the path of one decision of the tree.
func aDecision(ts *testscript.TestScript) string {
	found, err := filepath.Glob(ts.MkAbs(".agentgateway/decisions/*/*.json"))
	ts.Check(err)
	name, err := filepath.Rel(ts.MkAbs("."), found[0])
	ts.Check(err)
	return filepath.ToSlash(name)
}

// sealBehind makes the seals of a lockfile by other programs than ours, which look at
// nothing else: a signature in $WORK/lock.sig, and the tag odd of HEAD.
func sealBehind(ts *testscript.TestScript, lock string) {
	copied := filepath.Join(ts.Getenv("WORK"), "lock")
	ts.Check(os.WriteFile(copied, []byte(lock), 0o600))
	_ = os.Remove(copied + seal.SignatureSuffix)
	key := filepath.Join(ts.Getenv("HOME"), "mallory")
	ts.Check(ts.Exec("ssh-keygen", "-q", "-Y", "sign", "-n", "agentgateway-lock@v1", "-f", key, copied))
	message := fmt.Sprintf("Seal\n\nlockfile-sha256: %s\ntrust: %s\n", canonical.SumString(lock), ts.Getenv("ROOT"))
	ts.Check(ts.Exec("git", "-c", "gpg.format=ssh", "-c", "user.signingkey="+key, "tag", "-s", "-m", message, "odd"))
}
