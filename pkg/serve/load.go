package serve

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// An Origin says where a policy comes from and what must verify before it is
// used. It names either a repository or a bundle.
type Origin struct {
	Repo      string // the folder of a repository, or the URL of a remote one
	Ref       string // a tag, a branch, or a pattern of tags such as lock/v*, of which the newest that verifies counts
	TokenFile string // holds a token for a repository reached by https
	SSHKey    string // a private key file for a repository reached by ssh
	// Cache is the folder that a remote repository is fetched into.
	Cache string

	Bundle string // a bundle file

	// Path is the lockfile's within the repository, with slashes; agentgateway.lock
	// where empty. A bundle names its own.
	Path string

	// TrustRoot is the digest of the trust version that the chain is verified
	// from; nil only together with Unsigned.
	TrustRoot *canonical.Digest
	// Unsigned accepts a repository without a trust list, where what is locked
	// counts as approved.
	Unsigned bool
	Require  seal.Require // the seal to ask for; empty for the strictest that the origin can bear

	// Signature is a file that holds a detached seal of the bundle's lockfile;
	// empty for the one inside the bundle.
	Signature string
	Sigstore  *SigstoreSeal // for seal.RequireSigstore
}

// A SigstoreSeal says which Sigstore bundle seals the lockfile.
type SigstoreSeal struct {
	File        string // the Sigstore bundle; empty for the one beside the lockfile
	Identity    string // the one subject that may have signed
	Issuer      string // who vouched for it
	TrustedRoot string // a file that holds the trusted root as JSON
	Verifier    seal.SigstoreVerifier
}

// A Loaded is a verified lockfile with everything that was decided about it. It
// is immutable.
type Loaded struct {
	Origin   string           // the tag, branch or bundle, as people name it
	Tag      string           // after refs/tags/; empty for a branch or a bundle
	Commit   string           // empty for a bundle
	Digest   canonical.Digest // SHA-256 of the lockfile's bytes
	Path     string           // the lockfile's
	Lockfile *lockfile.File
	Chain    *trust.Chain // nil where the repository is unsigned
	Ledger   *trust.Ledger
	State    *trust.State
	Sealed   string // who sealed it and how, for people; empty where nothing was asked for
	// Instructions are the texts of the instructions in force, by server.
	Instructions map[string]string
	Loaded       time.Time

	id       string // of what was read, to find that nothing changed
	descends func(ctx context.Context, id string) (bool, error)
}

// Unsigned reports whether there is no trust list, so that what is locked counts
// as approved.
func (l *Loaded) Unsigned() bool { return l.Chain == nil }

// A LoadError says why an origin gives no policy. Its rule is a stable name.
type LoadError struct {
	Rule   string
	Detail string // one sentence; input in it is quoted
	Advice string
	Err    error // the cause, where there is one
}

// The rules of loading; those of pkg/trust and pkg/seal come beside them.
const (
	RuleOrigin       = "origin"        // the policy origin cannot be read
	RuleLockfile     = "lockfile"      // there is no lockfile, or one that cannot be enforced
	RuleTrustMissing = "trust-missing" // there is no trust list
	RuleTrust        = "trust"         // the trust chain does not verify
	RuleDecision     = "decision"      // a decision does not verify
	RuleSeal         = "seal"          // the seal does not verify
	RuleOlder        = "older"         // it lacks what was in force before
	RulePolicy       = "policy"        // the lockfile cannot be made a policy
)

// Rules returns every rule of loading.
func Rules() []string {
	return []string{RuleOrigin, RuleLockfile, RuleTrustMissing, RuleTrust, RuleDecision, RuleSeal, RuleOlder, RulePolicy}
}

// Error implements error.
func (e *LoadError) Error() string { return e.Detail }

// Unwrap returns the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *LoadError) Hint() string { return e.Advice }

// ruleOf is the rule of an error of loading, for metrics.
func ruleOf(err error) string {
	if le, ok := errors.AsType[*LoadError](err); ok {
		return le.Rule
	}
	return RuleOrigin
}

// material is what an origin holds: a lockfile whose seal and trust chain are
// verified, and decisions that are not.
type material struct {
	id     string
	origin string
	tag    string
	sealed *seal.Sealed
	path   string // of the lockfile, from the folder that holds .agentgateway: what decisions call it
	folder string // that folder, within the repository; empty for the root
	// instruction returns the text of instructions by what is known of them.
	instruction func(c *lockfile.Copy, digest canonical.Digest) (string, bool)
	// descends reports whether the commit of that id is an ancestor; nil where
	// there are no commits.
	descends func(ctx context.Context, id string) (bool, error)
}

