package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// A command of scripts, as testscript wants it.
type scriptCommand = func(ts *testscript.TestScript, neg bool, args []string)

// withSignCommands adds the commands of scripts about keys and decisions.
func withSignCommands(commands map[string]scriptCommand) map[string]scriptCommand {
	all := maps.Clone(commands)
	maps.Copy(all, map[string]scriptCommand{
		"keygen":    cmdKeygen,
		"as":        cmdAs,
		"lastline":  cmdLastline,
		"saved":     cmdSaved,
		"approve":   cmdApprove,
		"team":      cmdTeam,
		"pr":        cmdPR,
		"verdict":   cmdVerdict,
		"forge":     cmdForge,
		"tamper":    cmdTamper,
		"refused":   cmdRefused,
		"follow":    cmdFollow,
		"path":      cmdPath,
		"agent":     cmdAgent,
		"onpath":    cmdOnPath,
		"terminal":  cmdTerminal,
		"event":     cmdEvent,
		"hostmerge": cmdHostMerge,
		"oddtrees":  cmdOddTrees,
		"printed":   cmdPrinted,
	})
	return all
}

// keyFile is where keygen puts the private key of a person.
func keyFile(ts *testscript.TestScript, name string) string {
	return filepath.Join(ts.Getenv("HOME"), name)
}

// cmdKeygen makes a key for each person, $HOME/NAME and $HOME/NAME.pub:
//
//	keygen NAME…
func cmdKeygen(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		ts.Check(ts.Exec("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", keyFile(ts, name)))
	}
}

// cmdAs makes NAME the person at the keyboard: git's identity, its signing key,
// and what this person's machine remembers. PERSON is who that is in a trust list:
//
//	as NAME
func cmdAs(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: as NAME")
	}
	name := args[0]
	config := keyFile(ts, name) + ".gitconfig"
	text := strings.NewReplacer("name = Script", "name = "+strings.ToUpper(name[:1])+name[1:],
		"email = script@", "email = "+name+"@").Replace(gitSettings) +
		fmt.Sprintf("[gpg]\n\tformat = ssh\n[user]\n\tsigningkey = %q\n", keyFile(ts, name)+".pub")
	ts.Check(os.WriteFile(config, []byte(text), 0o600))
	ts.Setenv("GIT_CONFIG_GLOBAL", config)
	ts.Setenv("XDG_STATE_HOME", filepath.Join(ts.Getenv("HOME"), "state-"+name))
	person, ok := map[string]string{"alice": "Alice", "bob": "Bob"}[name]
	if !ok {
		person = name + "@example.com"
	}
	ts.Setenv("PERSON", person)
}

// cmdOnPath links a program of the PATH into a folder:
//
//	onpath PROGRAM DIR
func cmdOnPath(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: onpath PROGRAM DIR")
	}
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if file := filepath.Join(dir, args[0]); exists(file) {
			ts.Check(os.Symlink(file, filepath.Join(ts.MkAbs(args[1]), args[0])))
			return
		}
	}
	ts.Fatalf("%s is not on the PATH", args[0])
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// cmdAgent runs an ssh-agent with the keys of persons, or one that refuses to sign
// with them, and sets SSH_AUTH_SOCK:
//
//	agent [refuse] NAME…
func cmdAgent(ts *testscript.TestScript, _ bool, args []string) {
	refuse := len(args) > 0 && args[0] == "refuse"
	if refuse {
		args = args[1:]
	}
	held := agent.NewKeyring()
	for _, name := range args {
		key, err := ssh.ParseRawPrivateKey([]byte(ts.ReadFile(keyFile(ts, name))))
		ts.Check(err)
		ts.Check(held.Add(agent.AddedKey{PrivateKey: key}))
	}
	if refuse {
		held = refusing{held}
	}
	dir, err := os.MkdirTemp("", "agent-") // the path of a socket must be short
	ts.Check(err)
	ts.Defer(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "socket")
	listener, err := net.Listen("unix", socket)
	ts.Check(err)
	ts.Defer(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = agent.ServeAgent(held, conn)
				_ = conn.Close()
			}()
		}
	}()
	ts.Setenv("SSH_AUTH_SOCK", socket)
}

// refusing is an agent whose owner says no each time.
type refusing struct{ agent.Agent }

func (refusing) Sign(ssh.PublicKey, []byte) (*ssh.Signature, error) {
	return nil, errors.New("no")
}

