package project

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/report"
	"agentgateway-lock/pkg/surface"
)

// otherHeads name the commit that is being merged, as git leaves it in its folder.
var otherHeads = []string{"MERGE_HEAD", "REBASE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"}

// Resolve rebuilds a lockfile that a merge left in conflict, without contacting
// any server: what one side alone changed is taken, of what both changed this
// side's. Items that both sides decided stay in conflict until a person decides
// again; nothing is in force for them until then.
func (p *Project) Resolve(ctx context.Context) (*report.Report, error) {
	ours, theirs, base, err := p.mergeSides(ctx)
	if err != nil {
		return nil, err
	}
	m := &merging{p: p, ctx: ctx, ours: ours, theirs: theirs, base: base}
	if err := m.signed(); err != nil {
		return nil, err
	}
	merged := m.file()
	if err := p.putFile(p.Path, lockfile.Format(merged)); err != nil {
		return nil, err
	}
	written, err := p.store.Read()
	if err != nil {
		return nil, err
	}
	fresh := *written
	fresh.Servers = slices.Clone(written.Servers)
	if _, err := p.store.Write(ctx, lockfile.Change{Old: written, New: &fresh, Surfaces: m.surfaces(written)}); err != nil {
		return nil, unwritten(err)
	}
	rep := p.newReport("lock", "resolved "+p.Path+" from both sides of the merge", finding.Critical)
	rep.Findings = append(rep.Findings, m.findings...)
	for _, name := range m.lost {
		f := finding.New(finding.DefinitionMissing, finding.Place{Server: name, File: p.Path}, "a text is on neither side; it must be listed again")
		f.Hint = fmt.Sprintf("Run `%s lock %s`.", p.Env.Program, name)
		rep.Findings = append(rep.Findings, f)
	}
	rep.Advice = append(rep.Advice, fmt.Sprintf("Look at it with `%s diff --from HEAD`, then git add %s %s and finish the merge.", p.Env.Program, p.Path, lockfile.Folder))
	rep.Verdict = report.Pass
	finding.Sort(rep.Findings)
	if len(rep.Findings) > 0 {
		rep.Verdict, rep.ExitCode = report.Undecided, 3
	}
	return rep, nil
}

// side is the lockfile of one commit and its copies.
type side struct {
	commit gitrepo.Hash
	file   *lockfile.File
}

// mergeSides reads both sides of a merge and what they come from.
func (p *Project) mergeSides(ctx context.Context) (ours, theirs, base side, err error) {
	if p.repo == nil {
		return ours, theirs, base, fmt.Errorf("%s is not in a git repository, so no merge is under way", p.Root)
	}
	if ours.commit, err = p.repo.Resolve(ctx, "HEAD"); err != nil {
		return ours, theirs, base, err
	}
	if theirs.commit, err = p.otherHead(ctx); err != nil {
		return ours, theirs, base, err
	}
	if base.commit, err = p.repo.MergeBase(ctx, ours.commit, theirs.commit); err != nil {
		return ours, theirs, base, err
	}
	for _, s := range []*side{&ours, &theirs, &base} {
		s.file = &lockfile.File{}
		if s.commit.IsZero() {
			continue
		}
		file, err := p.lockfileAt(ctx, s.commit)
		if err != nil {
			return ours, theirs, base, fmt.Errorf("%s at %s: %w", p.Path, s.commit.Short(), err)
		}
		if file != nil {
			s.file = file
		}
	}
	return ours, theirs, base, nil
}

func (p *Project) otherHead(ctx context.Context) (gitrepo.Hash, error) {
	for _, name := range otherHeads {
		text, err := os.ReadFile(filepath.Join(p.repo.GitDir(), name))
		if err != nil {
			continue
		}
		return p.repo.Resolve(ctx, strings.TrimSpace(string(text)))
	}
	return gitrepo.Hash{}, &hintError{errors.New("no merge is under way, so there is nothing to resolve"), "without a merge, run lock without --resolve"}
}

// merging is one three-way merge of lockfiles.
type merging struct {
	p                  *Project
	ctx                context.Context //nolint:containedctx // it lives as long as one merge
	ours, theirs, base side
	findings           []finding.Finding
	lost               []string // servers of which a text is on neither side
}

