package serve_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentgateway-lock/pkg/source"

	"github.com/google/go-cmp/cmp"

	repository "agentgateway-lock/e2e/approved"
	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/serve"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// filesSurface is what the server files showed when it was locked.
func filesSurface(tools ...string) surface.Surface {
	raws := make([][]byte, len(tools))
	for i, text := range tools {
		raws[i] = []byte(text)
	}
	list, refused := surface.NewList(surface.KindTool, raws)
	return surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: list}, Refused: refused, Instructions: surface.NewInstructions("Be kind.")}
}

func filesSource() *source.Source {
	return &source.Source{Transport: source.HTTP, URL: "https://files.example.com/mcp"}
}

// newRepository is a repository in which echo and add of the server files are
// approved, sealed as lock/v1.
func newRepository(t testing.TB, unsigned bool) *repository.Repository {
	t.Helper()
	r, err := repository.New(t.Context(), t.TempDir(), unsigned)
	if err == nil {
		err = r.Put(t.Context(), "files", filesSource(), filesSurface(echo, add))
	}
	if err == nil && !unsigned {
		err = r.Decide(t.Context(), trust.Approve)
	}
	if err != nil {
		t.Fatal(err)
	}
	if unsigned {
		if _, err := r.Commit(t.Context(), "Lock"); err != nil {
			t.Fatal(err)
		}
		return r
	}
	tag(t, r, "lock/v1")
	return r
}

