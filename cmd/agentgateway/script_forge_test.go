package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// A forgery is a repository in the hands of somebody who follows no rule.
type forgery struct {
	ts     *testscript.TestScript
	file   *lockfile.File
	chain  *trust.Chain
	ledger *trust.Ledger
	state  *trust.State
}

func newForgery(ts *testscript.TestScript) *forgery {
	f := &forgery{ts: ts, file: readLock(ts)}
	var versions []trust.File
	for n := 1; ; n++ {
		data, err := os.ReadFile(ts.MkAbs(trust.VersionPath(n)))
		if err != nil {
			break
		}
		versions = append(versions, trust.File{Number: n, Data: data})
	}
	var decisions []trust.DecisionFile
	paths, err := filepath.Glob(ts.MkAbs(".agentgateway/decisions/*/*.json"))
	ts.Check(err)
	for _, path := range paths {
		name, err := filepath.Rel(ts.MkAbs("."), path)
		ts.Check(err)
		decisions = append(decisions, trust.DecisionFile{Path: filepath.ToSlash(name), Data: []byte(ts.ReadFile(path))})
	}
	f.chain, err = trust.LoadChain(versions, nil, nil)
	ts.Check(err)
	f.ledger, err = trust.NewLedger(decisions, nil, nil)
	ts.Check(err)
	f.state = trust.Evaluate(trust.Input{Chain: f.chain, Ledger: f.ledger, Lockfile: f.file, Path: "agentgateway.lock", Now: time.Now()})
	return f
}

func readLock(ts *testscript.TestScript) *lockfile.File {
	file, err := lockfile.Parse([]byte(ts.ReadFile("agentgateway.lock")))
	ts.Check(err)
	return file
}

func writeLock(ts *testscript.TestScript, file *lockfile.File) {
	writeScriptFile(ts, "agentgateway.lock", lockfile.Format(file))
}

func writeScriptFile(ts *testscript.TestScript, name string, data []byte) {
	path := ts.MkAbs(name)
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, data, 0o644))
}

// loadKey loads the key of a person.
func loadKey(ts *testscript.TestScript, name string) sshsig.Signer {
	signer, err := sshsig.LoadKeyFile(context.Background(), sshsig.OpenFile, keyFile(ts, name), nil)
	ts.Check(err)
	return signer
}

// signAll signs a message with the keys of persons, sorted by key as files are.
func signAll(ts *testscript.TestScript, keys string, ns sshsig.Namespace, message []byte) [][]byte {
	var blobs [][]byte
	for name := range strings.SplitSeq(keys, ",") {
		s, err := sshsig.Sign(context.Background(), loadKey(ts, name), ns, message)
		ts.Check(err)
		blobs = append(blobs, s.Blob())
	}
	slices.SortFunc(blobs, bytes.Compare)
	return blobs
}

// cmdForge writes what the tool would refuse to sign:
//
//	forge decide KEY[,KEY…] ACTION all|SERVER/KIND[/NAME] [MEMBER=VALUE…]
//	forge trust KEY[,KEY…] [CHANGE…]
//
// decide makes a decision file and names it in the lockfile, and prints its id;
// members are those of a statement, of its items, namespace and record=no. at is a
// time from now, as in -48h; without proposers the person at the keyboard is the
// one. trust makes the next version, signed by whoever; changes are add=NAME for a person with all roles, remove=PRINCIPAL and settings as
// trust set takes them; first=yes makes a version 1, number=N a version N.
func cmdForge(ts *testscript.TestScript, _ bool, args []string) {
	switch {
	case len(args) > 3 && args[0] == "decide":
		newForgery(ts).decide(args[1], trust.Action(args[2]), args[3], settings(ts, args[4:]))
	case len(args) > 1 && args[0] == "trust":
		forgeTrust(ts, args[1], args[2:])
	default:
		ts.Fatalf("usage: forge decide KEYS ACTION ITEM [MEMBER=VALUE…] | forge trust KEYS [CHANGE…]")
	}
}

