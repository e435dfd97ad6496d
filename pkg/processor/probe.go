package processor

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"agentgateway-lock/pkg/config"
	"agentgateway-lock/pkg/crawl"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
)

// A ProbeTarget is one server to probe.
type ProbeTarget struct {
	Name   string
	Source *lockfile.Source
	Covers []string
}

// probeTargets are the servers that may be contacted: not paused, with an approved
// source that is a URL. A stdio command is never started.
func (l *Loaded) probeTargets() []ProbeTarget {
	var targets []ProbeTarget
	for _, s := range l.Lockfile.Servers {
		if s.Absent || s.Source == nil || s.Source.URL == "" || l.State.Paused(s.Name) || !l.sourceApproved(s.Name) {
			continue
		}
		targets = append(targets, ProbeTarget{s.Name, s.Source, s.Covers})
	}
	return targets
}

// ProbeOptions are what a Prober is made of.
type ProbeOptions struct {
	Lister *crawl.Lister
	Every  time.Duration // between probes of one server
	// First is how long the processor is not ready while servers are listed for
	// the first time.
	First time.Duration
	// Lookup gives the values of the variables that approved sources name.
	Lookup func(name string) (string, bool)
	// Probed is told of every probe; may be nil.
	Probed func(server string, err error)
	Log    *slog.Logger
	Now    func() time.Time
}

// A Prober lists servers by itself, so that calls do not depend on clients that
// list again. What it finds is evidence that can deny.
type Prober struct {
	opts ProbeOptions
	news chan struct{} // the servers have changed

	mu      sync.Mutex
	targets map[string]ProbeTarget
	known   bool // SetServers was called
	begun   time.Time
	waiting map[string]bool // not listed yet, of the first servers
	record  func(server string, seen surface.Surface, at time.Time) bool
}

// NewProber returns a prober without servers.
func NewProber(opts ProbeOptions) *Prober {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Probed == nil {
		opts.Probed = func(string, error) {}
	}
	return &Prober{opts: opts, news: make(chan struct{}, 1), targets: map[string]ProbeTarget{}, waiting: map[string]bool{}}
}

// SetServers says which servers are to be probed from now on.
func (p *Prober) SetServers(targets []ProbeTarget) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := make(map[string]ProbeTarget, len(targets))
	for _, t := range targets {
		now[t.Name] = t
	}
	if !p.known {
		p.known, p.begun = true, p.opts.Now()
		for name := range now {
			p.waiting[name] = true
		}
	}
	p.targets = now
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// Settled reports whether the first servers were listed, or could not be in time.
func (p *Prober) Settled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known && (len(p.waiting) == 0 || p.opts.Now().Sub(p.begun) > p.opts.First)
}

// running is the probing of one server.
type running struct {
	target ProbeTarget
	stop   context.CancelFunc
}

// Run probes until ctx ends.
func (p *Prober) Run(ctx context.Context, record func(server string, seen surface.Surface, at time.Time) bool) {
	p.record = record
	var probing sync.WaitGroup
	defer probing.Wait()
	current := map[string]running{}
	for {
		p.mu.Lock()
		targets := maps.Clone(p.targets)
		p.mu.Unlock()
		for name, r := range current {
			if t, ok := targets[name]; !ok || !sameProbe(t, r.target) {
				r.stop()
				delete(current, name)
			}
		}
		for _, t := range slices.SortedFunc(maps.Values(targets), func(a, b ProbeTarget) int { return strings.Compare(a.Name, b.Name) }) {
			if _, ok := current[t.Name]; ok {
				continue
			}
			one, stop := context.WithCancel(ctx)
			current[t.Name] = running{t, stop}
			probing.Go(func() { p.probe(one, t) })
		}
		select {
		case <-ctx.Done():
			for _, r := range current {
				r.stop()
			}
			return
		case <-p.news:
		}
	}
}

func sameProbe(a, b ProbeTarget) bool {
	return a.Source.Equal(b.Source) && a.Source.AllowPrivate == b.Source.AllowPrivate && slices.Equal(a.Covers, b.Covers)
}

// probe lists one server again and again.
func (p *Prober) probe(ctx context.Context, t ProbeTarget) {
	for {
		listing, err := p.list(ctx, t)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			p.record(t.Name, listing.Surface, p.opts.Now())
		} else {
			p.opts.Log.Warn("a probe failed", "server", shown(t.Name), "reason", shown(err.Error()))
		}
		p.opts.Probed(t.Name, err)
		p.mu.Lock()
		delete(p.waiting, t.Name)
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(p.opts.Every):
		}
	}
}

func (p *Prober) list(ctx context.Context, t ProbeTarget) (*crawl.Listing, error) {
	conn, err := config.ConnectSource(t.Name, t.Source, p.opts.Lookup, "")
	if err != nil {
		return nil, err
	}
	session, err := p.opts.Lister.Open(ctx, crawl.Target{
		Name: t.Name, Transport: conn.Transport, URL: conn.URL, Headers: conn.Headers, AllowPrivate: conn.AllowPrivate,
	})
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return session.List(ctx, t.Covers)
}
