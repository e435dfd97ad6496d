package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/trust"
)

// authority is the trust list and the decisions of one tree.
type authority struct {
	chain  *trust.Chain // nil where there is no trust list
	ledger *trust.Ledger
}

// workTree is the project's folder as it is checked out.
func (p *Project) workTree() fs.FS { return p.dir }

// commitTree is the project's folder in a commit.
func (p *Project) commitTree(ctx context.Context, commit gitrepo.Hash) (fs.FS, error) {
	return p.repo.FS(ctx, commit, p.folder())
}

// authorityIn reads and verifies the trust list and the decisions of a tree. The
// trust root is the project's. What known has verified is not read again, and no
// signature is verified twice in a run.
func (p *Project) authorityIn(tree fs.FS, known *trust.Ledger) (authority, error) {
	return p.readAuthority(tree, p.root, known)
}

// baseAuthority reads those of a base. One that has no trust list yet is judged
// without: what a change then brings has to hold the trust root itself.
func (p *Project) baseAuthority(tree fs.FS) (authority, error) {
	a, err := p.readAuthority(tree, p.root, nil)
	if chain, ok := errors.AsType[*trust.ChainError](err); ok && chain.Rule == trust.RuleNoList {
		return p.readAuthority(tree, nil, nil)
	}
	return a, err
}

func (p *Project) readAuthority(tree fs.FS, root *canonical.Digest, known *trust.Ledger) (authority, error) {
	read, err := trust.Read(tree, trust.ReadOptions{Root: root, Known: known, Verifier: p.verifier})
	if err != nil {
		return authority{}, err
	}
	return authority{read.Chain, read.Ledger}, nil
}

// checkedAuthority reads those of the work tree, and refuses one in which it is not
// certain what was decided about the lockfile: nothing is signed or sealed there.
func (p *Project) checkedAuthority(file *lockfile.File) (authority, error) {
	read, err := trust.Read(p.workTree(), trust.ReadOptions{Root: p.root, Verifier: p.verifier})
	if err != nil {
		return authority{}, err
	}
	return authority{read.Chain, read.Ledger}, read.Check(file)
}

// authority reads those of the work tree.
func (p *Project) authority() (authority, error) { return p.authorityIn(p.workTree(), nil) }

// evaluate tells what is decided about every item of a lockfile. judge is the
// chain that judges: of a change the base's.
func (p *Project) evaluate(file *lockfile.File, a authority, judge *trust.Chain, proposers *trust.Proposers) *trust.State {
	if judge == nil {
		judge = a.chain
	}
	return trust.Evaluate(trust.Input{
		Chain: judge, Tree: a.chain, Ledger: a.ledger, Lockfile: file, Path: p.Path,
		Now: p.Env.Now(), Proposers: proposers,
	})
}

// folder is the folder of the project in its repository.
func (p *Project) folder() string {
	if p.repo == nil {
		return ""
	}
	at, err := p.gitPath(".")
	if err != nil || at == "." {
		return ""
	}
	return at
}

// parseRoot reads a pinned trust root; nil is none.
func parseRoot(text *string) (*canonical.Digest, error) {
	if text == nil {
		return nil, nil
	}
	root, err := canonical.ParseDigest(*text)
	if err != nil {
		return nil, &hintError{fmt.Errorf("the trust root %q: %w", *text, err), "`agentgateway trust show` prints the trust root of a repository"}
	}
	return &root, nil
}
