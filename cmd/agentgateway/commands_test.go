package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentgateway-lock/cmd/mockupstream/upstream"
	"agentgateway-lock/pkg/lockfile"
)

// world is what one script has beside its files.
type world struct {
	servers map[string]*upstream.Server
	seen    map[string]int // requests by server and method that are forgotten
	kept    map[string]kept
}

type worldKey struct{}

// kept is a file as keep has seen it.
type kept struct {
	data []byte
	time time.Time
}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// scriptCommands are the commands of scripts beside those of testscript.
var scriptCommands = map[string]func(*testscript.TestScript, bool, []string){
	"upstream":  cmdUpstream,
	"exitcode":  cmdExitcode,
	"gitinit":   cmdGitInit,
	"gitcommit": cmdGitCommit,
	"keep":      cmdKeep,
	"kept":      cmdKept,
	"edit":      cmdEdit,
	"json":      cmdJSON,
	"within":    cmdWithin,
	"held":      cmdHeld,
	"started":   cmdStarted,
}

// cmdUpstream drives a mock server that runs in this process:
//
//	upstream start NAME             and sets $NAME_URL, in capitals
//	upstream stop NAME
//	upstream describe NAME TOOL TEXT
//	upstream knob NAME CHANGE[?QUERY] [BODY]
//	upstream big NAME FILE          adds a tool big whose description is the file
//	upstream status NAME METHOD CODE
//	upstream result NAME METHOD JSON
//	upstream await NAME METHOD      until a request of the method has arrived
//	[!] upstream contacted NAME     whether any request has arrived
//	upstream forget NAME            the requests that have arrived
func cmdUpstream(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg && args[0] != "contacted" {
		ts.Fatalf("usage: upstream start|stop|describe|knob|await|contacted NAME …")
	}
	w, name, rest := worldOf(ts), args[1], args[2:]
	if args[0] == "start" {
		s := upstream.New(upstream.Options{Name: name})
		address, err := s.Start(context.Background(), "127.0.0.1:0")
		ts.Check(err)
		ts.Defer(func() { _ = s.Close() })
		w.servers[name] = s
		ts.Setenv(strings.ToUpper(name)+"_URL", address)
		return
	}
	s := w.servers[name]
	if s == nil {
		ts.Fatalf("there is no upstream %s", name)
	}
	switch {
	case args[0] == "stop":
		ts.Check(s.Close())
	case args[0] == "describe" && len(rest) == 2:
		ts.Check(s.Describe(rest[0], rest[1]))
	case args[0] == "knob" && len(rest) == 1:
		ts.Check(applyChange(s, rest[0]))
	case args[0] == "knob" && len(rest) == 2:
		change, query, _ := strings.Cut(rest[0], "?")
		values := map[string][]string{}
		for pair := range strings.SplitSeq(query, "&") {
			key, value, _ := strings.Cut(pair, "=")
			values[key] = []string{value}
		}
		ts.Check(s.Apply(change, values, rest[1]))
	case args[0] == "big" && len(rest) == 1:
		s.SetTool(fmt.Sprintf(`{"name":"big","description":%q,"inputSchema":{}}`, ts.ReadFile(rest[0])))
	case args[0] == "status" && len(rest) == 2:
		code, err := strconv.Atoi(rest[1])
		ts.Check(err)
		s.Status(rest[0], code, nil)
	case args[0] == "result" && len(rest) == 2:
		s.Result(rest[0], rest[1])
	case args[0] == "await" && len(rest) == 1:
		w.await(ts, name, rest[0])
	case args[0] == "contacted":
		if got := w.requests(name, firstMethods...) > 0; got == neg {
			ts.Fatalf("upstream %s contacted: %v", name, got)
		}
	case args[0] == "forget":
		for _, method := range firstMethods {
			w.seen[name+" "+method] = s.Requests(method)
		}
	default:
		ts.Fatalf("upstream %q: unknown", args)
	}
}

