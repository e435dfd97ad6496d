package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/internal/bounded"
	"agentgateway-lock/pkg/internal/parallel"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// An Authority is what a tree says about who may decide and what was decided.
type Authority struct {
	Chain *Chain // nil where there is no trust list
	// Versions are the files of the chain, by number, the one that waits included.
	Versions []File
	Ledger   *Ledger
}

// ReadOptions say how a tree is read. The zero value is that of a reader who knows
// nothing beforehand.
type ReadOptions struct {
	// Root is the trust root: see [LoadChain].
	Root *canonical.Digest
	// Known has verified decisions before: see [NewLedger].
	Known *Ledger
	// Verifier verifies signatures; nil means [SSH]. [Once] makes one that verifies
	// each signature once, however many trees hold it.
	Verifier Verifier
}

// Read reads and verifies the trust list and the decisions of a tree, checked out or
// committed. fsys is the folder that holds .agentgateway, and follows no links.
//
// What is wrong with a trust list as a whole is a [*ChainError]: a file in its
// folder that is no trust version by its name, a link or a folder there, a folder
// whose name differs from it by case alone. A file of the decisions folder that is
// no decision is kept with the reason in the ledger: see [Ledger.Invalid] and
// [Authority.Check]. Any other error means that the tree could not be read.
func Read(fsys fs.FS, opts ReadOptions) (*Authority, error) {
	a := &Authority{}
	var err error
	if err := noTwins(fsys); err != nil {
		return nil, err
	}
	if a.Versions, err = ReadVersions(fsys, VersionFolder); err != nil {
		return nil, err
	}
	if a.Chain, err = LoadChain(a.Versions, opts.Root, opts.Verifier); err != nil {
		return nil, err
	}
	a.Ledger, err = readDecisions(fsys, opts.Known, opts.Verifier)
	return a, err
}

// Check refuses a tree in which it is not certain what was decided about a lockfile:
// a decision that does not verify may be there to hide one that does, decisions
// without a trust list cannot be judged, and a trust list that lacks the version
// which the lockfile names is an older one. The error is a [*DecisionError] or a
// [*ChainError]. [Evaluate] reports the same as findings.
func (a *Authority) Check(f *lockfile.File) error {
	switch bad := a.Ledger.Invalid(); {
	case len(bad) > 0:
		return &DecisionError{bad[0].Path, len(bad) - 1, bad[0].Err}
	case a.Chain == nil && a.Ledger.Len() > 0:
		return &ChainError{Rule: RuleNoList, Detail: "there are decisions, and no trust list to judge them by", Advice: hintRestoreTrust}
	case f.Trust.IsZero() || a.Chain != nil && a.Chain.Contains(f.Trust):
		return nil
	case a.Chain == nil:
		return &ChainError{Rule: RuleNoList, Detail: fmt.Sprintf("the lockfile was written under the trust version %s, and there is no trust list", f.Trust.Short()), Advice: hintRestoreTrust}
	default:
		return &ChainError{Rule: RuleLost, Detail: fmt.Sprintf("the lockfile names the trust version %s, which is not in force", f.Trust.Short()),
			Advice: hintRestoreTrust + ", or run agentgateway lock"}
	}
}

// Lost returns a decision that the lockfile names and the tree lacks; zero for none.
// Nothing is in force for its item, which a person can decide anew; nobody seals or
// serves such a tree.
func (a *Authority) Lost(f *lockfile.File) canonical.Digest {
	for it := range f.Items() {
		if d := it.Decision; d != nil && !d.IsZero() && a.Ledger.Decision(*d) == nil {
			return *d
		}
	}
	return canonical.Digest{}
}

// A DecisionError says that a file of the decisions folder is no decision, or does
// not verify.
type DecisionError struct {
	Path string
	More int // further ones
	Err  error
}

// Error implements error.
func (e *DecisionError) Error() string {
	if e.More > 0 {
		return fmt.Sprintf("%d files are no decisions that verify, first %s: %v", e.More+1, textcheck.Quote(e.Path, textcheck.QuoteLength), e.Err)
	}
	return fmt.Sprintf("%s is no decision that verifies: %v", textcheck.Quote(e.Path, textcheck.QuoteLength), e.Err)
}

// Unwrap returns Err.
func (e *DecisionError) Unwrap() error { return e.Err }

// Code is the code of the finding that the error makes.
func (e *DecisionError) Code() finding.Code { return finding.DecisionInvalid }

// Hint says what to do next.
func (e *DecisionError) Hint() string {
	return "restore the file with git, or remove one that was not there"
}

// maxSiblings bounds the entries of a folder that is not ours alone.
const maxSiblings = 1 << 20

// ReadVersions reads the files of the trust folder, which is called folder in fsys.
// Every error that is about the tree is a [*ChainError].
func ReadVersions(fsys fs.FS, folder string) ([]File, error) {
	entries, err := bounded.Folder(fsys, folder, MaxVersions)
	if err != nil {
		return nil, chainError(err)
	}
	files := make([]File, 0, len(entries))
	for _, e := range entries {
		n, ok := ParseVersionPath(path.Join(VersionFolder, e.Name()))
		if !ok {
			return nil, &ChainError{Rule: RuleStray, Detail: textcheck.Quote(path.Join(VersionFolder, e.Name()), textcheck.QuoteLength) + " is no trust version, by its name", Advice: "remove it: the folder holds 1.json, 2.json and so on"}
		}
		data, err := bounded.File(fsys, path.Join(folder, e.Name()), MaxVersionSize)
		if err != nil {
			return nil, chainError(err)
		}
		files = append(files, File{n, data})
	}
	return files, nil
}

