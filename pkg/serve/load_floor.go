package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/internal/atomicfile"
	"agentgateway-lock/pkg/internal/bounded"
	"agentgateway-lock/pkg/trust"
)

// A Floor is what a policy must hold so as not to be older than one that was in
// force before: the ids of decisions and the digests of trust versions, and the
// highest tag. It lives in memory, and where it has a folder also there, so that
// a restart cannot be rolled back either.
type Floor struct {
	folder  string // empty for memory alone
	atLeast string // a commit or a digest that the first policy must hold
	known   *floorRecord
}

// NewFloor returns a floor that is kept in folder; the empty folder keeps it in
// memory. atLeast is a commit, or the digest of a decision, a trust version or a
// lockfile, that the first policy must hold where nothing is remembered; it may
// be empty.
func NewFloor(folder, atLeast string) (*Floor, error) {
	f := &Floor{folder: folder, atLeast: atLeast}
	if folder == "" {
		return f, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("making the state folder: %w", err)
	}
	return f, nil
}

// Missing reports whether nothing keeps a restart from being rolled back.
func (f *Floor) Missing() bool { return f.folder == "" && f.atLeast == "" }

// floorVersion is the version of the state files.
const floorVersion = 1

// maxFloor bounds a state file in bytes.
const maxFloor = 64 << 20

// floorRecord is what a state file holds.
type floorRecord struct {
	Version    int                `json:"version"`
	Origin     string             `json:"origin"`
	Lockfile   string             `json:"lockfile"`
	Repository *canonical.Digest  `json:"repository,omitempty"` // of the trust list
	Tag        string             `json:"tag,omitempty"`
	Trust      []canonical.Digest `json:"trust,omitempty"`
	// Decisions maps the id of each decision to the keys that have signed it: one
	// that lost a signature may not count any more, and is as good as lost.
	Decisions map[string][]string `json:"decisions,omitempty"`
}

// files are where the record of a policy is kept: by where it came from, and by
// the repository that its trust list names, so that neither a new URL nor a
// missing trust list begins anew.
func (f *Floor) files(origin, lockfile string, repository *canonical.Digest) []string {
	if f.folder == "" {
		return nil
	}
	name := func(kind, id string) string {
		return filepath.Join(f.folder, kind+"-"+canonical.SumString(id+"\x00"+lockfile).Short()+".json")
	}
	files := []string{name("origin", origin)}
	if repository != nil {
		files = append(files, name("repository", repository.String()))
	}
	return files
}

// Check holds a policy to the floor. origin names where it came from. The error
// is a *LoadError where the policy is older.
func (f *Floor) Check(ctx context.Context, origin string, l *Loaded) error {
	records := []*floorRecord{f.known}
	if f.known == nil {
		for _, name := range f.files(origin, l.Path, l.repository()) {
			r, err := readFloor(name)
			if err != nil {
				return &LoadError{RuleOlder, "what was in force before cannot be read, so this policy could be older: " + err.Error(), "restore the file, or, to begin again, remove it", err}
			}
			records = append(records, r)
		}
	}
	remembered := false
	for _, r := range records {
		if r == nil {
			continue
		}
		remembered = true
		if err := r.check(l); err != nil {
			return err
		}
	}
	if remembered || f.atLeast == "" {
		return nil
	}
	return l.atLeast(ctx, f.atLeast)
}

// Accept makes a policy that was put in force the floor. The error says that the
// folder could not be written.
func (f *Floor) Accept(origin string, l *Loaded) error {
	r := &floorRecord{Version: floorVersion, Origin: origin, Lockfile: l.Path, Repository: l.repository(), Tag: l.Tag}
	if l.Chain != nil {
		for n := range l.Chain.Len() {
			_, digest := l.Chain.Version(n + 1)
			r.Trust = append(r.Trust, digest)
		}
		r.Decisions = make(map[string][]string, l.Ledger.Len())
		for _, id := range l.Ledger.IDs() {
			r.Decisions[id.String()] = signersOf(l.Ledger, id)
		}
	}
	f.known = r
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	for _, name := range f.files(origin, l.Path, r.Repository) {
		if err := atomicfile.Write(name, append(data, '\n'), 0o600); err != nil {
			return fmt.Errorf("remembering what is in force: %w", err)
		}
	}
	return nil
}

