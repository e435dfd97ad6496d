package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"sync"
	"sync/atomic"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// The folders of what is signed, beside the lockfile.
const (
	trustFolder    = lockfile.Folder + "/trust"
	decisionFolder = lockfile.Folder + "/decisions"
)

// authority is the trust list and the decisions of one tree.
type authority struct {
	chain  *trust.Chain // nil where there is no trust list
	ledger *trust.Ledger
}

// tree is where the files of an authority are read from.
type tree interface {
	// entries lists a folder; nothing where there is none.
	entries(folder string) ([]treeEntry, error)
	// file reads one of them.
	file(name string, limit int64) ([]byte, error)
}

// treeEntry is what stands in a folder.
type treeEntry struct {
	name   string
	folder bool
}

// workTree is the tree that is checked out.
type workTree struct{ p *Project }

func (t workTree) entries(folder string) ([]treeEntry, error) {
	if info, err := t.p.dir.Lstat(folder); err == nil && !info.IsDir() {
		return nil, &lockfile.LinkError{Path: folder}
	}
	found, err := t.p.dir.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	entries := make([]treeEntry, len(found))
	for i, e := range found {
		entries[i] = treeEntry{e.Name(), e.IsDir()}
	}
	return entries, err
}

func (t workTree) file(name string, _ int64) ([]byte, error) { return t.p.store.ReadCopy(name) }

// commitTree is the tree of a commit.
type commitTree struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one reading
	p      *Project
	commit gitrepo.Hash
}

func (t commitTree) entries(folder string) ([]treeEntry, error) {
	at, err := t.p.gitPath(folder)
	if err != nil {
		return nil, err
	}
	found, err := t.p.repo.Dir(t.ctx, t.commit, at)
	if errors.Is(err, gitrepo.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	entries := make([]treeEntry, len(found))
	for i, e := range found {
		entries[i] = treeEntry{e.Name, e.Mode == gitrepo.ModeFolder}
	}
	return entries, err
}

func (t commitTree) file(name string, limit int64) ([]byte, error) {
	at, err := t.p.gitPath(name)
	if err != nil {
		return nil, err
	}
	data, _, err := t.p.repo.File(t.ctx, t.commit, at, limit)
	return data, err
}

// authorityIn reads and verifies the trust list and the decisions of a tree. The
// trust root is the project's. What known has verified is not verified again.
func (p *Project) authorityIn(t tree, known *trust.Ledger) (authority, error) {
	versions, err := versionFiles(t)
	if err != nil {
		return authority{}, err
	}
	return verifyAuthority(t, versions, p.root, known)
}

// baseAuthority reads those of a base. One that has no trust list yet is judged
// without: what a change then brings has to hold the trust root itself.
func (p *Project) baseAuthority(t tree) (authority, error) {
	versions, err := versionFiles(t)
	if err != nil {
		return authority{}, err
	}
	root := p.root
	if len(versions) == 0 {
		root = nil
	}
	return verifyAuthority(t, versions, root, nil)
}

func verifyAuthority(t tree, versions []trust.File, root *canonical.Digest, known *trust.Ledger) (a authority, err error) {
	if a.chain, err = trust.LoadChain(versions, root, nil); err != nil {
		return a, err
	}
	decisions, err := decisionFiles(t)
	if err != nil {
		return a, err
	}
	a.ledger, err = trust.NewLedger(decisions, known, nil)
	return a, err
}

// authority reads those of the work tree.
func (p *Project) authority() (authority, error) { return p.authorityIn(workTree{p}, nil) }

func versionFiles(t tree) ([]trust.File, error) {
	entries, err := t.entries(trustFolder)
	if err != nil {
		return nil, err
	}
	if len(entries) > trust.MaxVersions {
		return nil, fmt.Errorf("%s holds %d files; the limit is %d", trustFolder, len(entries), trust.MaxVersions)
	}
	var files []trust.File
	for _, e := range entries {
		at := path.Join(trustFolder, e.name)
		number, ok := trust.ParseVersionPath(at)
		if !ok {
			return nil, &hintError{fmt.Errorf("%s is not a trust version, by its name", at), "remove it: the folder holds 1.json, 2.json and so on"}
		}
		data, err := t.file(at, trust.MaxVersionSize)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		files = append(files, trust.File{Number: number, Data: data})
	}
	return files, nil
}

// decisionFiles reads every file of the decisions folder, on all cores. A file
// that is no decision by its name is read too, so that the ledger reports it.
func decisionFiles(t tree) ([]trust.DecisionFile, error) {
	paths, err := decisionPaths(t)
	if err != nil {
		return nil, err
	}
	files := make([]trust.DecisionFile, len(paths))
	for i, name := range paths {
		files[i].Path = name
	}
	return files, readAll(t, files)
}

// decisionPaths lists the files of the decisions folder: those of its folders,
// and whatever else stands there.
func decisionPaths(t tree) ([]string, error) {
	entries, err := t.entries(decisionFolder)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		at := path.Join(decisionFolder, e.name)
		if !e.folder {
			paths = append(paths, at)
			continue
		}
		files, err := t.entries(at)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			paths = append(paths, path.Join(at, f.name))
		}
		if len(paths) > trust.MaxDecisions {
			return nil, fmt.Errorf("%s holds more than %d files", decisionFolder, trust.MaxDecisions)
		}
	}
	return paths, nil
}

func readAll(t tree, files []trust.DecisionFile) error {
	errs := make([]error, len(files))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				data, err := t.file(files[i].Path, trust.MaxDecisionSize)
				if err != nil {
					errs[i] = fmt.Errorf("%s: %w", files[i].Path, err)
				}
				files[i].Data = data
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}

// evaluate tells what is decided about every item of a lockfile. judge is the
// chain that judges: of a change the base's.
func (p *Project) evaluate(file *lockfile.File, a authority, judge *trust.Chain, proposers func(surface.Key) []string) *trust.State {
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