// cmdTerminal runs a command on a terminal of its own, types a text there, and holds
// it to an exit code; what the terminal shows is stdout:
//
//	terminal N TEXT COMMAND [ARG…]
func cmdTerminal(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: terminal N TEXT COMMAND [ARG…]")
	}
	typed := strings.ReplaceAll(args[1], `\n`, "\n")
	cmdExitcode(ts, false, []string{args[0], "sh", "-c", `printf '%s' "$1" | script -qefc "$2" /dev/null`,
		"terminal", typed, strings.Join(args[2:], " ")})
}

// cmdLastline holds that the last line of stdout alone begins with a word, and
// puts what follows it into a variable:
//
//	lastline WORD VARIABLE
func cmdLastline(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: lastline WORD VARIABLE")
	}
	text := strings.TrimSuffix(ts.ReadFile("stdout"), "\n")
	value, ok := "", false
	for line := range strings.SplitSeq(text, "\n") {
		if ok {
			ts.Fatalf("a line before the last one begins with %s:\n%s", args[0], text)
		}
		value, ok = strings.CutPrefix(line, args[0]+" ")
	}
	if !ok {
		ts.Fatalf("the last line does not begin with %s:\n%s", args[0], text)
	}
	ts.Setenv(args[1], value)
}

// cmdSaved puts the rest of the first line of stdout that begins with a text into
// a variable:
//
//	saved TEXT VARIABLE
func cmdSaved(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), args[0]); ok {
			ts.Setenv(args[1], strings.TrimSpace(value))
			return
		}
	}
	ts.Fatalf("no line of stdout begins with %q", args[0])
}

// cmdPath puts the path of a decision's file into a variable; the id is in another,
// or, where that is not set, the one decision there is:
//
//	path ID-VARIABLE VARIABLE
func cmdPath(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: path ID-VARIABLE VARIABLE")
	}
	id := ts.Getenv(args[0])
	if id == "" {
		id = "*"
	}
	found, err := filepath.Glob(ts.MkAbs(".agentgateway/decisions/*/" + id + ".json"))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("there are %d decisions %s", len(found), id)
	}
	name, err := filepath.Rel(ts.MkAbs("."), found[0])
	ts.Check(err)
	ts.Setenv(args[1], filepath.ToSlash(name))
}

// cmdFollow runs a command that the last one printed, in a line of its own or in
// backquotes, and holds it to an exit code:
//
//	follow N BEGINNING
func cmdFollow(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: follow N BEGINNING")
	}
	said := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	_, rest, ok := strings.Cut(said, args[1])
	if !ok {
		ts.Fatalf("the last command does not print %q:\n%s", args[1], said)
	}
	if end := strings.IndexAny(rest, "`\n"); end >= 0 {
		rest = rest[:end]
	}
	cmdExitcode(ts, false, slices.Concat([]string{args[0]}, strings.Fields(args[1]+rest)))
}

// cmdApprove reviews and approves all that the review shows, as a person does:
//
//	approve [ARG…]
func cmdApprove(ts *testscript.TestScript, _ bool, args []string) {
	cmdExitcode(ts, false, []string{"1", "agentgateway", "review"})
	cmdLastline(ts, false, []string{"review", "REVIEW"})
	cmdExitcode(ts, false, slices.Concat([]string{"0", "agentgateway", "approve", "--review", ts.Getenv("REVIEW")}, args))
}

// cmdRefused runs a command that must fail, say why, and leave no trace: neither
// HEAD nor a file under .agentgateway nor the lockfile changes.
//
//	refused N TEXT COMMAND [ARG…]
func cmdRefused(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: refused N TEXT COMMAND [ARG…]")
	}
	trace := func() string {
		files, err := readTree(ts.MkAbs("."), func(name string) bool {
			return name == "agentgateway.lock" || strings.HasPrefix(name, ".agentgateway") || strings.HasPrefix(name, ".git/refs") || name == ".git/index"
		})
		ts.Check(err)
		return fmt.Sprint(files)
	}
	before := trace()
	cmdExitcode(ts, false, slices.Concat([]string{args[0]}, args[2:]))
	if said := ts.ReadFile("stderr"); !strings.Contains(said, args[1]) {
		ts.Fatalf("stderr does not hold %q:\n%s", args[1], said)
	}
	if trace() != before {
		ts.Fatalf("%q left a trace", args[2:])
	}
}