func settings(ts *testscript.TestScript, args []string) map[string]string {
	values := map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			ts.Fatalf("%q is not MEMBER=VALUE", arg)
		}
		values[name] = value
	}
	return values
}

// parseKey reads SERVER/KIND or SERVER/KIND/NAME.
func parseKey(word string) surface.Key {
	part := strings.SplitN(word, "/", 3)
	part = append(part, "", "")
	return surface.Key{Server: part[0], Kind: surface.Kind(part[1]), Name: part[2]}
}

func (f *forgery) decide(keys string, action trust.Action, items string, with map[string]string) {
	ts := f.ts
	st := &trust.Statement{
		Repository: f.chain.Repository(), Lockfile: "agentgateway.lock", Trust: f.chain.Digest(), Action: action,
		At: time.Now().Unix(), By: strings.Split(keys, ",")[0] + "@example.com",
	}
	for _, it := range f.state.Items {
		if items == "all" && it.Kind != surface.KindServer || it.Key == parseKey(items) {
			st.Items = append(st.Items, f.item(it, with))
		}
	}
	if len(st.Items) == 0 {
		ts.Fatalf("the lockfile holds no %s", items)
	}
	digests := map[string]*canonical.Digest{"repository": &st.Repository, "trust": &st.Trust}
	texts := map[string]*string{"lockfile": &st.Lockfile, "by": &st.By, "reason": &st.Reason}
	ns := sshsig.NamespaceDecision
	for name, value := range with {
		switch {
		case digests[name] != nil:
			*digests[name] = mustDigest(ts, value)
		case texts[name] != nil:
			*texts[name] = value
		case name == "at":
			d, err := time.ParseDuration(value)
			ts.Check(err)
			st.At = time.Now().Add(d).Unix()
		case name == "namespace":
			ns = sshsig.Namespace(value)
		}
	}
	d := &trust.Decision{Statement: *st, Signatures: signAll(ts, keys, ns, st.Canonical())}
	writeScriptFile(ts, trust.DecisionPath(st.ID()), d.Format())
	fmt.Fprintf(ts.Stdout(), "decision %s\n", st.ID())
	if with["record"] != "no" {
		ts.Check(trust.Record(f.file, st))
		writeLock(ts, f.file)
	}
}

// item is what a statement says of an item, after what the lockfile names.
func (f *forgery) item(it *trust.ItemState, with map[string]string) trust.Item {
	out := trust.Item{Key: it.Key, Digest: it.Digest, GatewayDigest: it.GatewayDigest, Serial: 1, Grade: finding.Critical,
		Previous: []canonical.Digest{}, Proposers: []string{f.ts.Getenv("PERSON")}}
	if d := f.ledger.Decision(it.Decision); d != nil {
		out.Previous = append(out.Previous, it.Decision)
		for _, before := range d.Statement.Items {
			if before.Key == it.Key {
				out.Serial = before.Serial + 1
			}
		}
	}
	for name, value := range with {
		var err error
		switch name {
		case "digest":
			out.Digest = mustDigest(f.ts, value)
		case "gatewayDigest":
			out.GatewayDigest = mustDigest(f.ts, value)
		case "serial":
			out.Serial, err = strconv.ParseInt(value, 10, 64)
		case "grade":
			out.Grade, err = finding.ParseGrade(value)
		case "previous":
			out.Previous = []canonical.Digest{}
			if value != "none" {
				out.Previous = append(out.Previous, mustDigest(f.ts, value))
			}
		case "proposers":
			out.Proposers = strings.Split(value, ",")
		}
		f.ts.Check(err)
	}
	return out
}

func mustDigest(ts *testscript.TestScript, text string) canonical.Digest {
	d, err := canonical.ParseDigest(text)
	ts.Check(err)
	return d
}

