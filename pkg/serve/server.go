package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/processor"
)

// DaemonConfig is what a Daemon is made of.
type DaemonConfig struct {
	Origin   Origin
	StateDir string // keeps the floor, and what is fetched; empty for neither
	// AtLeast is the commit or digest that the first policy must hold.
	AtLeast      string
	Refresh      time.Duration     // between refreshes
	MaxPolicyAge time.Duration     // 0 for no limit
	Deny         string            // the deny file; empty for none
	Options      processor.Options // how policies are applied; Deny in it is ignored

	Listener Listener
	Admin    string // host:port or unix:/path of the admin server; empty for none

	VerdictLog io.Writer // nil for none
	Log        *slog.Logger
	Prober     *Prober // nil for no probes
	Now        func() time.Time
	// WatchEvery is how often files are looked at; 0 for once a second.
	WatchEvery time.Duration
}

// A Daemon is a processor with everything around it: it loads policies, takes
// hooks, probes servers, and tells how it is.
type Daemon struct {
	config    DaemonConfig
	processor *processor.Processor
	refresher *Refresher
	metrics   *metrics
	verdicts  *verdictLog
	loader    *Loader
	door      *door
	grpc      *grpc.Server
	health    *health.Server
	hooks     net.Listener
	admin     net.Listener
	scratch   string // a folder that goes with the daemon; empty for none
}

// NewDaemon makes a daemon and opens its addresses, so that whatever is wrong with
// the configuration is an error here. No policy is loaded yet.
func NewDaemon(ctx context.Context, config DaemonConfig) (_ *Daemon, err error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if err := config.Listener.Check(); err != nil {
		return nil, err
	}
	if err := checkAtLeast(config.AtLeast); err != nil {
		return nil, err
	}
	d := &Daemon{config: config, metrics: newMetrics()}
	if config.Prober != nil {
		config.Prober.opts.Probed = d.metrics.probed
	}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if config.Origin.Cache == "" {
		config.Origin.Cache = config.StateDir
	}
	if config.Origin.Cache == "" && config.Origin.Repo != "" {
		if d.scratch, err = os.MkdirTemp("", "agentgateway-lock-"); err != nil {
			return nil, fmt.Errorf("making a folder to fetch into: %w", err)
		}
		config.Origin.Cache = d.scratch
	}
	if d.loader, err = NewLoader(config.Origin, config.Now); err != nil {
		return nil, err
	}
	if d.door, err = newDoor(config.Listener); err != nil {
		return nil, err
	}
	d.processor = processor.New()
	if d.refresher, err = d.newRefresher(); err != nil {
		return nil, err
	}
	d.gauges()
	d.metrics.registry.MustRegister(newEvidenceAges(d.processor, config.Now))
	if d.hooks, err = listen(ctx, config.Listener.Address); err != nil {
		return nil, err
	}
	d.hooks = limited(d.hooks, maxHookConnections)
	if config.Admin != "" {
		if d.admin, err = listen(ctx, config.Admin); err != nil {
			return nil, fmt.Errorf("the admin server: %w", err)
		}
		d.admin = limited(d.admin, maxAdminConnections)
	}
	if config.VerdictLog != nil {
		d.verdicts = newVerdictLog(config.VerdictLog, d.metrics.dropped.Inc)
	}
	d.grpc, d.health = extmcp.NewServer(NewHooks(d.processor, config.Now, d.judged), d.door.admit, d.door.options()...)
	d.setServing(false)
	return d, nil
}

func (d *Daemon) newRefresher() (*Refresher, error) {
	c := &d.config
	folder := ""
	if c.StateDir != "" {
		folder = filepath.Join(c.StateDir, "floor")
	}
	floor, err := NewFloor(folder, c.AtLeast)
	if err != nil {
		return nil, err
	}
	origin := c.Origin.Repo
	watch := c.Listener.files()
	if c.Origin.Bundle != "" {
		origin = c.Origin.Bundle
		watch = append(watch, c.Origin.Bundle)
	}
	if c.Origin.Signature != "" {
		watch = append(watch, c.Origin.Signature)
	}
	return NewRefresher(RefreshOptions{
		Loader: d.loader, Floor: floor, Origin: origin, Every: c.Refresh, Watch: watch, WatchEvery: c.WatchEvery,
		Deny: c.Deny, MaxAge: c.MaxPolicyAge, Options: c.Options, Install: d.processor.SetPolicy,
		Installed: func(l *Loaded) {
			d.metrics.installed(l)
			if c.Prober != nil {
				c.Prober.SetServers(l.endpoints())
			}
		},
		Reloaded: d.metrics.reloaded, OnReload: []func() error{d.door.reload}, Log: c.Log, Now: c.Now,
	})
}