// firstMethods are those that come first in either era of the protocol, and what
// follows.
var firstMethods = []string{"server/discover", "initialize", "tools/list"}

// requests counts the requests of a server that are not forgotten.
func (w *world) requests(name string, methods ...string) int {
	n := 0
	for _, method := range methods {
		n += w.servers[name].Requests(method) - w.seen[name+" "+method]
	}
	return n
}

func (w *world) await(ts *testscript.TestScript, name, method string) {
	for end := time.Now().Add(20 * time.Second); w.requests(name, method) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("no %s has arrived", method)
		}
	}
}

// cmdExitcode runs a command and holds it to one exit code:
//
//	exitcode N COMMAND [ARG…]
func cmdExitcode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N COMMAND [ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// cmdGitInit makes a repository of a folder:
//
//	gitinit [DIR]
func cmdGitInit(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("git", slices.Concat([]string{"init", "-q"}, args)...))
}

// cmdGitCommit commits all there is:
//
//	gitcommit DIR MESSAGE
func cmdGitCommit(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: gitcommit DIR MESSAGE")
	}
	ts.Check(ts.Exec("git", "-C", args[0], "add", "-A"))
	ts.Check(ts.Exec("git", "-C", args[0], "commit", "-q", "--allow-empty", "-m", args[1]))
}

// entryOf cuts the entry of one server out of a lockfile.
func entryOf(data []byte, server string) ([]byte, error) {
	name, err := json.Marshal(server)
	if err != nil {
		return nil, err
	}
	_, rest, ok := bytes.Cut(data, []byte("\n    "+string(name)+": {\n"))
	entry, _, end := bytes.Cut(rest, []byte("\n    }"))
	if !ok || !end {
		return nil, fmt.Errorf("there is no entry of %s", server)
	}
	return entry, nil
}

// cmdKeep remembers a file, or the entry of one server in a lockfile:
//
//	keep FILE [SERVER]
func cmdKeep(ts *testscript.TestScript, _ bool, args []string) {
	k, err := readKept(ts, args)
	ts.Check(err)
	worldOf(ts).kept[strings.Join(args, " ")] = k
}

// cmdKept holds that a file is as it was, bytes and time, and an entry the same
// bytes; with ! that the bytes differ:
//
//	[!] kept FILE [SERVER]
func cmdKept(ts *testscript.TestScript, neg bool, args []string) {
	was, ok := worldOf(ts).kept[strings.Join(args, " ")]
	if !ok {
		ts.Fatalf("%q was not kept", args)
	}
	is, err := readKept(ts, args)
	ts.Check(err)
	switch equal := bytes.Equal(was.data, is.data); {
	case equal && neg:
		ts.Fatalf("%q is as it was", args)
	case !equal && !neg:
		ts.Fatalf("%q differs; it is now:\n%s", args, is.data)
	case !neg && len(args) == 1 && !was.time.Equal(is.time):
		ts.Fatalf("%q was written again", args)
	}
}

func readKept(ts *testscript.TestScript, args []string) (kept, error) {
	if len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: keep FILE [SERVER]")
	}
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	if err != nil {
		return kept{}, err
	}
	data, err := os.ReadFile(path)
	if err == nil && len(args) == 2 {
		data, err = entryOf(data, args[1])
	}
	return kept{data, info.ModTime()}, err
}

// cmdEdit replaces a text that stands in a file:
//
//	edit FILE OLD NEW
func cmdEdit(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	unescape := strings.NewReplacer(`\n`, "\n").Replace
	path, old, fresh := ts.MkAbs(args[0]), unescape(args[1]), unescape(args[2])
	data := ts.ReadFile(args[0])
	if !strings.Contains(data, old) {
		ts.Fatalf("%s does not hold %q", args[0], old)
	}
	ts.Check(os.WriteFile(path, []byte(strings.Replace(data, old, fresh, 1)), 0o644))
}

