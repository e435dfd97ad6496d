// Package approved builds repositories whose lockfile people have approved and
// sealed, for tests of what serves them. It does what lock, trust, approve and
// seal do, by the packages beneath them, with keys that are made from names.
package approved

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"agentgateway-lock/pkg/source"

	"golang.org/x/crypto/ssh"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/crawl"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// Key is an SSH key in memory, always the same one for a name.
type Key struct{ signer ssh.Signer }

// NewKey makes the key of a person.
func NewKey(person string) Key {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, person)
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		panic(err) // an ed25519 key is a signer
	}
	return Key{signer}
}

// PublicKey implements sshsig.Signer.
func (k Key) PublicKey() ssh.PublicKey { return k.signer.PublicKey() }

// Sign implements sshsig.Signer.
func (k Key) Sign(_ context.Context, data []byte) (*ssh.Signature, error) {
	return k.signer.Sign(nil, data)
}

// Repository is a git repository with a lockfile. Alice is admin, approver and
// deployer, and while nobody else is listed she approves what she proposes.
type Repository struct {
	Dir   string
	Alice Key
	// Chain is nil where the repository is unsigned.
	Chain *trust.Chain
	// File is the lockfile as it was written last.
	File *lockfile.File
	// Now is when decisions are made.
	Now func() time.Time

	versions  []trust.File
	decisions []trust.DecisionFile
	ledger    *trust.Ledger
	store     *lockfile.Store
}

// New makes a repository in an empty folder. An unsigned one has no trust list.
func New(ctx context.Context, dir string, unsigned bool) (*Repository, error) {
	r := &Repository{Dir: dir, Alice: NewKey("alice"), File: &lockfile.File{GeneratedBy: "agentgateway-lock@0.1.0", GeneratedAt: "2026-11-30T12:00:00.000Z"}, Now: time.Now}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.name", "Alice"}, {"config", "user.email", "alice@example.com"},
		{"config", "commit.gpgsign", "false"}, {"config", "gc.auto", "0"},
	} {
		if _, err := r.Git(ctx, args...); err != nil {
			return nil, err
		}
	}
	folder, err := lockfile.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	r.store = lockfile.NewStore(folder, lockfile.DefaultName)
	if unsigned {
		return r, nil
	}
	v, err := trust.Init(canonical.SumString(dir), trust.Signer{
		Principal: "alice@example.com", Keys: []string{sshsig.FormatPublicKey(r.Alice.PublicKey())},
		Roles: []trust.Role{trust.Admin, trust.Approver, trust.Deployer},
	})
	if err != nil {
		return nil, err
	}
	return r, r.addVersion(ctx, v)
}

// Trust writes the next trust version.
func (r *Repository) Trust(ctx context.Context, changes ...trust.Change) error {
	v, err := r.Chain.Next(changes...)
	if err != nil {
		return err
	}
	return r.addVersion(ctx, v)
}

func (r *Repository) addVersion(ctx context.Context, v *trust.Version) error {
	signed, err := r.Chain.Sign(ctx, v, trust.SSHKey(r.Alice))
	if err != nil {
		return err
	}
	r.versions = append(r.versions, trust.File{Number: signed.Signed.Version, Data: signed.Format()})
	if r.Chain, err = trust.LoadChain(r.versions, nil, nil); err != nil {
		return err
	}
	return r.Write(trust.VersionPath(signed.Signed.Version), signed.Format())
}

// Root is the digest of the first trust version; nil where there is none.
func (r *Repository) Root() *canonical.Digest {
	if r.Chain == nil {
		return nil
	}
	_, root := r.Chain.Version(1)
	return &root
}

// Lock lists a server that is reached by URL and writes the lockfile.
func (r *Repository) Lock(ctx context.Context, name, url string) error {
	src := &source.Source{Transport: source.HTTP, URL: url, AllowPrivate: true}
	session, err := crawl.New(crawl.Options{}).Open(ctx, crawl.Endpoint{Name: name, Transport: source.HTTP, URL: url, AllowPrivate: true})
	if err != nil {
		return err
	}
	defer session.Close()
	listing, err := session.List(ctx, surface.AllCovers())
	if err != nil {
		return err
	}
	return r.Put(ctx, name, src, listing.Surface)
}

// Put writes the entry of a server that showed a surface.
func (r *Repository) Put(ctx context.Context, name string, src *source.Source, seen surface.Surface) error {
	old, err := r.read()
	if err != nil {
		return err
	}
	entry := lockfile.FromSurface(name, src, surface.AllCovers(), seen)
	if before := r.File.Server(name); before != nil {
		lockfile.Carry(before, entry)
	}
	r.File.Put(entry)
	if r.Chain != nil {
		r.File.Trust = r.Chain.Digest()
	}
	return r.save(ctx, lockfile.Change{Old: old, New: r.File, Surfaces: map[string]surface.Surface{name: seen}})
}

// read returns the lockfile as it stands; nil where there is none.
func (r *Repository) read() (*lockfile.File, error) {
	if _, err := os.Stat(filepath.Join(r.Dir, lockfile.DefaultName)); os.IsNotExist(err) {
		return nil, nil
	}
	return r.store.Read()
}

// save writes the lockfile and reads it back, so that lines and order are those
// of the file.
func (r *Repository) save(ctx context.Context, change lockfile.Change) error {
	if _, err := r.store.Write(ctx, change); err != nil {
		return err
	}
	file, err := r.store.Read()
	if err == nil {
		r.File = file
	}
	return err
}