func tag(t testing.TB, r *repository.Repository, name string) {
	t.Helper()
	if err := r.Tag(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}

func git(t testing.TB, r *repository.Repository, args ...string) string {
	t.Helper()
	out, err := r.Git(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func load(t testing.TB, src serve.Origin) (*serve.Loaded, error) {
	t.Helper()
	l, err := serve.NewLoader(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Load(t.Context(), accepted)
}

// accepted refuses nothing.
func accepted(context.Context, *serve.Loaded) error { return nil }

func ruleOf(err error) string {
	if err == nil {
		return ""
	}
	if le, ok := errors.AsType[*serve.LoadError](err); ok {
		return le.Rule
	}
	return "not a LoadError: " + err.Error()
}

func toolKey(name string) surface.Key {
	return surface.Key{Server: "files", Kind: surface.KindTool, Name: name}
}

func TestLoadMakesAnInput(t *testing.T) {
	r := newRepository(t, false)
	got, err := load(t, serve.Origin{Repo: r.Dir, Ref: "lock/v*", TrustRoot: r.Root()})
	if err != nil {
		t.Fatal(err)
	}
	want := []processor.Server{{
		Name: "files", Target: "files", SourceApproved: true, Covers: surface.AllCovers(),
		Instructions: &processor.Instructions{Hash: canonical.SumString("Be kind."), Text: "Be kind.", State: processor.StateApproved},
		Items: []processor.Item{
			{Kind: surface.KindTool, Name: "add", State: processor.StateApproved, InForce: canonical.SumString(add), Locked: canonical.SumString(add)},
			{Kind: surface.KindTool, Name: "echo", State: processor.StateApproved, InForce: canonical.SumString(echo), Locked: canonical.SumString(echo)},
		},
	}}
	if diff := cmp.Diff(want, got.Input(processor.Options{}).Servers); diff != "" {
		t.Error(diff)
	}
	if got.Tag != "lock/v1" || got.Origin != "the tag lock/v1" || got.Sealed != "tag by alice@example.com" || got.Commit != git(t, r, "rev-parse", "HEAD") || got.Unsigned() {
		t.Errorf("loaded %q %q %q %q", got.Tag, got.Origin, got.Sealed, got.Commit)
	}
}

// A text that is locked and not approved leaves the approved one in force, also
// after it was rejected.
func TestLoadServesWhatIsInForce(t *testing.T) {
	r := newRepository(t, false)
	if err := r.Put(t.Context(), "files", filesSource(), filesSurface(echoEvil, add)); err != nil {
		t.Fatal(err)
	}
	for _, reject := range []bool{false, true} {
		if reject {
			if err := r.Decide(t.Context(), trust.Reject, toolKey("echo")); err != nil {
				t.Fatal(err)
			}
		}
		tag(t, r, fmt.Sprintf("lock/v%d", map[bool]int{false: 2, true: 3}[reject]))
		got, err := load(t, serve.Origin{Repo: r.Dir, Ref: "lock/v*", TrustRoot: r.Root()})
		if err != nil {
			t.Fatal(err)
		}
		want := processor.Item{Kind: surface.KindTool, Name: "echo", State: processor.StateChanged, InForce: canonical.SumString(echo), Locked: canonical.SumString(echoEvil)}
		if diff := cmp.Diff(want, got.Input(processor.Options{}).Servers[0].Items[1]); diff != "" {
			t.Errorf("rejected %v: %s", reject, diff)
		}
	}
}

func TestLoadRules(t *testing.T) {
	r := newRepository(t, false)
	other := newRepository(t, false)
	plain := newRepository(t, true)
	missing := newRepository(t, false)
	if err := os.RemoveAll(filepath.Join(missing.Dir, ".agentgateway", "trust")); err != nil {
		t.Fatal(err)
	}
	if _, err := missing.Commit(t.Context(), "lose the trust list"); err != nil {
		t.Fatal(err)
	}
	broken := newRepository(t, false)
	files, err := filepath.Glob(filepath.Join(broken.Dir, ".agentgateway", "decisions", "*", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err == nil {
		err = os.WriteFile(files[0], []byte(strings.Replace(string(data), "a test", "a jest", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := broken.Commit(t.Context(), "tamper"); err != nil {
		t.Fatal(err)
	}
	original := newRepository(t, true)
	const oldFormat = `{"lockfileVersion":1,"generatedBy":"a","generatedAt":"2026-11-30T12:00:00.000Z","servers":{"files":{"surfaceHash":%q,"tools":[{"name":"echo","nameHash":%q,"descriptionHash":%q,"inputSchemaHash":%q}]}}}`
	hashes := surface.ToolHashes{Name: canonical.SumString("echo"), Description: canonical.SumString("Repeats."), InputSchema: canonical.SumString(`{"type":"object"}`)}
	if err := original.Write("agentgateway.lock", fmt.Appendf(nil, oldFormat, surface.Hash([]surface.ToolHashes{hashes}), hashes.Name, hashes.Description, hashes.InputSchema)); err != nil {
		t.Fatal(err)
	}
	if _, err := original.Commit(t.Context(), "the original format"); err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		src  serve.Origin
		rule string
	}{
		"a tag":                               {serve.Origin{Repo: r.Dir, Ref: "lock/v1", TrustRoot: r.Root()}, ""},
		"its full name":                       {serve.Origin{Repo: r.Dir, Ref: "refs/tags/lock/v1", TrustRoot: r.Root()}, ""},
		"a pattern":                           {serve.Origin{Repo: r.Dir, Ref: "refs/tags/lock/*", TrustRoot: r.Root()}, ""},
		"a tag that does not exist":           {serve.Origin{Repo: r.Dir, Ref: "lock/v7", TrustRoot: r.Root()}, "origin"},
		"a pattern that nothing matches":      {serve.Origin{Repo: r.Dir, Ref: "live/v*", TrustRoot: r.Root()}, "origin"},
		"a branch":                            {serve.Origin{Repo: r.Dir, Ref: "main", TrustRoot: r.Root()}, "seal"},
		"a branch, with no seal asked for":    {serve.Origin{Repo: r.Dir, Ref: "main", TrustRoot: r.Root(), Require: seal.RequireNone}, ""},
		"a commit":                            {serve.Origin{Repo: r.Dir, Ref: git(t, r, "rev-parse", "HEAD"), TrustRoot: r.Root(), Require: seal.RequireNone}, ""},
		"another lockfile":                    {serve.Origin{Repo: r.Dir, Ref: "lock/v1", TrustRoot: r.Root(), Path: "other.lock"}, "lockfile"},
		"the trust root of another":           {serve.Origin{Repo: r.Dir, Ref: "lock/v1", TrustRoot: other.Root()}, "trust"},
		"an unsigned repository":              {serve.Origin{Repo: plain.Dir, Ref: "main", TrustRoot: r.Root(), Require: seal.RequireNone}, "trust-missing"},
		"an unsigned repository, as asked":    {serve.Origin{Repo: plain.Dir, Ref: "main", Unsigned: true, Require: seal.RequireNone}, ""},
		"a signed repository as unsigned":     {serve.Origin{Repo: r.Dir, Ref: "main", Unsigned: true, Require: seal.RequireNone}, "trust"},
		"decisions without a trust list":      {serve.Origin{Repo: missing.Dir, Ref: "main", Unsigned: true, Require: seal.RequireNone}, "trust-missing"},
		"a trust list that was removed":       {serve.Origin{Repo: missing.Dir, Ref: "main", TrustRoot: missing.Root(), Require: seal.RequireNone}, "trust-missing"},
		"a decision that was changed":         {serve.Origin{Repo: broken.Dir, Ref: "main", TrustRoot: broken.Root(), Require: seal.RequireNone}, "decision"},
		"a lockfile of the original format":   {serve.Origin{Repo: original.Dir, Ref: "main", Unsigned: true, Require: seal.RequireNone}, "lockfile"},
		"a detached signature beside a tag":   {serve.Origin{Repo: r.Dir, Ref: "lock/v1", TrustRoot: r.Root(), Require: seal.RequireSignature}, "seal"},
		"a signed tag of a branch's own name": {serve.Origin{Repo: r.Dir, Ref: "refs/heads/main", TrustRoot: r.Root(), Require: seal.RequireTag}, "seal"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, c.src)
			if got := ruleOf(err); got != c.rule {
				t.Errorf("rule %q, want %q: %v", got, c.rule, err)
			}
		})
	}
}

func TestNewLoaderRefusesContradictions(t *testing.T) {
	root := canonical.SumString("a root")
	dir := t.TempDir()
	for name, c := range map[string]struct {
		src  serve.Origin
		want string
	}{
		"nothing":                  {serve.Origin{TrustRoot: &root}, "either a repository or a bundle"},
		"both":                     {serve.Origin{Repo: dir, Ref: "x", Bundle: "b", TrustRoot: &root}, "either a repository or a bundle"},
		"no root":                  {serve.Origin{Repo: dir, Ref: "x"}, "--trust-root"},
		"a root and unsigned":      {serve.Origin{Repo: dir, Ref: "x", TrustRoot: &root, Unsigned: true}, "contradict"},
		"no reference":             {serve.Origin{Repo: dir, TrustRoot: &root}, "--ref"},
		"a path that leads out":    {serve.Origin{Repo: dir, Ref: "x", TrustRoot: &root, Path: "../a.lock"}, "not a path within"},
		"a remote without a cache": {serve.Origin{Repo: "https://example.com/r", Ref: "x", TrustRoot: &root}, "fetched into"},
		"no repository":            {serve.Origin{Repo: filepath.Join(dir, "none"), Ref: "x", TrustRoot: &root}, "no folder"},
		"no bundle":                {serve.Origin{Bundle: filepath.Join(dir, "none"), TrustRoot: &root}, "no such file"},
		"a tag of a bundle":        {serve.Origin{Bundle: filepath.Join(dir, "none"), TrustRoot: &root, Require: seal.RequireTag}, "bundle cannot"},
		"sigstore without policy":  {serve.Origin{Repo: dir, Ref: "x", TrustRoot: &root, Require: seal.RequireSigstore}, "--certificate-identity"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := serve.NewLoader(c.src, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestLoadABundle(t *testing.T) {
	r := newRepository(t, false)
	bundle, err := r.Bundle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bundle.json")
	write := func(data []byte) {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(bundle)
	l, err := serve.NewLoader(serve.Origin{Bundle: file, TrustRoot: r.Root()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	first, err := l.Load(t.Context(), accepted)
	if err != nil {
		t.Fatal(err)
	}
	if first.Sealed != "signature by alice@example.com" || first.Commit != "" || len(first.Input(processor.Options{}).Servers[0].Items) != 2 {
		t.Errorf("loaded %+v", first)
	}
	if again, err := l.Load(t.Context(), accepted); err != nil || again != first {
		t.Errorf("an unchanged bundle was loaded again: %v", err)
	}
	write([]byte(strings.Replace(string(bundle), "files", "filez", 1)))
	if _, err := l.Load(t.Context(), accepted); ruleOf(err) != "seal" {
		t.Errorf("a changed bundle: %v", err)
	}
	write([]byte("{"))
	if _, err := l.Load(t.Context(), accepted); ruleOf(err) != "seal" {
		t.Errorf("a broken bundle: %v", err)
	}
}

func TestLoadFromARemote(t *testing.T) {
	r := newRepository(t, false)
	state := t.TempDir()
	l, err := serve.NewLoader(serve.Origin{Repo: "file://" + r.Dir, Ref: "lock/v*", TrustRoot: r.Root(), Cache: state}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	first, err := l.Load(t.Context(), accepted)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := l.Load(t.Context(), accepted); err != nil || again != first {
		t.Errorf("an unchanged repository was loaded again: %v", err)
	}
	if err := r.Decide(t.Context(), trust.Disable, toolKey("add")); err != nil {
		t.Fatal(err)
	}
	tag(t, r, "lock/v10") // after v9 and before v1 by their bytes
	next, err := l.Load(t.Context(), accepted)
	if err != nil || next.Tag != "lock/v10" {
		t.Fatalf("loaded %+v, %v", next, err)
	}
	if got := next.Input(processor.Options{}).Servers[0].Items[0].State; got != processor.StateDisabled {
		t.Errorf("add is %s", got)
	}
}

// A lockfile in a folder of its own is judged by the trust list and the decisions
// beside it.
func TestLoadFromAFolder(t *testing.T) {
	r := newRepository(t, false)
	for _, args := range [][]string{{"checkout", "-q", "-b", "moved"}, {"read-tree", "--empty"}, {"read-tree", "--prefix=team/a/", "main"}, {"commit", "-q", "-m", "Move"}} {
		git(t, r, args...)
	}
	got, err := load(t, serve.Origin{Repo: r.Dir, Ref: "moved", Path: "team/a/agentgateway.lock", TrustRoot: r.Root(), Require: seal.RequireNone})
	if err != nil {
		t.Fatal(err)
	}
	s := got.Input(processor.Options{}).Servers[0]
	if !s.SourceApproved || s.Instructions.Text != "Be kind." || s.Items[0].State != processor.StateApproved {
		t.Errorf("loaded %+v", s)
	}
}

func TestFloor(t *testing.T) {
	r := newRepository(t, false)
	v1 := mustLoad(t, r, "lock/v1")
	if err := r.Decide(t.Context(), trust.Disable, toolKey("add")); err != nil {
		t.Fatal(err)
	}
	tag(t, r, "lock/v2")
	v2 := mustLoad(t, r, "lock/v2")
	if err := r.Trust(t.Context(), trust.Set("maxAge", "90d")); err != nil {
		t.Fatal(err)
	}
	tag(t, r, "lock/v3")
	v3 := mustLoad(t, r, "lock/v3")
	other := mustLoad(t, newRepository(t, false), "lock/v1")
	plain := newRepository(t, true)
	bare, err := load(t, serve.Origin{Repo: plain.Dir, Ref: "main", Unsigned: true, Require: seal.RequireNone})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		before, after *serve.Loaded
		source        string
		rule          string
	}{
		"the same":                     {v2, v2, "a", ""},
		"a newer decision":             {v1, v2, "a", ""},
		"a newer trust version":        {v2, v3, "a", ""},
		"an older decision":            {v2, v1, "a", "older"},
		"an older trust version":       {v3, v2, "a", "older"},
		"an older one, by another URL": {v3, v2, "b", "older"},
		"another repository":           {v1, other, "a", "trust"},
		"another repository elsewhere": {v1, other, "b", ""},
		"no trust list":                {v1, bare, "a", "trust-missing"},
		"unsigned twice":               {bare, bare, "a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for _, restart := range []bool{false, true} {
				if c.source == "b" && !restart {
					continue
				}
				floor, err := serve.NewFloor(folder, "")
				if err != nil {
					t.Fatal(err)
				}
				if !restart {
					if err := floor.Accept("a", c.before); err != nil {
						t.Fatal(err)
					}
				} else if first, err := serve.NewFloor(folder, ""); err != nil || first.Accept("a", c.before) != nil {
					t.Fatal(err)
				}
				if got := ruleOf(floor.Check(t.Context(), c.source, c.after)); got != c.rule {
					t.Errorf("restarted %v: rule %q, want %q", restart, got, c.rule)
				}
			}
		})
	}
}

// A decision that lost a signature is as good as lost.
func TestFloorKeepsSignatures(t *testing.T) {
	r := newRepository(t, false)
	l := mustLoad(t, r, "lock/v1")
	folder := t.TempDir()
	floor, err := serve.NewFloor(folder, "")
	if err == nil {
		err = floor.Accept("a", l)
	}
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) != 2 {
		t.Fatalf("the state is in %q, %v", files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		id := l.Ledger.IDs()[0].String()
		more := strings.Replace(string(data), fmt.Sprintf(`%q:[`, id), fmt.Sprintf(`%q:["0123456789ab",`, id), 1)
		if err := os.WriteFile(name, []byte(more), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again, err := serve.NewFloor(folder, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Check(t.Context(), "a", l); ruleOf(err) != "older" || !strings.Contains(err.Error(), "lost a signature") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := again.Check(t.Context(), "a", l); ruleOf(err) != "older" {
		t.Errorf("a broken state: %v", err)
	}
}

func TestAtLeast(t *testing.T) {
	r := newRepository(t, false)
	first := git(t, r, "rev-parse", "HEAD")
	v1 := mustLoad(t, r, "lock/v1")
	if err := r.Decide(t.Context(), trust.Disable, toolKey("add")); err != nil {
		t.Fatal(err)
	}
	tag(t, r, "lock/v2")
	second := git(t, r, "rev-parse", "HEAD")
	loader, err := serve.NewLoader(serve.Origin{Repo: r.Dir, Ref: "lock/v2", TrustRoot: r.Root()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer loader.Close()
	v2, err := loader.Load(t.Context(), accepted)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		floor string
		l     *serve.Loaded
		ok    bool
	}{
		"its own commit":     {second, v2, true},
		"a commit before":    {first, v2, true},
		"an unknown commit":  {strings.Repeat("ab", 20), v2, false},
		"its own lockfile":   {v2.Digest.String(), v2, true},
		"its trust version":  {v2.Chain.Digest().String(), v2, true},
		"a decision it has":  {v2.Ledger.IDs()[0].String(), v2, true},
		"a digest it lacks":  {v2.Digest.String(), v1, false},
		"an unknown digest":  {strings.Repeat("cd", 32), v2, false},
		"a decision to come": {newer(v1, v2), v1, false},
	} {
		t.Run(name, func(t *testing.T) {
			floor, err := serve.NewFloor("", c.floor)
			if err != nil {
				t.Fatal(err)
			}
			if floor.Missing() {
				t.Error("the floor says that there is none")
			}
			if err := floor.Check(t.Context(), "a", c.l); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

// newer is a decision that b has and a lacks.
func newer(a, b *serve.Loaded) string {
	for _, id := range b.Ledger.IDs() {
		if a.Ledger.Decision(id) == nil {
			return id.String()
		}
	}
	return ""
}

func mustLoad(t *testing.T, r *repository.Repository, ref string) *serve.Loaded {
	t.Helper()
	l, err := load(t, serve.Origin{Repo: r.Dir, Ref: ref, TrustRoot: r.Root()})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