// cmdJSON holds a value in a JSON file, or in stdout, to a text:
//
//	json FILE PATH VALUE
//
// The path's steps are separated by spaces: the name of a member, an index, #
// for a length, or NAME=VALUE for the first element that has such a member.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH VALUE")
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	dec.UseNumber()
	ts.Check(dec.Decode(&v))
	for step := range strings.FieldsSeq(args[1]) {
		next, ok := stepInto(v, step)
		if !ok {
			if neg {
				return
			}
			ts.Fatalf("json %s: there is no %s in %v", args[1], step, v)
		}
		v = next
	}
	if got := fmt.Sprint(v); (got == args[2]) == neg {
		ts.Fatalf("json %s: %q, want %q", args[1], got, args[2])
	}
}

func stepInto(v any, step string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		next, ok := v[step]
		return next, ok
	case []any:
		if step == "#" {
			return len(v), true
		}
		if i, err := strconv.Atoi(step); err == nil {
			if i >= len(v) {
				return nil, false
			}
			return v[i], true
		}
		name, want, _ := strings.Cut(step, "=")
		for _, e := range v {
			if m, ok := e.(map[string]any); ok && fmt.Sprint(m[name]) == want {
				return m, true
			}
		}
	}
	return nil, false
}

// cmdWithin runs a command in a folder whose file system fails, in a mount of
// its own, and holds it to an exit code:
//
//	within read-only|full N DIR COMMAND [ARG…]
//
// The folder of a full disk is a copy on a small file system, filled to the last
// byte; what it holds afterwards is copied to DIR.after.
func cmdWithin(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 4 {
		ts.Fatalf("usage: within read-only|full N DIR COMMAND [ARG…]")
	}
	script, ok := map[string]string{"read-only": readOnlyMount, "full": fullMount}[args[0]]
	if !ok {
		ts.Fatalf("within %s: unknown", args[0])
	}
	dir := ts.MkAbs(args[2])
	ts.Check(os.MkdirAll(filepath.Clean(dir)+".after", 0o755))
	cmdExitcode(ts, false, slices.Concat([]string{args[1], "unshare", unshareFlags(), "sh", "-c", script, "within", dir}, args[3:]))
}

const (
	readOnlyMount = `dir=$1; shift; mount --bind "$dir" "$dir" && mount -o remount,bind,ro "$dir" && cd "$dir" && exec "$@"`
	fullMount     = `dir=$1; shift
cp -a "$dir/." "$dir.after/" && mount -t tmpfs -o size=256k tmpfs "$dir" && cp -a "$dir.after/." "$dir/" && cd "$dir" || exit 99
dd if=/dev/zero of=.git/filler bs=4k 2>/dev/null
"$@"; code=$?
rm -f .git/filler; rm -rf "$dir.after"; mkdir "$dir.after"; cp -a "$dir/." "$dir.after/" || exit 98
exit $code`
)

// cmdHeld runs another command of scripts while this process holds the lock of a
// write in the current folder:
//
//	held exitcode N COMMAND [ARG…]
func cmdHeld(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || args[0] != "exitcode" {
		ts.Fatalf("usage: held exitcode N COMMAND [ARG…]")
	}
	dir, err := lockfile.OpenDir(ts.MkAbs("."))
	ts.Check(err)
	defer dir.Close()
	unlock, err := dir.Lock(".agentgateway/write.lock")
	ts.Check(err)
	defer unlock()
	cmdExitcode(ts, neg, args[1:])
}

// startedFolder is where servers of scripts leave their marks, in the home: a command
// whose words name no path of the repository is not started in it.
const startedFolder = "started"

// cmdStarted holds that servers have left their marks, or with ! that none has, and
// takes the marks away:
//
//	[!] started MARK…
func cmdStarted(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		path := filepath.Join(ts.Getenv("HOME"), startedFolder, name)
		err := os.Remove(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			ts.Check(err)
		}
		if there := err == nil; there == neg {
			ts.Fatalf("%s was started: %v", name, there)
		}
	}
}
