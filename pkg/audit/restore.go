package audit

import (
	"context"
	"errors"
	"fmt"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
)

// ErrNoParent says that there is nothing before a commit: it is the first one, or
// its first parent has no lockfile.
var ErrNoParent = errors.New("there is no lockfile before this commit")

// maxRestored bounds the bytes of the copies that are restored.
const maxRestored = 256 << 20

// A Before is what the first parent of a commit had locked.
type Before struct {
	Commit, Parent gitrepo.Hash
	Lockfile       *lockfile.File // as it stood
	// Surfaces holds the texts of the locked items, by server, read from the
	// readable copies; they fit a lockfile.Change.
	Surfaces map[string]surface.Surface
	// Missing lists copies, from Folder, that were not there or could not be read.
	Missing []string
}

// ReadBefore reads lockfile and copies as they stood before a commit, from its
// first parent. Of opts, Folder and Lockfile are used. It fails with ErrNoParent, a
// *lockfile.Error, or an error of reading git.
func ReadBefore(ctx context.Context, repo *gitrepo.Repo, commit gitrepo.Hash, opts Options) (*Before, error) {
	l := opts.layout()
	parent, err := repo.FirstParent(ctx, commit)
	if err != nil {
		return nil, err
	}
	if parent.IsZero() {
		return nil, fmt.Errorf("commit %s: %w", commit.Short(), ErrNoParent)
	}
	src, _, err := repo.File(ctx, parent, l.in(l.lockfile), lockfile.MaxSize)
	if errors.Is(err, gitrepo.ErrNotFound) {
		return nil, fmt.Errorf("commit %s: %w", commit.Short(), ErrNoParent)
	}
	if err != nil {
		return nil, err
	}
	f, err := lockfile.Parse(src)
	if err != nil {
		return nil, err
	}
	b := &Before{Commit: commit, Parent: parent, Lockfile: f, Surfaces: make(map[string]surface.Surface, len(f.Servers))}
	return b, b.readCopies(ctx, repo, l)
}

func (b *Before) readCopies(ctx context.Context, repo *gitrepo.Repo, l layout) error {
	raws := map[string]map[surface.Kind][][]byte{}
	for _, s := range b.Lockfile.Servers {
		b.Surfaces[s.Name] = surface.Surface{Lists: map[surface.Kind]surface.List{}}
		raws[s.Name] = map[surface.Kind][][]byte{}
	}
	left := int64(maxRestored)
	for _, c := range lockfile.NewLayout(b.Lockfile).Copies {
		text, _, err := repo.File(ctx, b.Parent, l.in(c.Path), min(left, lockfile.MaxCopySize))
		if unreadable(err) {
			b.Missing = append(b.Missing, c.Path)
			continue
		}
		if err != nil {
			return err
		}
		left -= int64(len(text))
		if c.Kind == surface.KindInstructions {
			err = b.instructions(c.Server, text)
		} else {
			var raw []byte
			if raw, err = lockfile.ParseCopy(text); err == nil {
				raws[c.Server][c.Kind] = append(raws[c.Server][c.Kind], raw)
			}
		}
		if err != nil {
			b.Missing = append(b.Missing, c.Path)
		}
	}
	for server, kinds := range raws {
		for kind, list := range kinds {
			b.Surfaces[server].Lists[kind], _ = surface.NewList(kind, list)
		}
	}
	return nil
}

// unreadable reports an error that is about the copy and not about reading git.
func unreadable(err error) bool {
	var mode *gitrepo.ModeError
	var large *gitrepo.TooLargeError
	return errors.Is(err, gitrepo.ErrNotFound) || errors.As(err, &mode) || errors.As(err, &large)
}

func (b *Before) instructions(server string, text []byte) error {
	words, err := lockfile.ParseInstructions(text)
	if err != nil {
		return err
	}
	s := b.Surfaces[server]
	s.Instructions = surface.NewInstructions(words)
	b.Surfaces[server] = s
	return nil
}

// Over returns the lockfile that restores what was locked and keeps every decision
// that current names: decisions are only added. What was decided since and was not
// there before stays, marked absent. Neither file is changed.
func (b *Before) Over(current *lockfile.File) (*lockfile.File, error) {
	out, err := lockfile.Parse(lockfile.Format(current))
	if err != nil {
		return nil, err
	}
	old, err := lockfile.Parse(lockfile.Format(b.Lockfile))
	if err != nil {
		return nil, err
	}
	for _, s := range old.Servers {
		undecide(s)
		if now := out.Server(s.Name); now != nil {
			target := s.Target
			lockfile.Carry(now, s)
			s.Target = target // part of what a decision about the source is about
		}
		out.Put(s)
	}
	for _, s := range current.Servers {
		if old.Server(s.Name) == nil {
			out.Retire(s.Name)
		}
	}
	return out, nil
}

// undecide drops the decisions that an entry named: the newest are carried over
// from the current one. An item that was absent and is decided stays so.
func undecide(s *lockfile.Server) {
	for it := range s.Items() {
		if it.Decision != nil {
			*it.Decision = canonical.Digest{}
		}
	}
}
