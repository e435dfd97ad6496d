package lockfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"agentgateway-lock/pkg/internal/bounded"
	"agentgateway-lock/pkg/surface"
)

// A Change is what a [Store] writes.
type Change struct {
	// Old is the lockfile as [Store.Read] returned it, or nil where there was none.
	// It must not be New.
	Old *File
	New *File
	// Surfaces holds what was listed, by server: the texts of new and changed
	// items. Items of other servers keep the copies they have.
	Surfaces map[string]surface.Surface
	// Approved holds, complete, the items whose text in force is not the locked
	// one, each with that text: the canonical form of a definition, or the text of
	// instructions. A nil text keeps what stands.
	Approved map[surface.Key][]byte
}

// A Result says what a write did. Paths are sorted.
type Result struct {
	Lockfile bool     // the lockfile was written
	Written  []string // copies
	Removed  []string // copies
}

// A plan is what has to be done to the files.
type plan struct {
	lockfile []byte            // nil where it stays
	write    map[string][]byte // copies by path
	remove   []string          // sorted
}

func (p *plan) empty() bool { return p.lockfile == nil && len(p.write)+len(p.remove) == 0 }

// Write writes a change. Nothing is touched where the bytes are there already.
// Errors are [*WriteError], [*LockedError], [*LinkError] or [ErrChanged]; before
// the commit point they leave the old lockfile and no temporary file.
func (s *Store) Write(ctx context.Context, change Change) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	p, err := s.plan(change)
	if err != nil || p.empty() {
		return Result{}, err
	}
	if err := s.mkdir(Folder); err != nil {
		return Result{}, failed(Folder, err)
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return Result{}, failed(lockName, err)
	}
	result, err := s.locked(change)
	if unlockErr := unlock(); err == nil && unlockErr != nil {
		err = &WriteError{lockName, true, unlockErr}
	}
	return result, err
}

// failed makes a WriteError of what went wrong before the commit point, unless it
// says enough by itself.
func failed(name string, err error) error {
	var held *LockedError
	var link *LinkError
	if errors.As(err, &held) || errors.As(err, &link) {
		return err
	}
	return &WriteError{name, false, err}
}

// locked writes while the lock is held. What was planned before may have been
// done by whoever held it.
func (s *Store) locked(change Change) (Result, error) {
	if err := s.unchanged(change.Old); err != nil {
		return Result{}, err
	}
	p, err := s.plan(change)
	if err != nil {
		return Result{}, err
	}
	if err := s.clean(); err != nil {
		return Result{}, &WriteError{stageName, false, err}
	}
	if err := s.commit(&p); err != nil {
		// What went wrong comes first; what cannot be cleaned now is cleaned by the
		// next write.
		_ = s.clean()
		return Result{}, err
	}
	err = s.remove(p.remove)
	return Result{p.lockfile != nil, slices.Sorted(maps.Keys(p.write)), p.remove}, err
}

// clean removes the temporary files of this or a killed run.
func (s *Store) clean() error {
	if err := s.removeIfThere(s.tempName()); err != nil {
		return err
	}
	info, err := s.fs.Lstat(stageName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return s.fs.Remove(stageName)
	}
	entries, err := s.fs.ReadDir(stageName)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := s.fs.Remove(stageName + "/" + entry.Name()); err != nil {
			return err
		}
	}
	return s.fs.Remove(stageName)
}

