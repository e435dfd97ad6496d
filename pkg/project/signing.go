package project

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/trust"
)

// Signing says with which key something is signed and how it is committed.
type Signing struct {
	// Key finds the signer; gitConfig reads git's configuration.
	Key func(ctx context.Context, gitConfig func(key string) (string, error)) (sshsig.Signer, error)
	// NoCommit leaves the files uncommitted.
	NoCommit bool
	// RunHooks runs hooks that lie inside the work tree too.
	RunHooks bool
}

// signer finds the key to sign with.
func (p *Project) signer(ctx context.Context, s Signing) (sshsig.Signer, error) {
	return s.Key(ctx, func(key string) (string, error) {
		if p.repo == nil {
			return "", nil
		}
		value, _, err := p.repo.ConfigValue(ctx, key)
		return value, err
	})
}

// ready holds, before anything is signed, that a commit can be made.
func (p *Project) ready(ctx context.Context, s Signing) error {
	if s.NoCommit {
		return nil
	}
	if p.repo == nil {
		return &hintError{fmt.Errorf("%s is not in a git repository", p.Root), "run `git init`, or pass --no-commit"}
	}
	if _, err := p.repo.User(ctx); err != nil {
		return err
	}
	err := p.repo.Busy(ctx)
	var busy *gitrepo.BusyError
	if errors.As(err, &busy) && busy.State == gitrepo.StateUnborn {
		return nil // the first commit of a repository
	}
	return err
}

// commit commits just the given files, signed with the key of the decision.
func (p *Project) commit(ctx context.Context, s Signing, signer sshsig.Signer, message string, paths []string) (string, error) {
	if s.NoCommit {
		return "", nil
	}
	in, err := p.committable(ctx, paths)
	if err != nil {
		return "", err
	}
	id, err := p.repo.Commit(ctx, gitrepo.CommitOptions{
		Paths: slices.Compact(in), Message: message, RunHooks: s.RunHooks,
		Sign: func(ctx context.Context, payload []byte) ([]byte, error) {
			signature, err := sshsig.Sign(ctx, signer, sshsig.NamespaceGit, payload)
			if err != nil {
				return nil, err
			}
			return signature.Armor(), nil
		},
	})
	if errors.Is(err, gitrepo.ErrNothingToCommit) {
		return "", nil
	}
	if err != nil {
		return id.String(), fmt.Errorf("the files are written, but not committed: %w", err)
	}
	return id.Short(), nil
}

// committable are the paths in the repository that a commit can hold: a file that
// is gone, and was never committed, is none.
func (p *Project) committable(ctx context.Context, paths []string) ([]string, error) {
	var tree gitrepo.Hash
	if head, err := p.repo.Resolve(ctx, "HEAD"); err == nil {
		if tree, err = p.repo.TreeOf(ctx, head); err != nil {
			return nil, err
		}
	}
	in := make([]string, 0, len(paths))
	for _, name := range paths {
		at, err := p.gitPath(name)
		if err != nil {
			return nil, err
		}
		committed := false
		if !tree.IsZero() {
			if _, committed, err = p.repo.Lookup(ctx, tree, at); err != nil {
				return nil, err
			}
		}
		if committed || p.exists(name) {
			in = append(in, at)
		}
	}
	slices.Sort(in)
	return in, nil
}

// uncommitted are what a decision builds on and HEAD does not have: decision
// files, and where the lockfile is not as HEAD has it, that and its copies. A
// decision is committed with the texts it is about and the decisions before it.
func (p *Project) uncommitted(ctx context.Context, file *lockfile.File) ([]string, error) {
	if p.repo == nil {
		return nil, nil
	}
	head, err := p.repo.Resolve(ctx, "HEAD")
	unborn := err != nil
	differs := func(name string) bool {
		at, err := p.gitPath(name)
		return err == nil && (unborn || p.repo.CheckWorktreeFile(ctx, head, at) != nil)
	}
	here, err := trust.DecisionPaths(p.workTree())
	if err != nil {
		return nil, err
	}
	committed := map[string]bool{}
	if !unborn {
		tree, err := p.commitTree(ctx, head)
		if err != nil {
			return nil, err
		}
		there, err := trust.DecisionPaths(tree)
		if err != nil {
			return nil, err
		}
		for _, name := range there {
			committed[name] = true
		}
	}
	paths := slices.DeleteFunc(here, func(name string) bool { return committed[name] })
	if !differs(p.Path) {
		return paths, nil
	}
	paths = append(paths, p.Path)
	for _, c := range lockfile.NewLayout(file).Copies {
		for _, name := range []string{c.Path, c.Approved} {
			if p.exists(name) && differs(name) {
				paths = append(paths, name)
			}
		}
	}
	return paths, nil
}

// commitMessage spells a commit: a subject, and trailers that name what was done.
func commitMessage(subject, reason string, trailers ...[2]string) string {
	var b strings.Builder
	b.WriteString(oneLine(subject) + "\n")
	if reason != "" {
		b.WriteString("\n" + strings.TrimSpace(reason) + "\n")
	}
	b.WriteString("\n")
	for _, t := range trailers {
		b.WriteString(t[0] + ": " + oneLine(t[1]) + "\n")
	}
	return b.String()
}

// oneLine keeps names of servers and items, which are hostile, on one line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == 0x2028 || r == 0x2029 || r == 0x85 {
			return ' '
		}
		return r
	}, s)
}

// putFile writes a file of the trust or decisions folder in one step. The folders
// above it are made; nothing is written through a link.
func (p *Project) putFile(name string, data []byte) error {
	folder := "."
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		folder = path.Join(folder, part)
		info, err := p.dir.Lstat(folder)
		switch {
		case err == nil && !info.IsDir():
			return &lockfile.LinkError{Path: folder}
		case err != nil:
			if err := p.dir.Mkdir(folder); err != nil {
				return fmt.Errorf("%s: %w", folder, err)
			}
		}
	}
	if info, err := p.dir.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return &lockfile.LinkError{Path: name}
	}
	temp := temporary(name)
	if err := p.dir.Create(temp, data, true); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := p.dir.Rename(temp, name); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", name, err), p.dir.Remove(temp))
	}
	return p.dir.SyncDir(path.Dir(name))
}

// temporary is where a file is written before it takes its place: a name that no
// other run uses, and not in the folders of trust versions and decisions, which
// hold nothing else. What a killed run leaves there is in nobody's way.
func temporary(name string) string {
	folder := path.Dir(name)
	if strings.HasPrefix(name, lockfile.Folder+"/") {
		folder = lockfile.Folder
	}
	return path.Join(folder, "."+rand.Text()+".tmp")
}
