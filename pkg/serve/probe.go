package serve

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/source"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/config"
	"agentgateway-lock/pkg/crawl"
	"agentgateway-lock/pkg/surface"
)

// An Endpoint is one server to probe.
type Endpoint struct {
	Name   string
	Source *source.Source
	Covers []string
}

// endpoints are the servers that may be contacted: not paused, with an approved
// source that is a URL. A stdio command is never started.
func (l *Loaded) endpoints() []Endpoint {
	var endpoints []Endpoint
	for _, s := range l.Lockfile.Servers {
		if s.Absent || s.Skipped != "" || s.Source == nil || s.Source.URL == "" || l.State.Paused(s.Name) || !l.sourceApproved(s.Name) {
			continue
		}
		endpoints = append(endpoints, Endpoint{s.Name, s.Source, s.Covers})
	}
	return endpoints
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

	mu        sync.Mutex
	endpoints map[string]Endpoint
	known     bool // SetServers was called
	begun     time.Time
	waiting   map[string]bool // not listed yet, of the first servers
	record    func(server string, seen surface.Surface, at time.Time) bool
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
	return &Prober{opts: opts, news: make(chan struct{}, 1), endpoints: map[string]Endpoint{}, waiting: map[string]bool{}}
}

// SetServers says which servers are to be probed from now on.
func (p *Prober) SetServers(endpoints []Endpoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := make(map[string]Endpoint, len(endpoints))
	for _, t := range endpoints {
		now[t.Name] = t
	}
	if !p.known {
		p.known, p.begun = true, p.opts.Now()
		for name := range now {
			p.waiting[name] = true
		}
	}
	p.endpoints = now
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
	endpoint Endpoint
	stop     context.CancelFunc
}

// Run probes until ctx ends.
func (p *Prober) Run(ctx context.Context, record func(server string, seen surface.Surface, at time.Time) bool) {
	p.record = record
	var probing sync.WaitGroup
	defer probing.Wait()
	current := map[string]running{}
	for {
		p.mu.Lock()
		endpoints := maps.Clone(p.endpoints)
		p.mu.Unlock()
		for name, r := range current {
			if t, ok := endpoints[name]; !ok || !sameProbe(t, r.endpoint) {
				r.stop()
				delete(current, name)
			}
		}
		for _, t := range slices.SortedFunc(maps.Values(endpoints), func(a, b Endpoint) int { return strings.Compare(a.Name, b.Name) }) {
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

func sameProbe(a, b Endpoint) bool {
	return a.Source.Equal(b.Source) && a.Source.AllowPrivate == b.Source.AllowPrivate && slices.Equal(a.Covers, b.Covers)
}

// probe lists one server again and again: when it is time, and at once where the
// server announces a change.
func (p *Prober) probe(ctx context.Context, t Endpoint) {
	notices := make(chan struct{}, 1) // one that waits stands for any number
	var listening sync.WaitGroup
	defer listening.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listens := false
	var last canonical.Digest
	gap := minProbeGap
	for {
		listing, announces, err := p.list(ctx, t)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			p.record(t.Name, listing.Surface, p.opts.Now())
			if mark := markOf(listing.Surface); mark == last {
				// A server that announces a change whenever it is listed must not be
				// listed without a pause.
				gap = min(2*gap, max(p.opts.Every, minProbeGap))
			} else {
				last, gap = mark, minProbeGap
			}
		} else {
			p.opts.Log.Warn("a probe failed", "server", processor.Shown(t.Name), "reason", processor.Shown(err.Error()))
		}
		if announces && !listens {
			listens = true
			listening.Go(func() { p.listen(ctx, t, notices) })
		}
		p.opts.Probed(t.Name, err)
		p.mu.Lock()
		delete(p.waiting, t.Name)
		p.mu.Unlock()
		if !p.pause(ctx, gap, notices) {
			return
		}
	}
}

// minProbeGap is how long a server rests between two probes at least.
const minProbeGap = 250 * time.Millisecond

// pause waits for the next probe: gap at least, and then for a notice or until it
// is time. It reports whether to go on.
func (p *Prober) pause(ctx context.Context, gap time.Duration, notices <-chan struct{}) bool {
	due := time.NewTimer(p.opts.Every)
	defer due.Stop()
	rest := time.NewTimer(min(gap, p.opts.Every))
	defer rest.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-rest.C:
	}
	select {
	case <-ctx.Done():
		return false
	case <-due.C:
	case <-notices:
	}
	return true
}

// markOf tells surfaces apart that the gateway would show differently.
func markOf(seen surface.Surface) canonical.Digest {
	var text []byte
	for _, kind := range surface.ListKinds() {
		for _, d := range seen.Lists[kind.Kind].Definitions {
			text = append(canonical.AppendString(text, d.Name), d.GatewayDigest[:]...)
		}
		text = append(text, '\n')
	}
	for _, r := range seen.Refused {
		text = append(text, r.Raw[:]...)
	}
	return canonical.Sum(text)
}

// listen listens to what a server announces, again and again. What it announced
// while nobody listened is unknown, so each beginning counts as a notice.
func (p *Prober) listen(ctx context.Context, t Endpoint, notices chan<- struct{}) {
	notice := func() {
		select {
		case notices <- struct{}{}:
		default: // one that waits will list after this one, too
		}
	}
	for wait := minProbeGap; ; wait = min(2*wait, max(p.opts.Every, minProbeGap)) {
		began := time.Now()
		session, err := p.open(ctx, t)
		if err == nil {
			notice()
			err = session.Listen(ctx, notice)
			session.Close()
		}
		if ctx.Err() != nil {
			return
		}
		p.opts.Log.Debug("listening ended", "server", processor.Shown(t.Name), "reason", processor.Shown(err.Error()))
		if time.Since(began) > max(p.opts.Every, minProbeGap) {
			wait = minProbeGap // it was a long one
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// list lists a server once, and tells whether it announces changes.
func (p *Prober) list(ctx context.Context, t Endpoint) (*crawl.Listing, bool, error) {
	session, err := p.open(ctx, t)
	if err != nil {
		return nil, false, err
	}
	defer session.Close()
	listing, err := session.List(ctx, t.Covers)
	return listing, session.Announces(), err
}

func (p *Prober) open(ctx context.Context, t Endpoint) (*crawl.Session, error) {
	conn, err := config.ConnectSource(t.Name, t.Source, p.opts.Lookup, "")
	if err != nil {
		return nil, err
	}
	return p.opts.Lister.Open(ctx, crawl.Endpoint{
		Name: t.Name, Transport: conn.Transport, URL: conn.URL, Headers: conn.Headers, AllowPrivate: conn.AllowPrivate,
	})
}
