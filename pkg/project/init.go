package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"agentgateway-lock/internal/published"
	"agentgateway-lock/pkg/internal/atomicfile"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/report"
	"agentgateway-lock/pkg/trust"
)

// InitOptions say what an init does.
type InitOptions struct {
	Listing
	NoWorkflow   bool
	AllowPrivate []string // as in LockOptions
	AllowLiteral []string // as in LockOptions
}

// attributesPath is where git reads them, and maxAttributes bounds the file.
const (
	attributesPath = ".gitattributes"
	maxAttributes  = 1 << 20
)

// attributes keep git from converting what is hashed.
var attributes = []string{
	lockfile.DefaultName + " -text",
	lockfile.Folder + "/** -text",
}

// Init is the first lock, with the lines of .gitattributes that keep the lockfile
// from conversion and a workflow for the gate. It refuses to overwrite.
func (p *Project) Init(ctx context.Context, opts InitOptions) (*report.Report, error) {
	original := p.original
	if original {
		// The lockfile of the original format stays; this one is written beside it.
		if err := p.readOriginal(); err != nil {
			return nil, err
		}
	} else if p.exists(p.Path) {
		return nil, &hintError{fmt.Errorf("%s is already there", p.Path), fmt.Sprintf("run `%s lock` to bring it up to date", p.Env.Program)}
	}
	if !opts.NoWorkflow && p.exists(WorkflowPath) {
		return nil, &hintError{fmt.Errorf("%s is already there", WorkflowPath), "remove it, or pass --no-workflow"}
	}
	attributes, err := p.withAttributes()
	if err != nil {
		return nil, err
	}
	rep, locked, err := p.lock(ctx, LockOptions{Listing: opts.Listing, AllowPrivate: opts.AllowPrivate, AllowLiteral: opts.AllowLiteral})
	if err != nil {
		return nil, err
	}
	rep.Command = "init"
	if !p.exists(p.Path) {
		return rep, nil // nothing could be locked, so nothing is set up
	}
	if err := p.writeInit(attributes, !opts.NoWorkflow); err != nil {
		return nil, err
	}
	if err := p.remember(ctx, locked); err != nil {
		return nil, err
	}
	file, err := p.Load()
	if err != nil {
		return nil, err
	}
	next := fmt.Sprintf("Read %s and %s/, then commit them: git add .gitattributes %s %s", p.Path, lockfile.Folder, p.Path, lockfile.Folder)
	if !opts.NoWorkflow {
		next += " " + WorkflowPath
	}
	if len(file.Servers) == 0 {
		next = fmt.Sprintf("Nothing is pinned yet. Settle what is said above, then run `%s lock`; another `%[1]s init` is not needed.", p.Env.Program)
	}
	rep.Advice = append(rep.Advice, next)
	if !p.exists(trust.VersionFolder) {
		rep.Advice = append(rep.Advice, fmt.Sprintf("Run `%s trust init` to have every change approved by a person, with a signature.", p.Env.Program))
	}
	if original {
		rep.Advice = append(rep.Advice, OriginalName+" is as it was; remove it once nothing reads it any more.")
	}
	return rep, nil
}

// readOriginal makes the lockfile of the original format the one before the first.
func (p *Project) readOriginal() error {
	if _, err := p.Load(); err != nil {
		return err
	}
	p.Path, p.previous = lockfile.DefaultName, p.store
	p.original = false
	p.store = lockfile.NewStore(p.dir, p.Path)
	return nil
}

// withAttributes is .gitattributes with the lines that it lacks; empty where it
// lacks none. A link is not followed: the text would end up in the repository.
func (p *Project) withAttributes() (string, error) {
	have, err := p.dir.ReadFile(attributesPath, maxAttributes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", unreadable(err)
	}
	text := string(have)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for _, line := range attributes {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			text += line + "\n"
		}
	}
	if text == string(have) {
		return "", nil
	}
	return text, nil
}

// writeInit writes what init adds to a repository. Nothing is written through a
// link.
func (p *Project) writeInit(attributes string, workflowToo bool) error {
	if attributes != "" {
		if err := p.putFile(attributesPath, []byte(attributes)); err != nil {
			return unreadable(err)
		}
	}
	if !workflowToo {
		return nil
	}
	return unreadable(p.putFile(WorkflowPath, []byte(workflow(published.ActionRef))))
}

// WriteFile puts a whole file in place of the one before, in one step. Nothing is
// written through a link that a work tree holds.
func WriteFile(path string, data []byte) error {
	return unreadable(atomicfile.Write(path, data, 0o644))
}

// AppendFile adds to a file, as WriteFile writes one.
func AppendFile(path string, data []byte) error {
	return unreadable(atomicfile.Append(path, data, 0o644))
}
