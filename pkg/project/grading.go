package project

import (
	"context"
	"slices"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// texts finds the texts of digests: as the copy of an item or the one beside it,
// in the work tree or on the base, and else in the history of HEAD.
type texts struct {
	ctx   context.Context //nolint:containedctx // it lives as long as one run
	p     *Project
	sides []textSide
	// folders holds every form that the folder of the copies had in the history of
	// HEAD; nil before it was asked for.
	folders []gitrepo.Hash
	found   map[textOf]*restoredText
}

// textSide is a tree in which copies are.
type textSide struct {
	layout *lockfile.Layout
	read   func(path string) ([]byte, error)
}

// textOf names a text.
type textOf struct {
	surface.Key
	digest canonical.Digest
}

// textsOf finds texts of a lockfile of the work tree; base may be nil.
func (p *Project) textsOf(ctx context.Context, file *lockfile.File, base *Base) *texts {
	t := &texts{ctx: ctx, p: p, found: map[textOf]*restoredText{}}
	t.sides = append(t.sides, textSide{lockfile.NewLayout(file), p.store.ReadCopy})
	if base != nil && base.Lockfile != nil {
		t.sides = append(t.sides, textSide{lockfile.NewLayout(base.Lockfile), func(path string) ([]byte, error) { return p.fileAt(ctx, base.Commit, path) }})
	}
	return t
}

// find returns the text of a digest; nil where it is not at hand.
func (t *texts) find(key surface.Key, digest canonical.Digest) []byte {
	if r := t.restored(key, digest); r != nil {
		return r.text()
	}
	return nil
}

// restored returns the text of a digest with its hashes; nil where it is not at
// hand.
func (t *texts) restored(key surface.Key, digest canonical.Digest) *restoredText {
	name := textOf{key, digest}
	text, known := t.found[name]
	if !known {
		if text = t.onSides(key, digest); text == nil {
			text = t.inHistory(key, digest)
		}
		t.found[name] = text
	}
	return text
}

func (t *texts) onSides(key surface.Key, digest canonical.Digest) *restoredText {
	for _, side := range t.sides {
		c, ok := side.layout.Copy(key)
		if !ok {
			continue
		}
		for _, path := range []string{c.Path, c.Approved} {
			if text, err := side.read(path); err == nil {
				if r := restore(key, text, digest); r != nil {
					return r
				}
			}
		}
	}
	return nil
}

// inHistory looks for a text in all that the copy and the one beside it have been,
// through every parent of a merge. What a clone lacks of its history is not at
// hand.
func (t *texts) inHistory(key surface.Key, digest canonical.Digest) *restoredText {
	if t.p.repo == nil {
		return nil
	}
	if t.folders == nil {
		t.folders = t.p.copyFolders(t.ctx)
	}
	seen := map[gitrepo.Hash]bool{}
	for _, side := range t.sides {
		c, ok := side.layout.Copy(key)
		if !ok {
			continue
		}
		for _, path := range []string{c.Path, c.Approved} {
			for _, folder := range t.folders {
				entry, found, err := t.p.repo.Lookup(t.ctx, folder, path[len(lockfile.DefinitionsFolder)+1:])
				if err != nil || !found || seen[entry.ID] {
					continue
				}
				seen[entry.ID] = true
				if text, err := t.p.repo.Blob(t.ctx, entry.ID); err == nil {
					if r := restore(key, text, digest); r != nil {
						return r
					}
				}
			}
		}
	}
	return nil
}

// copyFolders lists the trees that the folder of the copies has been in the history
// of HEAD, as far as the clone has it, the newest first; never nil.
func (p *Project) copyFolders(ctx context.Context) []gitrepo.Hash {
	folders := []gitrepo.Hash{}
	head, err := p.repo.Resolve(ctx, "HEAD")
	if err != nil {
		return folders
	}
	at, err := p.gitPath(lockfile.DefinitionsFolder)
	if err != nil {
		return folders
	}
	nodes, err := p.repo.History(ctx, head)
	if err != nil {
		return folders
	}
	seen := map[gitrepo.Hash]bool{}
	for _, node := range slices.Backward(nodes) { // parents come first
		entry, found, err := p.repo.Lookup(ctx, node.Tree, at)
		if err == nil && found && entry.Mode == gitrepo.ModeFolder && !seen[entry.ID] {
			seen[entry.ID] = true
			folders = append(folders, entry.ID)
		}
	}
	return folders
}

// grade grades the text of an item as a decision is to record it: the worst of the
// grades against each of the digests that it has to be held against (see
// [trust.State.Against]). ok is false where one of these texts is not at hand; the
// grade is critical then.
func (t *texts) grade(state *trust.State, key surface.Key, digest canonical.Digest, against []canonical.Digest) (grade finding.Grade, ok bool) {
	if key.Kind == surface.KindSource {
		return finding.Critical, true
	}
	if len(against) == 0 {
		return state.GradeOfNew(key.Kind), true
	}
	now := t.find(key, digest)
	grade, ok = finding.Info, true
	for _, d := range against {
		if d == digest {
			continue
		}
		before := t.find(key, d)
		if before == nil || now == nil {
			return finding.Critical, false
		}
		grade = max(grade, drift.Between(key.Kind, key.Name, before, now).Grade())
	}
	return grade, ok
}
