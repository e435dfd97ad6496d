package project

import (
	"agentgateway-lock/pkg/source"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/config"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
)

// Settled sources. A server is started or contacted, and variables are expanded
// for it, only where the configuration and the lockfile agree and, where a base
// is known, somebody has settled the source: the base has the same, or it is
// approved under the base's trust list, or this user's own lock on this machine
// settled it, or the run was told so for once.

// settling is what decides whether sources are settled in one run.
type settling struct {
	base     *Base
	allowed  []string // --allow-source, for one run
	approved func(*lockfile.Server) bool
	// sameRepository: in a pull request from the same repository that has no trust
	// list its author can run anything in this place anyway.
	sameRepository bool
	remembered     map[canonical.Digest]bool
}

// verdict says what a run may do with a source.
type verdict struct {
	settled bool
	finding *finding.Finding // why not
}

// judge decides whether the source of a server is settled. At least one of
// configured and locked is not nil.
func (s *settling) judge(configured *config.Server, locked *lockfile.Server) verdict {
	switch {
	case locked == nil:
		return s.notLocked(configured, "configured, and not in the lockfile")
	case locked.Absent:
		return s.notLocked(configured, "configured, and in the lockfile it is absent")
	case configured != nil && locked.Source != nil && !configured.Source.Equal(locked.Source):
		return verdict{finding: sourceChanged(configured, locked)}
	case slices.Contains(s.allowed, locked.Name):
		return verdict{settled: true}
	}
	src := locked.Source
	if src == nil {
		src = configured.Source
	}
	if s.isSettled(locked, src) {
		return verdict{settled: true}
	}
	f := finding.New(finding.SourceNew, finding.Place{Server: locked.Name, Kind: "source", Line: locked.Line},
		"its source is not the base's, and nobody has settled it: nothing was started or contacted")
	f.Detail = "new: " + source.Describe(src)
	if s.base.Lockfile != nil {
		if was := s.base.Lockfile.Server(locked.Name); was != nil && was.Source != nil {
			f.Detail = "was: " + source.Describe(was.Source) + "\nnow: " + source.Describe(src)
		}
	}
	return verdict{finding: &f}
}

func (s *settling) isSettled(locked *lockfile.Server, src *source.Source) bool {
	if !s.base.Known() && !s.base.Unreadable {
		return true
	}
	if s.base.Lockfile != nil {
		if was := s.base.Lockfile.Server(locked.Name); was != nil && was.Source != nil &&
			was.Source.Equal(src) && was.Source.AllowPrivate == src.AllowPrivate {
			return true
		}
	}
	return s.sameRepository || s.remembered[src.Digest()] || s.approved != nil && s.approved(locked)
}

// notLocked is a server that the configuration names and the lockfile does not say
// to be there.
func (s *settling) notLocked(configured *config.Server, why string) verdict {
	f := finding.New(finding.ServerAdded, placeOf(configured), why)
	f.Detail = "not started or contacted: " + source.Describe(configured.Source)
	return verdict{finding: &f}
}

// switchedToAnother reports a server that is switched off and names another source
// than the lockfile: not every client knows that it is off.
func (s *subject) switchedToAnother() bool {
	return s.configured != nil && s.configured.Disabled && s.configured.Source != nil &&
		s.locked != nil && !s.locked.Absent && s.locked.Source != nil && !s.configured.Source.Equal(s.locked.Source)
}

func sourceChanged(configured *config.Server, locked *lockfile.Server) *finding.Finding {
	f := finding.New(finding.SourceChanged, finding.Place{Server: locked.Name, Kind: "source", Line: locked.Line},
		"the configuration names another source than the lockfile: neither was started or contacted")
	f.Detail = "locked:     " + source.Describe(locked.Source) + "\nconfigured: " + source.Describe(configured.Source)
	return &f
}

// placeOf is where the configuration names a server.
func placeOf(s *config.Server) finding.Place {
	place := finding.Place{Server: s.Name}
	if len(s.Places) > 0 {
		place.File, place.Line = s.Places[0].File, s.Places[0].Line
	}
	return place
}

// maxRemembered bounds the file of settled sources, in lines.
const maxRemembered = 10_000

// settledFile is where this user's settled sources of this repository are
// remembered: outside it, so that a pull request cannot bring its own.
func (p *Project) settledFile() string {
	if p.Env.StateDir == "" || p.Env.inCI() {
		return ""
	}
	return filepath.Join(p.Env.StateDir, "settled", canonical.SumString(p.Root).String())
}

// recall reads what is remembered. What cannot be read counts as nothing.
func (p *Project) recall() map[canonical.Digest]bool {
	keys := map[canonical.Digest]bool{}
	path := p.settledFile()
	if path == "" {
		return keys
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return keys
	}
	for line := range strings.Lines(string(data)) {
		if key, err := canonical.ParseDigest(strings.TrimSpace(line)); err == nil {
			keys[key] = true
		}
	}
	return keys
}

// remember settles the sources for this user on this machine.
func (p *Project) remember(sources []*source.Source) error {
	path := p.settledFile()
	if path == "" || len(sources) == 0 {
		return nil
	}
	known := p.recall()
	var lines strings.Builder
	for _, s := range sources {
		if key := s.Digest(); !known[key] && len(known) < maxRemembered {
			known[key] = true
			lines.WriteString(key.String() + "\n")
		}
	}
	if lines.Len() == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return nil // nothing is remembered then
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(lines.String())
	return errors.Join(err, f.Close())
}
