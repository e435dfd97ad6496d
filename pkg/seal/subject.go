package seal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/internal/bounded"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/textcheck"
	"agentgateway-lock/pkg/trust"
)

// A Subject is a lockfile in a tree, with what is beside it: what a seal is about.
// [Tag], [Commit], [Folder] and [Bundle.Subject] make one.
type Subject struct {
	name   string // for messages
	origin Origin
	files  fs.FS  // the folder that holds .agentgateway
	path   string // of the lockfile, from there: what decisions call it
	folder string // that folder, from the root of the repository

	ref    string // of a tag
	tagID  gitrepo.Hash
	tag    *gitrepo.Tag
	commit gitrepo.Hash
}

// Commit is the lockfile at path in the folder of a commit (from the repository's
// root; empty for the root) that holds .agentgateway. One that a tag led to is of the
// origin OriginTag.
func Commit(ctx context.Context, repo *gitrepo.Repo, commit gitrepo.Hash, origin Origin, folder, path string) (*Subject, error) {
	files, err := repo.FS(ctx, commit, folder)
	if err != nil {
		return nil, err
	}
	return &Subject{name: "commit " + commit.Short(), origin: origin, files: files, path: path, folder: folder, commit: commit}, nil
}

// Tag is the lockfile in the commit that the tag of the full name ref
// ("refs/tags/…") points to. The tag's own signature is judged only where the tag is
// required; its form always is. An error is an [*Error] for a tag that is none, or
// one of pkg/gitrepo.
func Tag(ctx context.Context, repo *gitrepo.Repo, ref, folder, path string) (*Subject, error) {
	name, ok := strings.CutPrefix(ref, gitrepo.TagsPrefix)
	if !ok {
		return nil, &Error{RuleTagName, "tag " + textcheck.Quote(ref, textcheck.QuoteLength), "it is not the full name of a tag", "name it as refs/tags/NAME", nil}
	}
	tag, id, err := readTag(ctx, repo, "tag "+name, ref)
	if err != nil {
		return nil, err
	}
	s, err := Commit(ctx, repo, tag.Target, OriginTag, folder, path)
	if err != nil {
		return nil, err
	}
	s.name, s.ref, s.tag, s.tagID = "tag "+name, ref, tag, id
	return s, nil
}

// Folder is the lockfile at path in a folder that is checked out and holds
// .agentgateway. files must follow no links.
func Folder(files fs.FS, path string) *Subject {
	return &Subject{name: path, origin: OriginFolder, files: files, path: path}
}

// Subject is the lockfile of the bundle.
func (b *Bundle) Subject() *Subject {
	files := map[string][]byte{b.Path: b.Lockfile}
	for _, v := range b.Trust {
		files[trust.VersionPath(v.Number)] = v.Data
	}
	for _, d := range b.Decisions {
		files[d.Path] = d.Data
	}
	if suffix := b.Seal.Kind.Suffix(); suffix != "" {
		files[b.Path+suffix] = b.Seal.Data
	}
	return &Subject{name: bundleSubject, origin: OriginBundle, files: bounded.NewMemory(files), path: b.Path}
}

// fail is an error about the subject.
func (s *Subject) fail(rule Rule, hint string, cause error, format string, args ...any) *Error {
	return &Error{rule, s.name, fmt.Sprintf(format, args...), hint, cause}
}

// read reads the lockfile and verifies the trust list and the decisions beside it.
func (s *Subject) read(opts *Options) (*Sealed, error) {
	file, err := lockfile.Read(s.files, s.path)
	invalid, isInvalid := errors.AsType[*lockfile.Error](err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, s.fail(RuleLockfile, "name the lockfile of the repository, as it is committed", err, "it has no file %s", textcheck.Quote(s.path, textcheck.QuoteLength))
	case isInvalid:
		return nil, s.fail(RuleLockfile, "fix the lockfile, then "+hintSealAgain, err, "its lockfile does not parse: %v", invalid)
	case isAbout(err):
		return nil, s.fail(RuleLockfile, "name the lockfile of the repository, as it is committed", err, "%v", err)
	case err != nil:
		return nil, err
	}
	a, err := trust.Read(s.files, trust.ReadOptions{Root: opts.Root, Known: opts.Known, Verifier: opts.Verifier})
	if err == nil {
		err = a.Check(file)
	}
	if err != nil {
		return nil, s.distrust(err)
	}
	if id := a.Lost(file); !id.IsZero() {
		return nil, s.fail(RuleDecision, "restore the file with git", nil, "its lockfile names the decision %s, which is not there", id.Short())
	}
	file.Path = path.Join(s.folder, s.path)
	return &Sealed{
		Path: file.Path, Lockfile: file.Source(), File: file, Chain: a.Chain, Versions: a.Versions, Ledger: a.Ledger, Commit: s.commit,
	}, nil
}

// distrust names what the trust list or the decisions break; an error of reading
// stays one.
func (s *Subject) distrust(err error) error {
	if chain, ok := errors.AsType[*trust.ChainError](err); ok {
		rule := RuleTrust
		if chain.Rule == trust.RuleLost {
			rule = RuleStale
		}
		return s.fail(rule, chain.Advice, err, "its trust list does not verify: %v", chain)
	}
	if decision, ok := errors.AsType[*trust.DecisionError](err); ok {
		return s.fail(RuleDecision, decision.Hint(), err, "%v", decision)
	}
	return err
}

// isAbout reports whether an error is about a file as it is in the tree, and not
// about reading.
func isAbout(err error) bool {
	_, link := errors.AsType[*bounded.LinkError](err)
	_, size := errors.AsType[*bounded.SizeError](err)
	return link || size
}

// beside reads the detached seal of a kind that is beside the lockfile.
func (s *Subject) beside(r Require) ([]byte, error) {
	name := s.path + r.Suffix()
	data, err := bounded.File(s.files, name, r.limit())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, s.fail(RuleMissing, hintSealAgain+" and commit it, or make the bundle again", err, "it holds no %s", textcheck.Quote(name, textcheck.QuoteLength))
	case isAbout(err):
		return nil, s.fail(RuleSignature, hintSealAgain, err, "%v", err)
	}
	return data, err
}

// matches holds the two lines of a tag's message to what its commit holds.
func (s *Sealed) matches(name string, message []byte) error {
	sealed, version, detail := parseTagMessage(message)
	if detail != "" {
		return &Error{RuleTagMessage, name, detail, "make the tag with agentgateway seal --tag", nil}
	}
	if actual := canonical.Sum(s.Lockfile); sealed != actual {
		return &Error{RuleMismatch, name, fmt.Sprintf("it seals a lockfile with the SHA-256 %s, and the one there has %s", sealed.Short(), actual.Short()), hintSealAgain, nil}
	}
	if newest := s.Chain.Digest(); version != newest {
		return &Error{RuleStale, name, fmt.Sprintf("it names the trust version %s, and the newest there is %s", version.Short(), newest.Short()), hintSealAgain, nil}
	}
	return nil
}