func readFloor(name string) (*floorRecord, error) {
	data, err := bounded.OSFile(name, maxFloor)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &floorRecord{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if r.Version != floorVersion {
		return nil, fmt.Errorf("%s has the version %d; this program writes %d", name, r.Version, floorVersion)
	}
	return r, nil
}

// check holds a policy to what was in force before.
func (r *floorRecord) check(l *Loaded) error {
	older := func(detail string) error {
		return &LoadError{RuleOlder, l.Origin + " is older than what was in force: " + detail, "merge the newer one, and seal the lockfile again", nil}
	}
	if r.Repository != nil && l.Chain == nil {
		return &LoadError{RuleTrustMissing, l.Origin + " has no trust list, and there was one before", "restore .agentgateway/trust", nil}
	}
	if r.Repository != nil && *r.Repository != l.Chain.Repository() {
		return &LoadError{RuleTrust, l.Origin + " has the trust list of another repository", "to move to it, begin again with another state folder", nil}
	}
	if l.Tag != "" && r.Tag != "" && gitrepo.CompareVersions(l.Tag, r.Tag) < 0 {
		return older("the tag " + r.Tag + " was accepted before")
	}
	for _, d := range r.Trust {
		if !l.Chain.Contains(d) {
			return older("it lacks the trust version " + d.Short())
		}
	}
	for _, text := range slices.Sorted(maps.Keys(r.Decisions)) {
		id, err := canonical.ParseDigest(text)
		if err != nil || l.Ledger.Decision(id) == nil {
			return older(fmt.Sprintf("it lacks the decision %.12q", text))
		}
		now := signersOf(l.Ledger, id)
		for _, key := range r.Decisions[text] {
			if !slices.Contains(now, key) {
				return older("the decision " + id.Short() + " has lost a signature")
			}
		}
	}
	return nil
}

// signersOf names the keys that have signed a decision.
func signersOf(ledger *trust.Ledger, id canonical.Digest) []string {
	keys := ledger.Keys(id)
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = canonical.SumString(key).Short()
	}
	return names
}

// repository is the number of the repository in the trust list, or nil.
func (l *Loaded) repository() *canonical.Digest {
	if l.Chain == nil {
		return nil
	}
	id := l.Chain.Repository()
	return &id
}

// atLeast holds a policy to a commit it must come after, or a digest it must hold.
func (l *Loaded) atLeast(ctx context.Context, floor string) error {
	older := &LoadError{RuleOlder, fmt.Sprintf("%s is older than %s, which --at-least asks for", l.Origin, floor), "merge the newer one, and seal the lockfile again", nil}
	digest, err := canonical.ParseDigest(floor)
	switch {
	case err != nil:
	case digest == l.Digest,
		l.Chain != nil && l.Chain.Contains(digest),
		l.Ledger != nil && l.Ledger.Decision(digest) != nil:
		return nil
	}
	if l.descends == nil {
		return older
	}
	after, err := l.descends(ctx, floor)
	if err != nil && !errors.Is(err, gitrepo.ErrNotFound) {
		return fmt.Errorf("finding the commit %s: %w", floor, err)
	}
	if !after {
		return older
	}
	return nil
}

// checkAtLeast refuses a floor that can be neither a commit nor a digest.
func checkAtLeast(floor string) error {
	hex := strings.Trim(floor, "0123456789abcdef") == ""
	if floor == "" || hex && slices.Contains([]int{40, 64}, len(floor)) {
		return nil
	}
	return fmt.Errorf("%q is neither a commit nor a digest: give all 40 or 64 hexadecimal digits", floor)
}