// judged takes note of a verdict.
func (d *Daemon) judged(v processor.Verdict, took time.Duration) {
	d.metrics.judged(&v, took)
	if d.verdicts != nil {
		d.verdicts.judged(&v)
	}
}

// Address is where hooks are taken: of TCP with the port that was found.
func (d *Daemon) Address() string { return addressOf(d.hooks) }

// AdminAddress is where the admin server is; empty for none.
func (d *Daemon) AdminAddress() string {
	if d.admin == nil {
		return ""
	}
	return addressOf(d.admin)
}

func addressOf(l net.Listener) string {
	if b, ok := l.(*capped); ok {
		l = b.opened
	}
	if s, ok := l.(*socket); ok {
		return "unix:" + s.path
	}
	return l.Addr().String()
}

// Reload asks for a refresh now.
func (d *Daemon) Reload() { d.refresher.Trigger() }

// Refresher is what keeps the policy current.
func (d *Daemon) Refresher() *Refresher { return d.refresher }

// Run serves until ctx ends, and then until the hooks in flight have finished or
// hurry is closed.
func (d *Daemon) Run(ctx context.Context, hurry <-chan struct{}) error {
	defer d.close()
	ctx, cancel := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	background.Go(func() { d.refresher.Run(ctx) })
	background.Go(func() { d.watchReadiness(ctx) })
	if d.config.Prober != nil {
		background.Go(func() { d.config.Prober.Run(ctx, d.processor.RecordProbe) })
	}
	failed := make(chan error, 2)
	if d.admin != nil {
		admin := d.adminServer()
		background.Go(func() {
			if err := admin.Serve(d.admin); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("the admin server: %w", err)
			}
		})
		defer func() { _ = admin.Close() }()
	}
	background.Go(func() {
		if err := d.grpc.Serve(d.hooks); err != nil {
			failed <- fmt.Errorf("taking hooks: %w", err)
		}
	})
	select {
	case <-ctx.Done():
		d.stop(hurry)
		return nil
	case err := <-failed:
		d.grpc.Stop()
		return err
	}
}

// stopGrace is how long a stop waits for calls in flight. Hooks take no time at
// all, but a client that watches the health service would never end by itself.
const stopGrace = 15 * time.Second

// stop lets hooks in flight finish, unless it has to hurry.
func (d *Daemon) stop(hurry <-chan struct{}) {
	d.config.Log.Info("stopping: hooks in flight finish")
	d.setServing(false)
	finished := make(chan struct{})
	go func() {
		d.grpc.GracefulStop()
		close(finished)
	}()
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-finished:
		return
	case <-hurry:
	case <-grace.C:
	}
	d.config.Log.Warn("stopped at once")
	d.grpc.Stop()
	<-finished
}

// close frees what the daemon holds; it may be called twice.
func (d *Daemon) close() {
	for _, l := range []net.Listener{d.hooks, d.admin} {
		if l != nil {
			_ = l.Close()
		}
	}
	if d.verdicts != nil {
		d.verdicts.close()
		d.verdicts = nil
	}
	if d.loader != nil {
		d.loader.Close()
		d.loader = nil
	}
	if d.scratch != "" {
		_ = os.RemoveAll(d.scratch)
	}
}

// watchReadiness keeps the gRPC health service at what /readyz says.
func (d *Daemon) watchReadiness(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			ready, _ := d.Ready()
			d.setServing(ready)
		}
	}
}

func (d *Daemon) setServing(ready bool) {
	status := healthpb.HealthCheckResponse_NOT_SERVING
	if ready {
		status = healthpb.HealthCheckResponse_SERVING
	}
	d.health.SetServingStatus("", status)
	d.health.SetServingStatus(extmcp.ExtMcp_ServiceDesc.ServiceName, status)
}

// Ready reports whether the processor serves what was approved, and all that is
// to be known of how it does.
func (d *Daemon) Ready() (bool, []Reason) {
	reasons := d.refresher.Reasons()
	if p := d.config.Prober; p != nil && !p.Settled() {
		reasons = append(reasons, Reason{reasonProbing, "the servers are being listed for the first time", true})
	}
	o := &d.config.Options
	for _, r := range []struct {
		on           bool
		code, detail string
	}{
		{o.Mode == processor.Observe, reasonObserve, "nothing is enforced: everything passes and is only reported"},
		{o.Uncovered == processor.UncoveredPass, reasonUncoveredPass, "kinds that a server's entry does not cover pass"},
		{o.MaxEvidenceAge == 0, reasonNoEvidenceLimit, "evidence counts however old it is"},
		{d.config.Listener.InsecureLoopback, reasonInsecureLoopback, "any process of this machine can ask the processor"},
	} {
		if r.on {
			reasons = append(reasons, Reason{r.code, r.detail, false})
		}
	}
	for _, r := range reasons {
		if r.Blocks {
			return false, reasons
		}
	}
	return true, reasons
}
