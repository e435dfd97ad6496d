package seal

import (
	"context"
	"errors"
	"fmt"
	"path"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/trust"
)

// content is what a seal is judged by: a lockfile and the trust list beside it.
type content struct {
	subject string // what holds it, for messages
	path    string // of the lockfile
	bytes   []byte
	file    *lockfile.File
	chain   *trust.Chain // nil without a trust list
}

// readContent parses a lockfile and verifies the trust chain beside it.
func readContent(subject, path string, text []byte, versions []trust.File, root *canonical.Digest) (*content, error) {
	c := &content{subject: subject, path: path, bytes: text}
	var err error
	if c.file, err = lockfile.Parse(text); err != nil {
		return nil, &Error{RuleLockfile, subject, "its lockfile does not parse: " + err.Error(), "mend the lockfile, then " + hintSealAgain, err}
	}
	c.file.Path = path
	if c.chain, err = trust.LoadChain(versions, root, nil); err != nil {
		e := &Error{RuleTrust, subject, "its trust list does not verify: " + err.Error(), "", err}
		if chain, ok := errors.AsType[*trust.ChainError](err); ok {
			e.Hint = chain.Hint
		}
		return nil, e
	}
	if err := c.holdsTrust(); err != nil {
		return nil, err
	}
	return c, nil
}

// holdsTrust says whether the chain is the one that the lockfile was written
// under, or a later one.
func (c *content) holdsTrust() error {
	named := c.file.Trust
	switch {
	case named.IsZero():
		return nil
	case c.chain == nil:
		return &Error{RuleTrust, c.subject, "its lockfile was written under a trust list, and there is none", "restore the folder .agentgateway/trust with git", nil}
	case !c.chain.Contains(named):
		return &Error{RuleStale, c.subject, "its lockfile was written under the trust version " + named.Short() + ", which its trust list does not hold", "restore the folder .agentgateway/trust with git, or run agentgateway lock", nil}
	}
	return nil
}

func (c *content) noTrust() error {
	return &Error{RuleTrust, c.subject, "it has no trust list, so nobody may seal", hintNoTrust, nil}
}

func (c *content) sealed(r Require) *Sealed {
	return &Sealed{Require: r, Path: c.path, Lockfile: c.bytes, File: c.file, Chain: c.chain}
}

// readCommit reads the lockfile and the trust chain beside it.
func readCommit(ctx context.Context, repo *gitrepo.Repo, commit gitrepo.Hash, subject, lockPath string, root *canonical.Digest) (*content, error) {
	text, _, err := repo.File(ctx, commit, lockPath, lockfile.MaxSize)
	if mode, ok := errors.AsType[*gitrepo.ModeError](err); ok || errors.Is(err, gitrepo.ErrNotFound) {
		detail := "its commit has no file " + quote(lockPath)
		if ok {
			detail = mode.Error()
		}
		return nil, &Error{RuleLockfile, subject, detail, "name the lockfile of the repository, as it is committed", err}
	} else if err != nil {
		return nil, err
	}
	files, err := readTrust(ctx, repo, commit, path.Dir(lockPath))
	if mode, ok := errors.AsType[*gitrepo.ModeError](err); ok {
		return nil, &Error{RuleTrust, subject, mode.Error(), "commit the trust list as regular files", err}
	} else if err != nil {
		return nil, err
	}
	return readContent(subject, lockPath, text, files, root)
}

// trustFolder is where trust versions stand, from the folder of the lockfile.
var trustFolder = path.Dir(trust.VersionPath(1))

// readTrust reads the trust versions that a folder of a commit holds.
func readTrust(ctx context.Context, repo *gitrepo.Repo, commit gitrepo.Hash, folder string) ([]trust.File, error) {
	entries, err := repo.Dir(ctx, commit, path.Join(folder, trustFolder))
	if errors.Is(err, gitrepo.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var files []trust.File
	for _, e := range entries {
		name := path.Join(trustFolder, e.Name)
		n, ok := trust.ParseVersionPath(name)
		if !ok || len(files) > trust.MaxVersions { // one too many, for the chain to refuse
			continue
		}
		data, _, err := repo.File(ctx, commit, path.Join(folder, name), trust.MaxVersionSize)
		if err != nil {
			return nil, err
		}
		files = append(files, trust.File{Number: n, Data: data})
	}
	return files, nil
}

// matches holds the two lines of a message to what the commit holds.
func (c *content) matches(message []byte) error {
	sealed, version, detail := parseTagMessage(message)
	if detail != "" {
		return &Error{RuleTagMessage, c.subject, detail, "make the tag with agentgateway seal --tag", nil}
	}
	if actual := canonical.Sum(c.bytes); sealed != actual {
		return &Error{RuleMismatch, c.subject, fmt.Sprintf("it seals a lockfile with the SHA-256 %s, and the one there has %s", sealed.Short(), actual.Short()), hintSealAgain, nil}
	}
	if newest := c.chain.Digest(); version != newest {
		return &Error{RuleStale, c.subject, fmt.Sprintf("it names the trust version %s, and the newest there is %s", version.Short(), newest.Short()), hintSealAgain, nil}
	}
	return nil
}