func (m *merging) file() *lockfile.File {
	out := &lockfile.File{GeneratedBy: m.ours.file.GeneratedBy, GeneratedAt: m.ours.file.GeneratedAt}
	out.Trust = pick(m.base.file.Trust, m.ours.file.Trust, m.theirs.file.Trust)
	names := map[string]bool{}
	for _, s := range slices.Concat(m.ours.file.Servers, m.theirs.file.Servers) {
		names[s.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if s := m.server(m.base.file.Server(name), m.ours.file.Server(name), m.theirs.file.Server(name)); s != nil {
			out.Put(s)
		}
	}
	return out
}

// pick takes what one side alone changed; of what both changed, ours.
func pick[T comparable](base, ours, theirs T) T {
	if ours == base {
		return theirs
	}
	return ours
}

// entryText spells an entry, to compare it.
func entryText(s *lockfile.Server) string {
	if s == nil {
		return ""
	}
	f := &lockfile.File{Servers: []*lockfile.Server{s}}
	return string(lockfile.Format(f))
}

func (m *merging) server(base, ours, theirs *lockfile.Server) *lockfile.Server {
	was, here, there := entryText(base), entryText(ours), entryText(theirs)
	switch {
	case here == there || there == was:
		return ours
	case here == was:
		return theirs
	case ours == nil:
		return theirs // removed here and changed there: it is shown, not lost
	case theirs == nil:
		return ours
	}
	if base == nil {
		base = &lockfile.Server{Name: ours.Name}
	}
	out := ours.Clone()
	if ours.Source.Equal(base.Source) {
		out.Source, out.SourceDecision = theirs.Source, theirs.SourceDecision
	}
	out.Decision = pick(base.Decision, ours.Decision, theirs.Decision)
	m.instructions(base, theirs, out)
	for _, k := range surface.ListKinds() {
		m.items(k.Kind, base, theirs, out)
	}
	out.Rehash()
	return out
}

func (m *merging) instructions(base, theirs, out *lockfile.Server) {
	if out.Instructions == nil || base.Instructions != nil && *out.Instructions == *base.Instructions {
		out.Instructions = theirs.Instructions
	}
}

// sameItem compares what is locked and decided of two items.
func sameItem(a, b *lockfile.Item) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Digest == b.Digest && a.GatewayDigest == b.GatewayDigest && a.Decision == b.Decision && a.Absent == b.Absent &&
		(a.Tool == nil || b.Tool == nil || *a.Tool == *b.Tool)
}

func (m *merging) items(kind surface.Kind, base, theirs, out *lockfile.Server) {
	items := slices.Clone(out.Lists[kind])
	for _, it := range theirs.Lists[kind] {
		was, here := base.Item(kind, it.Name), out.Item(kind, it.Name)
		switch {
		case here == nil && was == nil:
			items = append(items, it)
		case here != nil && sameItem(here, was):
			items[slices.IndexFunc(items, func(x lockfile.Item) bool { return x.Name == it.Name })] = it
		case here != nil && !sameItem(here, &it) && !sameItem(was, &it):
			m.findings = append(m.findings, m.bothChanged(out.Name, kind, it.Name))
		}
	}
	items = slices.DeleteFunc(items, func(it lockfile.Item) bool {
		was := base.Item(kind, it.Name)
		return theirs.Item(kind, it.Name) == nil && was != nil && sameItem(was, &it)
	})
	slices.SortFunc(items, func(a, b lockfile.Item) int { return strings.Compare(a.Name, b.Name) })
	if len(items) > 0 || out.Lists[kind] != nil {
		out.Lists[kind] = items
	}
}

func (m *merging) bothChanged(server string, kind surface.Kind, name string) finding.Finding {
	place := finding.Place{Server: server, Kind: kind, Name: name, File: m.p.Path}
	f := finding.New(finding.LockfileInvalid, place, "both sides changed it; this side's is kept")
	f.Grade, f.Undecided = finding.Warning, true
	f.Hint = fmt.Sprintf("Run `%s lock %s` for what the server shows now, then review it.", m.p.Env.Program, server)
	return f
}

// surfaces finds the text of every item that the work tree's copy does not have
// with the merged digest, on either side.
func (m *merging) surfaces(file *lockfile.File) map[string]surface.Surface {
	here := m.p.copies(file)
	sides := []entryCopies{}
	for _, s := range []side{m.ours, m.theirs} {
		sides = append(sides, copiesOf(file, func(path string) ([]byte, error) { return m.p.fileAt(m.ctx, s.commit, path) }))
	}
	out := map[string]surface.Surface{}
	for _, server := range file.Servers {
		found := surface.Surface{Lists: map[surface.Kind]surface.List{}}
		for kind, items := range server.Lists {
			for i := range items {
				m.find(server, kind, &items[i], here, sides, &found)
			}
		}
		if in := server.Instructions; in != nil {
			for _, copies := range sides {
				if text := copies(server)(surface.KindInstructions, ""); text != nil && canonical.Sum(text) == in.Hash {
					found.Instructions = surface.NewInstructions(string(text))
				}
			}
		}
		out[server.Name] = found
	}
	return out
}

func (m *merging) find(server *lockfile.Server, kind surface.Kind, it *lockfile.Item, here entryCopies, sides []entryCopies, found *surface.Surface) {
	if it.Digest.IsZero() || here(server)(kind, it.Name) != nil {
		return
	}
	for _, copies := range sides {
		text := copies(server)(kind, it.Name)
		if text == nil {
			continue
		}
		if d, err := surface.Read(kind, text); err == nil {
			list := found.Lists[kind]
			list.Definitions = append(list.Definitions, d)
			found.Lists[kind] = list
			return
		}
	}
	if !slices.Contains(m.lost, server.Name) {
		m.lost = append(m.lost, server.Name)
	}
}
