package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/settled"
	"agentgateway-lock/pkg/source"
)

// sameSource reports whether an entry has just this source.
func sameSource(file *lockfile.File, name string, src *source.Source) bool {
	if file == nil || src == nil || src.Digest().IsZero() {
		return false
	}
	s := file.Server(name)
	return s != nil && !s.Absent && s.Source != nil && s.Source.Digest() == src.Digest()
}

// clone is the folder by which a clone is remembered.
func (p *Project) clone() string {
	if p.repo == nil {
		return p.Root
	}
	return p.repo.CommonDir()
}

// memoryName is the file of a clone's memory; empty where nothing is remembered.
func (p *Project) memoryName() string {
	if p.Env.State == nil || p.Env.inCI() {
		return ""
	}
	return "memory/" + canonical.SumString(p.clone()).String() + ".json"
}

// memory reads what is remembered of this clone. What cannot be read is nothing: it
// could only settle more.
func (p *Project) memory() *settled.Memory {
	empty := &settled.Memory{Clone: p.clone()}
	name := p.memoryName()
	if name == "" {
		return empty
	}
	data, err := p.Env.State.Read(name)
	if err != nil {
		return empty
	}
	m, err := settled.ParseMemory(data)
	if err != nil || m.Clone != empty.Clone {
		return empty
	}
	return m
}

// updateMemory changes what is remembered. A file that cannot be read is not
// overwritten.
func (p *Project) updateMemory(change func(*settled.Memory)) error {
	name := p.memoryName()
	if name == "" {
		return nil
	}
	err := p.Env.State.Update(name, func(old []byte) ([]byte, error) {
		m := &settled.Memory{Clone: p.clone()}
		if old != nil {
			var err error
			if m, err = settled.ParseMemory(old); err != nil {
				return nil, err
			}
		}
		change(m)
		return m.Format(), nil
	})
	if err != nil {
		return fmt.Errorf("what this machine remembers of %s: %w", p.clone(), err)
	}
	return nil
}

// remoteURL is the URL of the remote that a clone comes from; empty without one. The
// error is also where it cannot be said which remote that is.
func (p *Project) remoteURL(ctx context.Context) (string, error) {
	if p.repo == nil {
		return "", nil
	}
	remote, err := p.repo.MainRemote(ctx)
	if err != nil || remote == "" {
		return "", err
	}
	return p.repo.Remote(ctx, remote)
}

// memoryKey names a server of this lockfile in the memory of this clone.
func (p *Project) memoryKey(remote, server string) settled.Key {
	at := p.Path
	if p.repo != nil {
		if inRepo, err := p.gitPath(p.Path); err == nil {
			at = inRepo
		}
	}
	return settled.Key{Remote: remote, Lockfile: at, Server: server}
}

// lockedSource is a source that a lock listed.
type lockedSource struct {
	entry *lockfile.Server
	put   bool // into the lockfile: it was not there before
}

// remember keeps what a lock leaves of the servers that it listed. A folder that may
// not be written means that nothing is remembered.
func (p *Project) remember(ctx context.Context, locked []lockedSource) error {
	if p.memoryName() == "" || len(locked) == 0 {
		return nil
	}
	remote, err := p.remoteURL(ctx)
	if err != nil {
		return nil //nolint:nilerr // without a remote there is no key
	}
	var records []settled.Record
	var put []bool
	disk := p.diskFiles(ctx)
	for _, l := range locked {
		surroundings, err := p.surroundingsOf(l.entry.Source, disk)
		if errors.Is(err, gitrepo.ErrNoGit) {
			continue // without git nobody can say what it is in; it stays unsettled
		}
		if err != nil {
			return fmt.Errorf("what decides what the command of %s runs: %w", l.entry.Name, err)
		}
		r := settled.Record{Key: p.memoryKey(remote, l.entry.Name), Source: l.entry.Source.Digest(), Items: itemsOf(l.entry), Surroundings: surroundings}
		records, put = append(records, r), append(put, l.put)
	}
	err = p.updateMemory(func(m *settled.Memory) {
		for i, r := range records {
			m.Locked(r, put[i])
		}
	})
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// itemsOf are the digests of an entry's items.
func itemsOf(s *lockfile.Server) []settled.Item {
	var items []settled.Item
	if in := s.Instructions; in != nil && !in.Absent {
		items = append(items, settled.Item{Kind: "instructions", Digest: in.Hash})
	}
	for kind, list := range s.Lists {
		for _, it := range list {
			if !it.Absent && !it.Digest.IsZero() {
				items = append(items, settled.Item{Kind: string(kind), Name: it.Name, Digest: it.Digest})
			}
		}
	}
	return items
}

// rememberAllowed keeps what --allow-source settles, until the words change.
func (p *Project) rememberAllowed(ctx context.Context, file *lockfile.File, names []string) error {
	if p.memoryName() == "" {
		return &hintError{errors.New("--remember: nothing is remembered in CI, or without a folder to remember it in"), "leave it out"}
	}
	remote, err := p.remoteURL(ctx)
	if err != nil {
		return err
	}
	return p.updateMemory(func(m *settled.Memory) {
		for _, name := range names {
			if s := file.Server(name); s != nil && s.Source != nil {
				m.Allow(p.memoryKey(remote, name), s.Source.Digest())
			}
		}
	})
}

// Allowed is the outcome of accepting a remote, or of taking that back.
type Allowed struct {
	URL     string // empty for a clone without a remote
	Clone   string
	Changed bool
}

// Remote tells which remote this clone has, and whether this user has accepted it.
func (p *Project) Remote(ctx context.Context) (Allowed, bool, error) {
	url, err := p.remoteURL(ctx)
	return Allowed{URL: url, Clone: p.clone()}, err == nil && p.memory().Knows(url), err
}

// Allow accepts the remote of this clone: what its default branch has is settled for
// this user from then on. remove takes it back.
func (p *Project) Allow(ctx context.Context, remove bool) (*Allowed, error) {
	if p.Env.inCI() {
		return nil, &hintError{errors.New("nothing is remembered in CI"), "there the event says what is settled; see --base and --default-branch"}
	}
	if p.Env.State == nil {
		return nil, errors.New("there is no folder to remember it in")
	}
	url, err := p.remoteURL(ctx)
	if err != nil {
		if ambiguous := (*gitrepo.AmbiguousError)(nil); errors.As(err, &ambiguous) {
			return nil, &hintError{err, "name one of them origin"}
		}
		return nil, err
	}
	out := &Allowed{URL: url, Clone: p.clone()}
	err = p.updateMemory(func(m *settled.Memory) {
		if remove {
			out.Changed = m.Forget(url)
			return
		}
		out.Changed = !m.Knows(url)
		m.Accept(url)
	})
	return out, err
}