func (s *Store) removeIfThere(name string) error {
	if err := s.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// commit writes all new bytes to temporary files and then puts them in place, the
// lockfile last.
func (s *Store) commit(p *plan) error {
	paths := slices.Sorted(maps.Keys(p.write))
	if len(paths) > 0 {
		if err := s.fs.Mkdir(stageName); err != nil {
			return &WriteError{stageName, false, err}
		}
	}
	for i, name := range paths {
		if err := s.fs.Create(staged(i), p.write[name], false); err != nil {
			return &WriteError{name, false, err}
		}
	}
	if p.lockfile != nil {
		if err := s.fs.Create(s.tempName(), p.lockfile, true); err != nil {
			return &WriteError{s.name, false, err}
		}
	}
	for i, name := range paths {
		if err := s.place(staged(i), name); err != nil {
			return failed(name, err)
		}
	}
	if len(paths) > 0 {
		if err := s.fs.Remove(stageName); err != nil {
			return &WriteError{stageName, false, err}
		}
	}
	if p.lockfile == nil {
		return nil
	}
	if err := s.fs.Rename(s.tempName(), s.name); err != nil {
		return &WriteError{s.name, false, err}
	}
	if err := s.fs.SyncDir(path.Dir(s.name)); err != nil {
		return &WriteError{s.name, true, err}
	}
	return nil
}

func staged(i int) string { return stageName + "/" + strconv.Itoa(i) }

// place renames a staged copy to its path.
func (s *Store) place(from, to string) error {
	if err := s.mkdir(path.Dir(to)); err != nil {
		return err
	}
	if err := bounded.NoLink(s.fs.Lstat, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.fs.Rename(from, to)
}

// mkdir makes a folder with those above it and refuses links.
func (s *Store) mkdir(folder string) error {
	if folder == "." {
		return nil
	}
	info, err := s.fs.Lstat(folder)
	switch {
	case err == nil && !info.IsDir():
		return &LinkError{Path: folder}
	case err == nil:
		return s.mkdir(path.Dir(folder))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := s.mkdir(path.Dir(folder)); err != nil {
		return err
	}
	return s.fs.Mkdir(folder)
}

// remove removes copies that nothing uses, and the folders that empties.
func (s *Store) remove(paths []string) error {
	for _, name := range paths {
		if err := s.removeIfThere(name); err != nil {
			return &WriteError{name, true, err}
		}
		for dir := path.Dir(name); dir != Folder && dir != "."; dir = path.Dir(dir) {
			entries, err := s.fs.ReadDir(dir)
			if err != nil || len(entries) > 0 {
				break
			}
			if err := s.fs.Remove(dir); err != nil {
				return &WriteError{dir, true, err}
			}
		}
	}
	return nil
}

// plan compares what should stand with what stands.
func (s *Store) plan(change Change) (plan, error) {
	p := plan{write: map[string][]byte{}}
	src, err := s.current()
	if err != nil {
		return p, err
	}
	if want := Format(change.New); !bytes.Equal(want, src) {
		p.lockfile = want
	}
	files, err := s.Files()
	if err != nil {
		return p, err
	}
	var before *Layout
	if change.Old != nil {
		before = NewLayout(change.Old)
	}
	used := map[string]bool{}
	listed := definitions(change.Surfaces)
	for _, c := range NewLayout(change.New).Copies {
		used[c.Path] = true
		want, err := s.wanted(&c, listed, before)
		if err != nil {
			return p, err
		}
		if err := s.planCopy(&p, c.Path, want); err != nil {
			return p, err
		}
		if text, ok := change.Approved[c.Key]; ok {
			used[c.Approved] = true
			if err := s.planApproved(&p, &c, text, before); err != nil {
				return p, err
			}
		}
	}
	p.remove, err = s.unused(files, used)
	return p, err
}

// definitions returns the copies of what was listed.
func definitions(surfaces map[string]surface.Surface) map[surface.Key]func() []byte {
	copies := map[surface.Key]func() []byte{}
	for server, listed := range surfaces {
		if in := listed.Instructions; in != nil {
			copies[surface.Key{Server: server, Kind: surface.KindInstructions}] = func() []byte { return FormatInstructions(in.Text) }
		}
		for kind, list := range listed.Lists {
			for i := range list.Definitions {
				d := &list.Definitions[i]
				copies[surface.Key{Server: server, Kind: kind, Name: d.Name}] = func() []byte { return FormatCopy(d.Canonical) }
			}
		}
	}
	return copies
}

// wanted returns what the copy c should hold: what was listed, else what stood
// where the copy was before, or nil for what stands.
func (s *Store) wanted(c *Copy, listed map[surface.Key]func() []byte, before *Layout) ([]byte, error) {
	if format, ok := listed[c.Key]; ok && !c.absent() {
		return format(), nil
	}
	if before == nil {
		return nil, nil
	}
	old, ok := before.Copy(c.Key)
	if !ok || old.Path == c.Path || old.hash() != c.hash() {
		return nil, nil
	}
	return s.readIfThere(old.Path)
}

func (s *Store) readIfThere(name string) ([]byte, error) {
	text, err := s.ReadCopy(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// absent reports whether the item is kept for its decision only.
func (c *Copy) absent() bool {
	if c.item == nil {
		return c.server.Instructions.Absent
	}
	return c.item.Absent
}

func (s *Store) planApproved(p *plan, c *Copy, text []byte, before *Layout) error {
	switch {
	case text != nil && c.item == nil:
		return s.planCopy(p, c.Approved, FormatInstructions(string(text)))
	case text != nil:
		return s.planCopy(p, c.Approved, FormatCopy(text))
	case before == nil:
		return nil
	}
	old, ok := before.Copy(c.Key)
	if !ok || old.Approved == c.Approved {
		return nil
	}
	moved, err := s.readIfThere(old.Approved)
	if err != nil {
		return err
	}
	return s.planCopy(p, c.Approved, moved)
}

// planCopy plans to write a copy unless it stands, whatever line ends a checkout
// gave it.
func (s *Store) planCopy(p *plan, name string, want []byte) error {
	if want == nil {
		return nil
	}
	if len(want) > MaxCopySize {
		return &WriteError{name, false, fmt.Errorf("the copy would have %d bytes; the limit is %d", len(want), MaxCopySize)}
	}
	have, err := s.readIfThere(name)
	if err != nil {
		return err
	}
	if have == nil || !bytes.Equal(unixLines(have), want) {
		p.write[name] = want
	}
	return nil
}

// unused returns the copies among files that nothing uses. On a file system that
// ignores case a file of another spelling may be one that is used.
func (s *Store) unused(files []string, used map[string]bool) ([]string, error) {
	var folded map[string]string
	var unused []string
	for _, name := range files {
		if used[name] || !isCopy(name) {
			continue
		}
		if folded == nil {
			folded = make(map[string]string, len(used))
			for u := range used {
				folded[foldCase(u)] = u
			}
		}
		if twin, ok := folded[foldCase(name)]; ok {
			same, err := s.sameFile(name, twin)
			if err != nil {
				return nil, err
			}
			if same {
				continue
			}
		}
		unused = append(unused, name)
	}
	return unused, nil
}

func (s *Store) sameFile(a, b string) (bool, error) {
	infoA, err := s.fs.Lstat(a)
	if err != nil {
		return false, err
	}
	infoB, err := s.fs.Lstat(b)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(infoA, infoB), err
}

// isCopy reports whether a file of the definitions folder has the path of a copy;
// anything else was put there by somebody and is left alone.
func isCopy(name string) bool {
	parts := strings.Split(strings.TrimPrefix(name, DefinitionsFolder+"/"), "/")
	switch len(parts) {
	case 2:
		return parts[1] == "instructions.txt" || parts[1] == "instructions.approved.txt"
	case 3:
		_, ok := surface.ListKindOf(surface.Kind(parts[1]))
		return ok && strings.HasSuffix(parts[2], ".json")
	}
	return false
}
