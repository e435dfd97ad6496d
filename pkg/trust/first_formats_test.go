package trust_test

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// firstRoot is the digest of version 5 as the program of that time printed it.
const firstRoot = "ddd455edbdf7ce3c0505864641d6f7eb7e8b0cfea2df6f7c6bab6f09ecf71048"

// TestFirstFormats holds that files of before members were added to the formats
// are valid, are written as they were, and have the digests they had.
func TestFirstFormats(t *testing.T) {
	tree := os.DirFS("../../testdata/first-formats")
	src, err := fs.ReadFile(tree, "agentgateway.lock")
	if err != nil {
		t.Fatal(err)
	}
	file, err := lockfile.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	file.Reformat()
	if !bytes.Equal(lockfile.Format(file), src) {
		t.Error("the lockfile is written in another way now")
	}
	for _, f := range append(lockfile.Check(file), lockfile.CheckCopies(file, func(name string) ([]byte, error) { return fs.ReadFile(tree, name) })...) {
		t.Errorf("the lockfile: %v", f)
	}
	var versions []trust.File
	var decisions []trust.DecisionFile
	err = fs.WalkDir(tree, ".agentgateway", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		if n, ok := trust.ParseVersionPath(name); ok {
			versions = append(versions, trust.File{Number: n, Data: data})
			if v, err := trust.ParseVersion(data); err != nil || !bytes.Equal(v.Format(), data) {
				t.Errorf("%s is not read, or written in another way: %v", name, err)
			}
		}
		if id, ok := trust.ParseDecisionPath(name); ok {
			decisions = append(decisions, trust.DecisionFile{Path: name, Data: data})
			if d, err := trust.ParseDecision(data); err != nil || !bytes.Equal(d.Format(), data) || d.Statement.ID() != id {
				t.Errorf("%s is not read, or written or named in another way: %v", name, err)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(versions) != 5 || len(decisions) != 6 {
		t.Fatalf("%d versions, %d decisions", len(versions), len(decisions))
	}
	root, err := canonical.ParseDigest(firstRoot)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := trust.LoadChain(versions, &root, nil)
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := trust.NewLedger(decisions, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	state := trust.Evaluate(trust.Input{Chain: chain, Ledger: ledger, Lockfile: file, Path: "agentgateway.lock", Now: time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)})
	for item, want := range map[string]trust.Status{
		"local tool add": trust.Rejected, "local tool echo": trust.Approved, "local instructions ": trust.Approved, "local server ": trust.Approved,
		"local source ":  trust.New, // the threshold critical is 2 since
		"notes tool add": trust.Changed, "notes tool echo": trust.Approved, "notes tool wipe_database": trust.Disabled,
		"notes resourceTemplate mock://notes/{id}": trust.Approved,
	} {
		part := strings.SplitN(item, " ", 3)
		st := state.Item(surface.Key{Server: part[0], Kind: surface.Kind(part[1]), Name: part[2]})
		if st == nil || st.Status != want {
			t.Errorf("%s is %+v, not %s", path.Join(part...), st, want)
		}
	}
}
