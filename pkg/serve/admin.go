package serve

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
	"agentgateway-lock/pkg/trust"
)

// adminServer answers quickly or not at all: who asks is not known.
func (d *Daemon) adminServer() *http.Server {
	return &http.Server{
		Handler:           d.guardAdmin(d.adminHandler()),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 60 * time.Second,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(d.config.Log.Handler(), slog.LevelDebug),
	}
}

// guardAdmin refuses what a page in somebody's browser sends: a request for a host
// name that is another's, which may have been pointed at this machine, or from
// another origin. An address cannot be pointed elsewhere.
func (d *Daemon) guardAdmin(next http.Handler) http.Handler {
	_, isSocket := unixPath(d.config.Admin)
	own, _, _ := net.SplitHostPort(d.config.Admin)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
		_, notAddress := netip.ParseAddr(host)
		named := host == "localhost" || own != "" && strings.EqualFold(host, own)
		origin := r.Header.Get("Origin")
		switch {
		case !isSocket && notAddress != nil && !named:
			writeJSON(w, http.StatusMisdirectedRequest, map[string]string{"error": "ask by address, localhost, or the name that --admin gives"})
		case origin != "" && origin != "http://"+r.Host:
			writeJSON(w, http.StatusForbidden, map[string]string{"error": "a request of another origin"})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// adminHandler serves what is to be known of the processor. Nothing it serves is
// secret, and nothing can be changed by it.
func (d *Daemon) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]bool{"alive": true})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		ready, reasons := d.Ready()
		status := http.StatusOK
		if !ready {
			status = http.StatusServiceUnavailable
		}
		if reasons == nil {
			reasons = []Reason{}
		}
		writeJSON(w, status, readiness{ready, reasons})
	})
	mux.HandleFunc("GET /policy", func(w http.ResponseWriter, _ *http.Request) {
		loaded := d.refresher.Loaded()
		if loaded == nil {
			writeJSON(w, http.StatusServiceUnavailable, map[string]string{"error": "no policy has verified yet"})
			return
		}
		writeJSON(w, http.StatusOK, d.report(loaded))
	})
	mux.Handle("GET /metrics", d.metrics.handler())
	return mux
}

// readiness is the body of /readyz.
type readiness struct {
	Ready   bool     `json:"ready"`
	Reasons []Reason `json:"reasons"`
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(body) // the reader went away
}

// policyReport is the body of /policy.
type policyReport struct {
	Origin   string         `json:"origin"`
	Commit   string         `json:"commit,omitempty"`
	Lockfile string         `json:"lockfile"`
	Path     string         `json:"path"`
	Sealed   string         `json:"sealed,omitempty"`
	Unsigned bool           `json:"unsigned"`
	Trust    string         `json:"trust,omitempty"`
	Loaded   time.Time      `json:"loaded"`
	Mode     processor.Mode `json:"mode"`
	Denied   []string       `json:"denied,omitempty"` // by the deny file
	Servers  []serverReport `json:"servers"`
}

type serverReport struct {
	Name   string       `json:"name"`
	Target string       `json:"target"`
	Paused bool         `json:"paused,omitempty"`
	Source trust.Status `json:"source,omitempty"`
	Covers []string     `json:"covers"`
	Items  []itemReport `json:"items"`
}

type itemReport struct {
	Kind    surface.Kind `json:"kind"`
	Name    string       `json:"name,omitempty"`
	State   trust.Status `json:"state"`
	InForce string       `json:"inForce,omitempty"` // digest
	Gateway string       `json:"gatewayDigest,omitempty"`
	By      []string     `json:"by,omitempty"`
}

// report tells what is in force. Names of servers and items are escaped.
func (d *Daemon) report(l *Loaded) policyReport {
	r := policyReport{
		Origin: textcheck.Terminal(l.Origin), Commit: l.Commit, Lockfile: l.Digest.String(), Path: textcheck.Terminal(l.Path),
		Sealed: textcheck.Terminal(l.Sealed), Unsigned: l.Unsigned(), Loaded: l.Loaded, Mode: processor.Enforce, Servers: []serverReport{},
	}
	if d.config.Options.Mode != "" {
		r.Mode = d.config.Options.Mode
	}
	if l.Chain != nil {
		r.Trust = l.Chain.Digest().String()
	}
	for _, line := range d.refresher.Denied() {
		r.Denied = append(r.Denied, textcheck.Terminal(line.Text))
	}
	index := map[string]int{}
	for _, s := range l.Lockfile.Servers {
		if s.Absent {
			continue
		}
		index[s.Name] = len(r.Servers)
		r.Servers = append(r.Servers, serverReport{
			Name: textcheck.Terminal(s.Name), Target: textcheck.Terminal(s.TargetName()), Paused: l.State.Paused(s.Name),
			Covers: s.Covers, Items: []itemReport{},
		})
	}
	for _, it := range l.State.Items {
		at, ok := index[it.Server]
		switch {
		case !ok, it.Kind == surface.KindServer:
		case it.Kind == surface.KindSource:
			r.Servers[at].Source = it.Status
		default:
			r.Servers[at].Items = append(r.Servers[at].Items, reportItem(it))
		}
	}
	return r
}

func reportItem(it *trust.ItemState) itemReport {
	out := itemReport{Kind: it.Kind, Name: textcheck.Terminal(it.Name), State: it.Status}
	if it.InForce != nil {
		out.InForce, out.Gateway, out.By = hexOf(it.InForce.Digest), hexOf(it.InForce.GatewayDigest), it.InForce.By
	}
	return out
}

// gauges adds the measurements that are taken when they are asked for.
func (d *Daemon) gauges() {
	flag := func(on func() bool) func() float64 {
		return func() float64 {
			if on() {
				return 1
			}
			return 0
		}
	}
	m := d.metrics
	m.gauge("ready", "1 where the processor is ready.", flag(func() bool { ok, _ := d.Ready(); return ok }))
	m.gauge("policy_age_seconds", "Seconds since the last refresh that succeeded; -1 before the first.", func() float64 {
		age, ok := d.refresher.Age()
		if !ok {
			return -1
		}
		return age.Seconds()
	})
	m.gauge("reload_failing", "1 where the newest refresh failed, so that an older policy is in force.", flag(func() bool { return d.refresher.failing(problemReload) }))
	m.gauge("tags_refused", "Tags of the pattern that are newer than the one in force, and were refused.", func() float64 { return float64(d.refresher.Passed()) })
	m.gauge("unsigned", "1 where the policy has no trust list.", flag(func() bool { l := d.refresher.Loaded(); return l != nil && l.Unsigned() }))
	m.gauge("observe", "1 where nothing is enforced.", flag(func() bool { return d.config.Options.Mode == processor.Observe }))
	m.gauge("uncovered_pass", "1 where kinds that are not covered pass.", flag(func() bool { return d.config.Options.Uncovered == processor.UncoveredPass }))
	m.gauge("denied_lines", "Lines of the deny file.", func() float64 { return float64(len(d.refresher.Denied())) })
	for i, name := range []string{"approvals_expired", "approvals_expiring"} {
		help := []string{"Approvals in force that are older than the trust list's maxAge; they go on counting.", "Approvals in force that reach the trust list's maxAge within seven days."}[i]
		m.gauge(name, help, func() float64 {
			l := d.refresher.Loaded()
			if l == nil {
				return 0
			}
			expired, expiring := l.ages(d.config.Now(), expiringSoon)
			return float64([]int{expired, expiring}[i])
		})
	}
}