// A Loader loads the policies of one origin, again and again. It is not safe for
// concurrent use.
type Loader struct {
	origin  Origin
	now     func() time.Time
	reader  originReader
	last    *Loaded
	refused map[string]error // by id, of what will never verify
	passed  []string         // what was refused for the last, newest first
}

// An originReader finds what one kind of origin holds now: the newest first, of which
// the first that verifies counts.
type originReader interface {
	candidates(ctx context.Context) ([]candidate, error)
	close()
}

// A candidate is one thing that a policy may be read from.
type candidate struct {
	id    string // of what it holds, to find that nothing changed
	title string // for people
	// fixed is set where what the id names is all that decides whether it verifies.
	fixed bool
	// read reads and verifies it; known are the decisions of the last one.
	read func(ctx context.Context, known *trust.Ledger) (*material, error)
}

// NewLoader returns a loader of an origin. now tells the time; nil means the
// system's clock. The error says what is wrong with the origin as it is
// configured; nothing is read yet.
func NewLoader(origin Origin, now func() time.Time) (*Loader, error) {
	if now == nil {
		now = time.Now
	}
	if origin.Path == "" {
		origin.Path = lockfile.DefaultName
	}
	if !lockfile.CleanPath(origin.Path) {
		return nil, fmt.Errorf("the lockfile %q is not a path within the repository", origin.Path)
	}
	if origin.Sigstore == nil && origin.Require == seal.RequireSigstore {
		return nil, errors.New("a Sigstore seal needs --certificate-identity, --certificate-oidc-issuer and --trusted-root")
	}
	if origin.TrustRoot == nil && !origin.Unsigned {
		return nil, errors.New("without a trust root anyone who can write to the origin decides; give it with --trust-root, or serve a repository without a trust list with --unsigned")
	}
	if origin.TrustRoot != nil && origin.Unsigned {
		return nil, errors.New("a trust root and --unsigned contradict each other")
	}
	l := &Loader{origin: origin, now: now}
	var err error
	switch {
	case (origin.Repo == "") == (origin.Bundle == ""):
		return nil, errors.New("name either a repository or a bundle")
	case origin.Bundle != "":
		l.reader, err = newBundleReader(&l.origin, now)
	default:
		l.reader, err = newGitReader(&l.origin, now)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Close frees what the loader holds.
func (l *Loader) Close() { l.reader.close() }

// Load reads the origin, verifies what it holds and gives it to accept, which may
// refuse it. Of a pattern of tags the newest that verifies and is accepted counts.
// Where that is what counted the last time, Load returns what it returned then, and
// does not call accept. The error is a *LoadError: of the newest, where none counts.
func (l *Loader) Load(ctx context.Context, accept func(context.Context, *Loaded) error) (*Loaded, error) {
	l.passed = nil
	candidates, err := l.reader.candidates(ctx)
	if err != nil {
		return nil, loadError(err)
	}
	refused, passed := map[string]error{}, []string(nil)
	var first error
	for i := range candidates {
		c := &candidates[i]
		if l.last != nil && c.id == l.last.id {
			l.refused, l.passed = refused, passed
			return l.last, nil
		}
		err, known := l.refused[c.id]
		if !known {
			err = l.try(ctx, c, accept)
		}
		if err == nil {
			l.refused, l.passed = refused, passed
			return l.last, nil
		}
		if ctx.Err() != nil {
			return nil, loadError(ctx.Err())
		}
		if c.fixed && ruleOf(err) != RuleOrigin {
			refused[c.id] = err
		}
		if passed = append(passed, c.title+" ("+ruleOf(err)+")"); first == nil {
			first = err
		}
	}
	l.refused = refused
	return nil, loadError(first)
}

// try reads, verifies and hands over one candidate.
func (l *Loader) try(ctx context.Context, c *candidate, accept func(context.Context, *Loaded) error) error {
	var known *trust.Ledger
	if l.last != nil {
		known = l.last.Ledger
	}
	m, err := c.read(ctx, known)
	if err != nil {
		return err
	}
	m.id, m.origin = c.id, c.title
	loaded, err := l.verify(m)
	if err != nil {
		return err
	}
	if err := accept(ctx, loaded); err != nil {
		return err
	}
	l.last = loaded
	return nil
}

// Passed names what is newer than what Load returned last and was refused, the newest
// first, each with the rule that refused it.
func (l *Loader) Passed() []string { return l.passed }

func loadError(err error) error {
	if le, ok := errors.AsType[*LoadError](err); ok {
		return le
	}
	return &LoadError{RuleOrigin, "the policy origin cannot be read: " + err.Error(), "look at the reason; the old policy stays in force", err}
}

// verify holds material to everything else that the origin asks for.
func (l *Loader) verify(m *material) (*Loaded, error) {
	file, chain := m.sealed.File, m.sealed.Chain
	if chain != nil && l.origin.Unsigned {
		return nil, &LoadError{RuleTrust, m.origin + " has a trust list, and no trust root was given", "give the root with --trust-root in place of --unsigned", nil}
	}
	if err := checkEnforceable(file, m.origin); err != nil {
		return nil, err
	}
	now := l.now()
	state := trust.Evaluate(trust.Input{
		Chain: chain, Ledger: m.sealed.Ledger, Lockfile: file, Path: m.path, Folder: m.folder, Now: now,
	})
	return &Loaded{
		Origin: m.origin, Tag: m.tag, Commit: m.sealed.Commit.String(), Digest: canonical.Sum(m.sealed.Lockfile), Path: m.sealed.Path,
		Lockfile: file, Chain: chain, Ledger: m.sealed.Ledger, State: state, Sealed: sealedBy(m.sealed),
		Instructions: instructionTexts(file, state, m.instruction), Loaded: now, id: m.id, descends: m.descends,
	}, nil
}

// sealedBy tells people what seal was verified.
func sealedBy(s *seal.Sealed) string {
	if s.Require == seal.RequireNone {
		return ""
	}
	return string(s.Require) + " by " + s.Signer
}

// sealError names what a seal, or the trust list it was judged by, breaks.
func sealError(err error) error {
	e, ok := errors.AsType[*seal.Error](err)
	if !ok {
		return err
	}
	out := &LoadError{RuleSeal, err.Error(), e.Advice, err}
	switch e.Rule {
	case seal.RuleLockfile:
		out.Rule = RuleLockfile
	case seal.RuleDecision:
		out.Rule = RuleDecision
	case seal.RuleTrust, seal.RuleStale:
		out.Rule = RuleTrust
		if ce, ok := errors.AsType[*trust.ChainError](err); ok && ce.Rule == trust.RuleNoList {
			out.Rule = RuleTrustMissing
		}
	}
	return out
}

// checkEnforceable holds what a lockfile says of itself. Its items need digests,
// which the original format does not have.
func checkEnforceable(file *lockfile.File, origin string) error {
	for _, f := range lockfile.Check(file) {
		if f.Grade == finding.Critical || f.Undecided {
			return &LoadError{RuleLockfile, origin + ": " + f.Summary, f.Hint, nil}
		}
	}
	for it := range file.Items() {
		if it.Item != nil && it.GatewayDigest.IsZero() {
			return &LoadError{RuleLockfile, fmt.Sprintf("%s: the %s %s of the server %s has no digest, as in the original format, and cannot be enforced", origin, it.Kind, processor.Shown(it.Name), processor.Shown(it.Server)),
				"run agentgateway lock and commit what it writes", nil}
		}
	}
	return nil
}

// instructionTexts finds the texts of the instructions in force, by their digests.
func instructionTexts(file *lockfile.File, state *trust.State, find func(*lockfile.Copy, canonical.Digest) (string, bool)) map[string]string {
	texts := map[string]string{}
	layout := lockfile.NewLayout(file)
	for i := range layout.Copies {
		c := &layout.Copies[i]
		if c.Kind != surface.KindInstructions {
			continue
		}
		it := state.Item(surface.Key{Server: c.Server, Kind: c.Kind})
		if it == nil || it.InForce == nil {
			continue
		}
		if text, ok := find(c, it.InForce.Digest); ok {
			texts[c.Server] = text
		}
	}
	return texts
}

// folderOf is the folder that holds the lockfile, and .agentgateway beside it;
// empty for the root.
func folderOf(lockfilePath string) string {
	if dir := path.Dir(lockfilePath); dir != "." {
		return dir
	}
	return ""
}

// Input makes what a policy is compiled from.
func (l *Loaded) Input(options processor.Options) processor.Input {
	in := processor.FromLockfile(l.Lockfile, l.State, l.Instructions)
	in.ID, in.Options = l.id, options
	return in
}

// sourceApproved reports whether what is locked about how the server is reached
// is in force.
func (l *Loaded) sourceApproved(server string) bool {
	it := l.State.Item(surface.Key{Server: server, Kind: surface.KindSource})
	return it != nil && it.Status == trust.Approved
}

// ages counts the approvals in force that are older than the rule maxAge allows,
// and those that will be within soon.
func (l *Loaded) ages(now time.Time, soon time.Duration) (expired, expiring int) {
	if l.Chain == nil || l.Chain.Current().Signed.Rules.MaxAge == 0 {
		return 0, 0
	}
	limit := time.Duration(l.Chain.Current().Signed.Rules.MaxAge) * time.Second
	for _, it := range l.State.Items {
		if it.InForce == nil {
			continue
		}
		switch left := limit - now.Sub(it.InForce.At); {
		case left <= 0:
			expired++
		case left <= soon:
			expiring++
		}
	}
	return expired, expiring
}