// State tells what is decided now.
func (r *Repository) State() (*trust.State, error) {
	var err error
	if r.ledger, err = trust.NewLedger(r.decisions, r.ledger, nil); err != nil {
		return nil, err
	}
	return trust.Evaluate(trust.Input{Chain: r.Chain, Ledger: r.ledger, Lockfile: r.File, Path: lockfile.DefaultName, Now: r.Now()}), nil
}

// Decide records one signed decision about items; without any it is about every
// item that has no approval of what is locked.
func (r *Repository) Decide(ctx context.Context, action trust.Action, keys ...surface.Key) error {
	state, err := r.State()
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		for _, it := range state.Items {
			if it.Kind != surface.KindServer && (it.Status == trust.New || it.Status == trust.Changed) {
				keys = append(keys, it.Key)
			}
		}
	}
	return r.decide(ctx, state, action, keys)
}

// DecideEach records a decision for each group of n items that have no approval of
// what is locked.
func (r *Repository) DecideEach(ctx context.Context, n int) error {
	state, err := r.State()
	if err != nil {
		return err
	}
	var keys []surface.Key
	for _, it := range state.Items {
		if it.Kind != surface.KindServer && it.Status == trust.New {
			keys = append(keys, it.Key)
		}
	}
	for len(keys) > 0 {
		take := min(n, len(keys))
		if err := r.sign(ctx, state, trust.Approve, keys[:take]); err != nil {
			return err
		}
		keys = keys[take:]
	}
	return r.record(ctx)
}

func (r *Repository) decide(ctx context.Context, state *trust.State, action trust.Action, keys []surface.Key) error {
	if err := r.sign(ctx, state, action, keys); err != nil {
		return err
	}
	return r.record(ctx)
}

// sign makes a decision and names it in the lockfile in memory.
func (r *Repository) sign(ctx context.Context, state *trust.State, action trust.Action, keys []surface.Key) error {
	proposal := trust.Proposal{Action: action, Reason: "a test"}
	for _, key := range keys {
		proposal.Items = append(proposal.Items, trust.ProposedItem{Key: key, Grade: finding.Warning, Proposers: []string{"alice@example.com"}})
	}
	statement, err := state.Draft(proposal)
	if err != nil {
		return err
	}
	decision, err := state.Sign(ctx, statement, r.Now(), trust.SSHKey(r.Alice))
	if err != nil {
		return err
	}
	file := trust.DecisionFile{Path: trust.DecisionPath(decision.Statement.ID()), Data: decision.Format()}
	r.decisions = append(r.decisions, file)
	if err := r.Write(file.Path, file.Data); err != nil {
		return err
	}
	return trust.Record(r.File, &decision.Statement)
}

// record writes the lockfile with the decisions that were named in it.
func (r *Repository) record(ctx context.Context) error {
	old, err := r.read()
	if err != nil {
		return err
	}
	return r.save(ctx, lockfile.Change{Old: old, New: r.File})
}

// Write writes a file of the work tree.
func (r *Repository) Write(path string, data []byte) error {
	full := filepath.Join(r.Dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	return os.WriteFile(full, data, 0o644)
}

// Git runs git in the repository and returns what it printed.
func (r *Repository) Git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.Dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %q: %w\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// Commit commits the whole work tree and returns the commit.
func (r *Repository) Commit(ctx context.Context, message string) (gitrepo.Hash, error) {
	if _, err := r.Git(ctx, "add", "-A"); err != nil {
		return gitrepo.Hash{}, err
	}
	if _, err := r.Git(ctx, "commit", "-q", "--allow-empty", "-m", message); err != nil {
		return gitrepo.Hash{}, err
	}
	id, err := r.Git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return gitrepo.Hash{}, err
	}
	return gitrepo.ParseHash(id)
}

// Tag commits the work tree and seals the commit with a signed tag.
func (r *Repository) Tag(ctx context.Context, name string) error {
	commit, err := r.Commit(ctx, "Seal as "+name)
	if err != nil {
		return err
	}
	repo, err := gitrepo.Open(ctx, r.Dir, gitrepo.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = repo.Close() }()
	_, err = seal.SignTag(ctx, repo, seal.TagOptions{Name: name, Commit: commit, Path: lockfile.DefaultName, SignOptions: seal.SignOptions{Root: r.Root(), Signer: r.Alice}})
	return err
}

// Bundle returns a bundle of what stands in the work tree, sealed with a detached
// signature.
func (r *Repository) Bundle(ctx context.Context) ([]byte, error) {
	dir, err := lockfile.OpenDir(r.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	subject := seal.Folder(dir, lockfile.DefaultName)
	whole, err := seal.Verify(subject, seal.Options{Require: seal.RequireNone})
	if err != nil {
		return nil, err
	}
	b := &seal.Bundle{
		Path: lockfile.DefaultName, Lockfile: whole.Lockfile, Trust: whole.Versions, Decisions: whole.Ledger.Files(lockfile.DefaultName),
		Seal: seal.BundleSeal{Kind: seal.RequireNone},
	}
	if whole.Chain != nil {
		armored, err := seal.Sign(ctx, subject, seal.SignOptions{Signer: r.Alice})
		if err != nil {
			return nil, err
		}
		b.Seal = seal.BundleSeal{Kind: seal.RequireSignature, Data: armored}
	}
	return seal.WriteBundle(b)
}
