package project

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"agentgateway-lock/internal/published"
	"agentgateway-lock/pkg/finding"
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
	configured, err := p.keepDirect(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.remember(ctx, locked); err != nil {
		return nil, err
	}
	file, err := p.Load()
	if err != nil {
		return nil, err
	}
	rep.Advice = append(floatingTogether(rep), rep.Advice...)
	if configured != "" {
		rep.Advice = append(rep.Advice, configured)
	}
	next := fmt.Sprintf("Read %s and %s/, then commit them: git add .gitattributes %s %s", p.Path, lockfile.Folder, p.Path, lockfile.Folder)
	if !opts.NoWorkflow {
		next += " " + WorkflowPath
	}
	if p.exists(portableName) && len(p.options.Direct) > 0 {
		next += " " + portableName
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

// portableName is the configuration that init writes for servers that are given on
// the command line, where there is no other.
const portableName = "mcp.json"

// keepDirect puts the servers of --server into a configuration, where the gate will
// find them again: it writes one where there is none, and else returns the lines to
// add to the first that is there.
func (p *Project) keepDirect(ctx context.Context) (advice string, err error) {
	if len(p.options.Direct) == 0 {
		return "", nil
	}
	set, err := p.configured(ctx, &lockfile.File{}, slices.Collect(maps.Keys(p.options.Direct)))
	if err != nil {
		return "", err
	}
	type entry struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	servers := map[string]entry{}
	for name, address := range p.options.Direct {
		if s := set.Server(name); s == nil || len(s.Places) == 0 {
			servers[name] = entry{"http", address}
		}
	}
	if len(servers) == 0 {
		return "", nil // the configurations have them all
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(map[string]any{"mcpServers": servers}); err != nil {
		return "", err
	}
	if len(set.Read) == 0 && !p.exists(portableName) {
		return fmt.Sprintf("Wrote %s, so that `%s ci` finds the servers of --server again.", portableName, p.Env.Program), unreadable(p.putFile(portableName, text.Bytes()))
	}
	file := portableName
	if len(set.Read) > 0 {
		file = set.Read[0]
	}
	return fmt.Sprintf("Add these lines to %s, so that `%s ci` finds the servers of --server again:\n%s", file, p.Env.Program, text.String()), nil
}

// floatingTogether takes the notes on what is left open in sources out of a report
// and returns them as one piece of advice.
func floatingTogether(rep *report.Report) []string {
	var lines []string
	rep.Findings = slices.DeleteFunc(rep.Findings, func(f finding.Finding) bool {
		if f.Code != finding.SourceFloating && f.Code != finding.SourcePlaintext {
			return false
		}
		lines = append(lines, fmt.Sprintf("%s (%s:%d): %s", f.Place.Server, f.Place.File, f.Place.Line, f.Hint))
		return true
	})
	if len(lines) == 0 {
		return nil
	}
	return []string{"Some sources leave open what runs, or who can read along. Where that is not meant, give them fixed words:\n" + strings.Join(lines, "\n")}
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
