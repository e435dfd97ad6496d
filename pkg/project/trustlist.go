package project

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/trust"
)

// allowedSigners is derived from the newest trust version, for git and
// ssh-keygen.
const allowedSigners = lockfile.Folder + "/allowed_signers"

// TrustChange is the outcome of a change to the trust list.
type TrustChange struct {
	Version   int
	Digest    canonical.Digest
	Waiting   []trust.Quorum // signatures that are missing; empty where it is in force
	Commit    string         // empty where nothing was committed
	Principal string         // who was listed as the first; empty for later versions
}

// TrustInit writes and signs version 1 of a trust list, with one signer who is
// admin and approver. An empty principal stands for the address that git knows.
func (p *Project) TrustInit(ctx context.Context, principal, person string, s Signing) (*TrustChange, error) {
	there, err := trust.ReadVersions(p.workTree(), trust.VersionFolder)
	if err != nil {
		return nil, err
	}
	if len(there) > 0 {
		return nil, &hintError{errors.New("there is a trust list already"), fmt.Sprintf("`%s trust show` shows it; `%[1]s trust add` adds a person", p.Env.Program)}
	}
	if err := p.ready(ctx, s); err != nil {
		return nil, err
	}
	signer, err := p.signer(ctx, s)
	if err != nil {
		return nil, err
	}
	if principal == "" {
		user, err := p.repo.User(ctx)
		if err != nil {
			return nil, &hintError{err, "or name yourself with --as you@example.com"}
		}
		principal = user.Email
	}
	if person == "" {
		person = principal
	}
	var repository canonical.Digest
	_, _ = rand.Read(repository[:]) // never fails
	version, err := trust.Init(repository, trust.Signer{
		Principal: principal, Person: person, Keys: []string{sshsig.FormatPublicKey(signer.PublicKey())},
	})
	if err != nil {
		return nil, err
	}
	subject := fmt.Sprintf("Start the list of who may approve, with %s", principal)
	change, err := p.putVersion(ctx, nil, version, s, signer, subject)
	if err == nil {
		change.Principal = principal
	}
	return change, err
}

// TrustNext writes and signs the next trust version. make tells what changes; it
// is given the chain in force and the state of what is decided.
func (p *Project) TrustNext(ctx context.Context, s Signing, subject string, changes func(authority TrustList) ([]trust.Change, error)) (*TrustChange, error) {
	list, err := p.TrustList()
	if err != nil {
		return nil, err
	}
	if err := p.ready(ctx, s); err != nil {
		return nil, err
	}
	made, err := changes(*list)
	if err != nil {
		return nil, err
	}
	version, err := list.Chain.Next(made...)
	if err != nil {
		return nil, err
	}
	signer, err := p.signer(ctx, s)
	if err != nil {
		return nil, err
	}
	return p.putVersion(ctx, list.Chain, version, s, signer, subject)
}

// Checkpoint is the one that makes an audit judge from a commit of HEAD's history
// on. It names the lockfile of that commit, which has to have one.
func (p *Project) Checkpoint(ctx context.Context, rev, reason string) (trust.Checkpoint, error) {
	var none trust.Checkpoint
	if p.repo == nil {
		return none, &hintError{fmt.Errorf("%s is not in a git repository", p.Root), "a checkpoint names a commit"}
	}
	commit, err := p.repo.Resolve(ctx, rev)
	if err != nil {
		return none, fmt.Errorf("--commit %s: %w", rev, err)
	}
	head, err := p.repo.Resolve(ctx, "HEAD")
	if err != nil {
		return none, err
	}
	switch within, err := p.repo.IsAncestor(ctx, commit, head); {
	case err != nil:
		return none, err
	case !within:
		return none, &hintError{fmt.Errorf("--commit %s: HEAD's history does not hold the commit %s", rev, commit.Short()), "name one of the commits that `git log` shows"}
	}
	data, err := p.fileAt(ctx, commit, p.Path)
	if err != nil {
		return none, &hintError{fmt.Errorf("--commit %s: %s of that commit: %w", rev, p.Path, err), "name a commit that has a lockfile"}
	}
	return trust.Checkpoint{Commit: commit.String(), Lockfile: canonical.Sum(data), Reason: reason}, nil
}

// TrustSign adds a signature to the version that waits.
func (p *Project) TrustSign(ctx context.Context, s Signing) (*TrustChange, error) {
	list, err := p.TrustList()
	if err != nil {
		return nil, err
	}
	waiting := list.Chain.Waiting()
	if waiting == nil {
		return nil, errors.New("no trust version waits for signatures")
	}
	if err := p.ready(ctx, s); err != nil {
		return nil, err
	}
	signer, err := p.signer(ctx, s)
	if err != nil {
		return nil, err
	}
	return p.putVersion(ctx, list.Chain, waiting.Version, s, signer, fmt.Sprintf("Sign version %d of who may approve", waiting.Version.Signed.Version))
}

// putVersion signs a version, verifies the chain it makes, and writes and commits
// it.
func (p *Project) putVersion(ctx context.Context, chain *trust.Chain, version *trust.Version, s Signing, signer sshsig.Signer, subject string) (*TrustChange, error) {
	version, err := chain.Sign(ctx, version, trust.SSHKey(signer))
	if err != nil {
		return nil, err
	}
	number, digest := version.Signed.Version, version.Signed.Digest()
	files, err := trust.ReadVersions(p.workTree(), trust.VersionFolder)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f trust.File) bool { return f.Number == number })
	next, err := trust.LoadChain(append(files, trust.File{Number: number, Data: version.Format()}), p.root, p.verifier)
	if err != nil {
		return nil, err
	}
	out := &TrustChange{Version: number, Digest: digest}
	if w := next.Waiting(); w != nil {
		out.Waiting = w.Missing
	}
	paths := []string{trust.VersionPath(number)}
	if err := p.putFile(paths[0], version.Format()); err != nil {
		return nil, err
	}
	if out.Waiting == nil {
		signers, err := next.Current().Signed.AllowedSigners()
		if err != nil {
			return nil, err
		}
		if err := p.putFile(allowedSigners, signers); err != nil {
			return nil, err
		}
		paths = append(paths, allowedSigners)
	}
	message := commitMessage(subject, "", [2]string{"Agentgateway-Action", "trust"}, [2]string{"Agentgateway-Trust", digest.String()})
	out.Commit, err = p.commit(ctx, s, signer, message, paths)
	return out, err
}

// A TrustList is the trust list of the work tree, with what is decided under it.
type TrustList struct {
	Chain *trust.Chain
	State *trust.State // nil where there is no lockfile
}

// TrustList reads the trust list of the work tree.
func (p *Project) TrustList() (*TrustList, error) {
	a, err := p.authority()
	if err != nil {
		return nil, err
	}
	if a.chain == nil {
		return nil, &hintError{errors.New("there is no trust list"), fmt.Sprintf("`%s trust init` starts one", p.Env.Program)}
	}
	list := &TrustList{Chain: a.chain}
	file, err := p.Load()
	if errors.Is(err, ErrNoLockfile) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	list.State = p.evaluate(file, a, nil, nil)
	return list, nil
}

// State tells what is decided about every item of the lockfile of the work tree.
func (p *Project) State(file *lockfile.File) (*trust.State, error) {
	a, err := p.authority()
	if err != nil {
		return nil, err
	}
	return p.evaluate(file, a, nil, nil), nil
}
