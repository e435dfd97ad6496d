package serve

import (
	"bufio"
	"encoding/json"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/textcheck"
)

const (
	// logQueue is how many lines wait to be written at most.
	logQueue = 4096
	// logMemory is of how many items the last verdict is known.
	logMemory = 1 << 14
	// maxLogText is how much of a text of a server or client is logged, in bytes.
	maxLogText = 512
)

// A DecisionLog writes decisions as JSON lines: every denial, and every change
// of what was last decided about the same. It is an Observer that never blocks:
// what cannot be written fast enough is dropped and counted. Headers of clients
// are not part of a decision, so none is written.
type DecisionLog struct {
	lines   chan []byte
	done    chan struct{}
	dropped atomic.Uint64
	onDrop  func()

	mu   sync.Mutex
	last map[verdictKey]processor.Code
}

// verdictKey is what a verdict is about.
type verdictKey struct {
	phase                             processor.Phase
	method, server, kind, name, scope string
}

// NewDecisionLog returns a log that writes to w until it is closed. onDrop is
// called for each line that is dropped; it may be nil.
func NewDecisionLog(w io.Writer, onDrop func()) *DecisionLog {
	if onDrop == nil {
		onDrop = func() {}
	}
	l := &DecisionLog{
		lines: make(chan []byte, logQueue), done: make(chan struct{}), onDrop: onDrop,
		last: map[verdictKey]processor.Code{},
	}
	go l.write(w)
	return l
}

// write writes lines as they come, and flushes when no more wait.
func (l *DecisionLog) write(w io.Writer) {
	defer close(l.done)
	out := bufio.NewWriterSize(w, 64<<10)
	for line := range l.lines {
		if _, err := out.Write(line); err != nil {
			l.drop()
			out.Reset(w)
			continue
		}
		if len(l.lines) == 0 {
			if err := out.Flush(); err != nil {
				l.drop()
				out.Reset(w)
			}
		}
	}
	if err := out.Flush(); err != nil {
		l.drop()
	}
}

func (l *DecisionLog) drop() {
	l.dropped.Add(1)
	l.onDrop()
}

// Dropped is how many lines were dropped.
func (l *DecisionLog) Dropped() uint64 { return l.dropped.Load() }

// Close writes what waits. Decided must not be called any more.
func (l *DecisionLog) Close() {
	close(l.lines)
	<-l.done
}

// Decided implements Observer.
func (l *DecisionLog) Decided(d processor.Decision) {
	for i := range d.Removed {
		if d.Remembered {
			break
		}
		r := &d.Removed[i]
		l.put(&logLine{
			At: d.At, Phase: d.Phase, Method: d.Method, Scope: d.Scope, Verdict: "removed", Code: r.Code,
			Server: r.Server, Kind: string(r.Kind), Name: r.Name, Approved: hexOf(r.Approved), Seen: hexOf(r.Seen), Enforced: d.Enforced,
		})
	}
	changed := l.changed(&d)
	if d.Code == "" && !changed {
		return
	}
	line := &logLine{
		At: d.At, Phase: d.Phase, Method: d.Method, Services: d.Services, Scope: d.Scope, Verdict: "denied", Code: d.Code,
		Server: d.Server, Kind: string(d.Kind), Name: d.Name, Approved: hexOf(d.Approved), Seen: hexOf(d.Seen),
		Enforced: d.Enforced, Changed: changed, Failure: d.Failure,
	}
	switch {
	case d.Code == "":
		line.Verdict = "allowed"
	case !d.Enforced:
		line.Verdict = "would-deny"
	}
	l.put(line)
}

// changed remembers a verdict and reports whether it is another than before about
// the same. What was never decided about counts as allowed before, so that not
// every first pass is a line. Memory is bounded: when it is full it begins anew,
// and some changes are then not seen as such.
func (l *DecisionLog) changed(d *processor.Decision) bool {
	k := verdictKey{d.Phase, d.Method, d.Server, string(d.Kind), d.Name, d.Scope}
	if len(k.name)+len(k.scope)+len(k.server)+len(k.method) > 4*maxLogText {
		return false // it would cost too much to remember
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last[k] == d.Code {
		return false
	}
	if d.Code == "" {
		delete(l.last, k)
		return true
	}
	if len(l.last) >= logMemory {
		clear(l.last)
	}
	l.last[k] = d.Code
	return true
}

// logLine is one line of the log.
type logLine struct {
	At       time.Time       `json:"at"`
	Phase    processor.Phase `json:"phase"`
	Method   string          `json:"method"`
	Services []string        `json:"services,omitempty"`
	Scope    string          `json:"scope,omitempty"`
	Verdict  string          `json:"verdict"` // denied, would-deny, removed or allowed
	Code     processor.Code  `json:"code,omitempty"`
	Server   string          `json:"server,omitempty"`
	Kind     string          `json:"kind,omitempty"`
	Name     string          `json:"name,omitempty"`
	Approved string          `json:"approved,omitempty"`
	Seen     string          `json:"seen,omitempty"`
	Enforced bool            `json:"enforced"`
	Changed  bool            `json:"changed,omitempty"` // another verdict than the last about the same
	Failure  string          `json:"failure,omitempty"`
}

// put queues a line, or drops it.
func (l *DecisionLog) put(line *logLine) {
	line.Method, line.Scope = logText(line.Method), logText(line.Scope)
	line.Server, line.Name = logText(line.Server), logText(line.Name)
	if len(line.Services) > 0 {
		services := make([]string, min(len(line.Services), 16))
		for i := range services {
			services[i] = logText(line.Services[i])
		}
		line.Services = services
	}
	data, err := json.Marshal(line)
	if err != nil {
		l.drop()
		return
	}
	select {
	case l.lines <- append(data, '\n'):
	default:
		l.drop()
	}
}

// logText makes text of a server or a client safe to show, and short.
func logText(s string) string { return textcheck.Terminal(textcheck.Clip(s, maxLogText)) }

func hexOf(d canonical.Digest) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// maxShownName is how much of a text of somebody else stands in a message, in
// characters.
const maxShownName = 200

// shown quotes a text that somebody else wrote.
func shown(s string) string {
	return `"` + textcheck.Terminal(textcheck.Clip(s, maxShownName)) + `"`
}