// chainError names what a trust folder breaks; an error of reading stays one.
func chainError(err error) error {
	var (
		rule Rule
		link *bounded.LinkError
		size *bounded.SizeError
		many *bounded.CountError
	)
	switch {
	case errors.As(err, &link):
		rule = RuleLink
	case errors.As(err, &size):
		rule = RuleSize
	case errors.As(err, &many):
		rule = RuleLength
	default:
		return err
	}
	return &ChainError{Rule: rule, Detail: err.Error(), Advice: hintRestoreTrust, Err: err}
}

// noTwins refuses what is beside a folder of ours under a name that differs by case
// alone: on some systems the two are one, so that another tree is checked out than
// is committed.
func noTwins(fsys fs.FS) error {
	for _, ours := range [...]string{lockfile.Folder, VersionFolder, DecisionFolder} {
		entries, err := bounded.Folder(fsys, path.Dir(ours), maxSiblings)
		if err != nil {
			return chainError(err)
		}
		for _, e := range entries {
			if err := Twin(ours, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Twin refuses the name of what is beside ours, a path, where the two differ by case
// alone.
func Twin(ours, name string) error {
	own := path.Base(ours)
	if name == own || len(name) != len(own) || !strings.EqualFold(name, own) { // ours is ASCII
		return nil
	}
	return &ChainError{Rule: RuleTwin, Detail: fmt.Sprintf("%s differs from %s by case alone, and is the same on some systems", textcheck.Quote(path.Join(path.Dir(ours), name), textcheck.QuoteLength), ours), Advice: "remove it with git"}
}

// A place is one file of the decisions folder.
type place struct {
	path string
	err  error // why it is no decision
}

// readDecisions reads and verifies the decisions folder, on all cores.
func readDecisions(fsys fs.FS, known *Ledger, v Verifier) (*Ledger, error) {
	places, err := decisionPlaces(fsys)
	if err != nil {
		return nil, err
	}
	return collect(len(places), v, func(i int, v Verifier) (string, *entry, error, error) {
		at := &places[i]
		if at.err != nil {
			return at.path, nil, at.err, nil
		}
		data, err := bounded.File(fsys, at.path, MaxDecisionSize)
		if isAbout(err) {
			return at.path, nil, err, nil
		}
		if err != nil {
			return at.path, nil, nil, fmt.Errorf("%s: %w", at.path, err)
		}
		e, invalid := readEntry(&DecisionFile{at.path, data}, known, v)
		return at.path, e, invalid, nil
	})
}

// isAbout reports whether an error is about a file as it is in the tree, and not
// about reading.
func isAbout(err error) bool {
	_, link := errors.AsType[*bounded.LinkError](err)
	_, size := errors.AsType[*bounded.SizeError](err)
	return link || size
}

// decisionPlaces lists what is in the decisions folder. Folders that are empty are
// not in git, and nothing here.
func decisionPlaces(fsys fs.FS) ([]place, error) {
	groups, err := bounded.Folder(fsys, DecisionFolder, MaxDecisions)
	if err != nil {
		return nil, decisionsError(err)
	}
	var places []place
	for _, g := range groups {
		name := path.Join(DecisionFolder, g.Name())
		if !g.IsDir() {
			places = append(places, place{name, errPlace()})
			continue
		}
		files, err := bounded.Folder(fsys, name, MaxDecisions-len(places))
		if err != nil {
			return nil, decisionsError(err)
		}
		for _, f := range files {
			at := place{path: path.Join(name, f.Name())}
			if _, ok := ParseDecisionPath(at.path); !ok {
				at.err = errPlace()
			}
			places = append(places, at)
		}
	}
	return places, nil
}

// DecisionPaths lists the files of the decisions folder of a tree that are decisions
// by their places.
func DecisionPaths(fsys fs.FS) ([]string, error) {
	places, err := decisionPlaces(fsys)
	var paths []string
	for _, p := range places {
		if p.err == nil {
			paths = append(paths, p.path)
		}
	}
	return paths, err
}

func errPlace() error {
	return &FormatError{Subject: decisionSubject, Rule: RuleValue, Detail: "its place is not the one of a decision: decisions/<2 digits>/<id>.json"}
}

// decisionsError names what the decisions folder as a whole breaks.
func decisionsError(err error) error {
	if count, ok := errors.AsType[*bounded.CountError](err); ok {
		return tooMany(count.Limit + 1)
	}
	if isAbout(err) {
		return &DecisionError{Path: DecisionFolder, Err: err}
	}
	return err
}

func tooMany(n int) error {
	return &FormatError{Subject: "decisions", Rule: RuleSize, Detail: fmt.Sprintf("there are %d decision files or more; the limit is %d", n, MaxDecisions)}
}

// collect makes a ledger of n files. read returns a file's path with its entry, or
// with why it is no decision, or the error that ends it all.
func collect(n int, v Verifier, read func(i int, v Verifier) (path string, e *entry, invalid, err error)) (*Ledger, error) {
	if v == nil {
		v = SSH{}
	}
	type result struct {
		path    string
		entry   *entry
		invalid error
	}
	results := make([]result, n)
	err := parallel.Each(n, func(i int) (err error) {
		r := &results[i]
		r.path, r.entry, r.invalid, err = read(i, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	l := &Ledger{entries: make(map[canonical.Digest]*entry, n), items: map[home]map[surface.Key][]ref{}}
	for _, r := range results {
		if r.invalid != nil {
			l.invalid = append(l.invalid, InvalidFile{r.path, r.invalid})
			continue
		}
		l.add(r.entry)
	}
	return l, nil
}