func forgeTrust(ts *testscript.TestScript, keys string, changes []string) {
	with := settings(ts, changes)
	number := 0
	if text := with["number"]; text != "" {
		n, err := strconv.Atoi(text)
		ts.Check(err)
		number = n
	}
	var signed trust.Signed
	if with["first"] != "" {
		name := strings.Split(keys, ",")[0]
		v, err := trust.Init(canonical.SumString(name), trust.Signer{
			Principal: name + "@example.com", Person: name, Keys: []string{sshsig.FormatPublicKey(loadKey(ts, name).PublicKey())},
		})
		ts.Check(err)
		signed = v.Signed
	} else {
		v, err := newForgery(ts).chain.Next(trustChanges(ts, changes)...)
		ts.Check(err)
		signed = v.Signed
	}
	if number > 0 {
		signed.Version = number
	}
	v := &trust.Version{Signed: signed, Signatures: signAll(ts, keys, sshsig.NamespaceTrust, signed.Canonical())}
	writeScriptFile(ts, trust.VersionPath(signed.Version), v.Format())
	fmt.Fprintf(ts.Stdout(), "trust-root %s\n", signed.Digest())
}

func trustChanges(ts *testscript.TestScript, words []string) []trust.Change {
	var changes []trust.Change
	for _, word := range words {
		switch name, value, _ := strings.Cut(word, "="); name {
		case "first", "number":
		case "add":
			changes = append(changes, trust.Add(trust.Signer{
				Principal: value + "@example.com", Person: value, Roles: []trust.Role{trust.Admin, trust.Approver, trust.Deployer},
				Keys: []string{sshsig.FormatPublicKey(loadKey(ts, value).PublicKey())},
			}))
		case "remove":
			changes = append(changes, trust.Remove(value))
		default:
			changes = append(changes, trust.Set(name, value))
		}
	}
	return changes
}

// cmdTamper changes what the lockfile says, in the form the tool writes:
//
//	tamper SERVER/KIND[/NAME] decision=ID|none digest=D gatewayDigest=D drop=yes absent=yes
//	tamper SERVER target=NAME covers=KIND,… rename=NAME drop=yes
//	tamper FILE byte                          flips a bit in the middle of a file
func cmdTamper(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: tamper ITEM|SERVER|FILE …")
	}
	if args[1] == "byte" {
		data := bytes.Clone([]byte(ts.ReadFile(args[0])))
		data[len(data)/2] ^= 1
		writeScriptFile(ts, args[0], data)
		return
	}
	file, key, with := readLock(ts), parseKey(args[0]), settings(ts, args[1:])
	server := file.Server(key.Server)
	if server == nil {
		ts.Fatalf("the lockfile holds no server %s", key.Server)
	}
	server = server.Clone()
	file.Put(server)
	if key.Kind == "" {
		tamperServer(file, server, with)
	} else {
		tamperItem(ts, server, key, with)
	}
	server.Rehash()
	writeLock(ts, file)
}

func tamperServer(file *lockfile.File, server *lockfile.Server, with map[string]string) {
	if target, ok := with["target"]; ok {
		server.Target = target
	}
	if covers, ok := with["covers"]; ok {
		server.Covers = strings.Split(covers, ",")
	}
	if with["drop"] != "" || with["rename"] != "" {
		file.Remove(server.Name)
	}
	if name := with["rename"]; name != "" {
		server.Name = name
		file.Put(server)
	}
}

func tamperItem(ts *testscript.TestScript, server *lockfile.Server, key surface.Key, with map[string]string) {
	decision, item := &server.SourceDecision, server.Item(key.Kind, key.Name)
	switch {
	case key.Kind == surface.KindInstructions:
		decision = &server.Instructions.Decision
	case item != nil:
		decision = &item.Decision
	case key.Kind != surface.KindSource:
		ts.Fatalf("the lockfile holds no %v", key)
	}
	for name, value := range with {
		switch name {
		case "decision":
			*decision = canonical.Digest{}
			if value != "none" {
				*decision = mustDigest(ts, value)
			}
		case "digest":
			item.Digest = mustDigest(ts, value)
		case "gatewayDigest":
			item.GatewayDigest = mustDigest(ts, value)
		case "absent":
			item.Absent = true
		case "drop":
			server.Lists[key.Kind] = slices.DeleteFunc(server.Lists[key.Kind], func(it lockfile.Item) bool { return it.Name == key.Name })
		}
	}
}
