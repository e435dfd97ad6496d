package serve

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/textcheck"
)

// metrics are the measurements of one processor, in a registry of their own.
// docs/operations.md explains each.
type metrics struct {
	registry *prometheus.Registry
	verdicts *prometheus.CounterVec
	removed  *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	reloads  *prometheus.CounterVec
	probes   *prometheus.CounterVec
	dropped  prometheus.Counter
	policy   *prometheus.GaugeVec
	infoMu   sync.Mutex
	lastInfo prometheus.Labels
}

// metricsPrefix begins the name of every metric.
const metricsPrefix = "agentgateway_lock_"

// expiringSoon is how long before its end an approval counts as near maxAge.
const expiringSoon = 7 * 24 * time.Hour

// newMetrics returns metrics at zero.
func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: metricsPrefix + "verdicts_total",
			Help: "Hooks answered, by phase, by whether they were allowed, changed, denied or would have been denied, and by code."}, []string{"phase", "result", "code"}),
		removed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: metricsPrefix + "removed_total",
			Help: "Definitions and members taken out of results, by code."}, []string{"code"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: metricsPrefix + "hook_seconds",
			Help:    "Time to judge a message, in seconds.",
			Buckets: []float64{1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 5e-2, 0.25, 1}}, []string{"phase"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{Name: metricsPrefix + "reloads_total",
			Help: "Attempts to refresh the policy, by result: ok, or the rule that refused it."}, []string{"result"}),
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: metricsPrefix + "probes_total",
			Help: "Probes of servers, by result: ok or failed."}, []string{"result"}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{Name: metricsPrefix + "verdict_log_dropped_total",
			Help: "Lines of the verdict log that were dropped because it could not be written fast enough."}),
		policy: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricsPrefix + "policy_info",
			Help: "The policy in force: always 1."}, []string{"origin", "commit", "lockfile"}),
	}
	m.registry.MustRegister(m.verdicts, m.removed, m.latency, m.reloads, m.probes, m.dropped, m.policy)
	return m
}

// gauge adds a measurement that is taken when it is asked for.
func (m *metrics) gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metricsPrefix + name, Help: help}, value))
}

// handler serves the metrics.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// results of a verdict, for the label result.
const (
	resultAllowed = "allowed"
	resultDenied  = "denied"
	resultChanged = "changed" // something was removed
	resultWould   = "would-deny"
)

func resultOf(v *processor.Verdict) string {
	switch {
	case v.Code == "" && len(v.Removed) == 0:
		return resultAllowed
	case !v.Enforced:
		return resultWould
	case v.Code != "":
		return resultDenied
	}
	return resultChanged
}

// judged counts a verdict and the time that it took.
func (m *metrics) judged(v *processor.Verdict, took time.Duration) {
	m.latency.WithLabelValues(string(v.Phase)).Observe(took.Seconds())
	m.verdicts.WithLabelValues(string(v.Phase), resultOf(v), string(v.Code)).Inc()
	for i := range v.Removed {
		m.removed.WithLabelValues(string(v.Removed[i].Code)).Inc()
	}
}

// probed counts a probe.
func (m *metrics) probed(_ string, err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.probes.WithLabelValues(result).Inc()
}

// reloaded counts an attempt to refresh.
func (m *metrics) reloaded(err error) {
	result := "ok"
	if err != nil {
		result = ruleOf(err)
	}
	m.reloads.WithLabelValues(result).Inc()
}

// installed names the policy in force.
func (m *metrics) installed(l *Loaded) {
	m.infoMu.Lock()
	defer m.infoMu.Unlock()
	labels := prometheus.Labels{"origin": l.Origin, "commit": l.Commit, "lockfile": l.Digest.String()}
	if m.lastInfo != nil {
		m.policy.Delete(m.lastInfo)
	}
	m.policy.With(labels).Set(1)
	m.lastInfo = labels
}

// evidenceAges is a prometheus.Collector of how long ago servers were listed.
type evidenceAges struct {
	processor *processor.Processor
	now       func() time.Time
	age, lost *prometheus.Desc
}

func newEvidenceAges(p *processor.Processor, now func() time.Time) *evidenceAges {
	return &evidenceAges{
		p, now,
		prometheus.NewDesc(metricsPrefix+"evidence_age_seconds",
			"Seconds since a server was last listed, by what listed it: a client through the gateway, or a probe.", []string{"server", "by"}, nil),
		prometheus.NewDesc(metricsPrefix+"evidence_lost",
			"1 where evidence about a server had to be forgotten since the start.", []string{"server"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (e *evidenceAges) Describe(out chan<- *prometheus.Desc) {
	out <- e.age
	out <- e.lost
}

// Collect implements prometheus.Collector.
func (e *evidenceAges) Collect(out chan<- prometheus.Metric) {
	for _, state := range e.processor.Evidence() {
		server := textcheck.Terminal(state.Server)
		for _, o := range []struct {
			by string
			at time.Time
		}{{"gateway", state.Listed}, {"probe", state.Probed}} {
			if !o.at.IsZero() {
				out <- prometheus.MustNewConstMetric(e.age, prometheus.GaugeValue, e.now().Sub(o.at).Seconds(), server, o.by)
			}
		}
		lost := 0.0
		if state.Lost {
			lost = 1
		}
		out <- prometheus.MustNewConstMetric(e.lost, prometheus.GaugeValue, lost, server)
	}
}
