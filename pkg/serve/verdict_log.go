package serve

import (
	"bufio"
	"encoding/json"
	"io"
	"sync"
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

// A verdictLog writes verdicts as JSON lines: every denial, and every change
// of the last verdict about the same. It never blocks:
// what cannot be written fast enough is dropped and counted. Headers of clients
// are not part of a verdict, so none is written.
type verdictLog struct {
	lines  chan []byte
	done   chan struct{}
	onDrop func()

	mu   sync.Mutex
	last map[verdictKey]processor.Code
}

// verdictKey is what a verdict is about.
type verdictKey struct {
	phase                             processor.Phase
	method, server, kind, name, scope string
}

// newVerdictLog returns a log that writes to w until it is closed. onDrop is
// called for each line that is dropped.
func newVerdictLog(w io.Writer, onDrop func()) *verdictLog {
	l := &verdictLog{
		lines: make(chan []byte, logQueue), done: make(chan struct{}), onDrop: onDrop,
		last: map[verdictKey]processor.Code{},
	}
	go l.write(w)
	return l
}

// write writes lines as they come, and flushes when no more wait.
func (l *verdictLog) write(w io.Writer) {
	defer close(l.done)
	out := bufio.NewWriterSize(w, 64<<10)
	for line := range l.lines {
		if _, err := out.Write(line); err != nil {
			l.onDrop()
			out.Reset(w)
			continue
		}
		if len(l.lines) == 0 {
			if err := out.Flush(); err != nil {
				l.onDrop()
				out.Reset(w)
			}
		}
	}
	if err := out.Flush(); err != nil {
		l.onDrop()
	}
}

// close writes what waits. put must not be called any more.
func (l *verdictLog) close() {
	close(l.lines)
	<-l.done
}

// judged takes a verdict.
func (l *verdictLog) judged(v *processor.Verdict) {
	for i := range v.Removed {
		if v.Remembered {
			break
		}
		r := &v.Removed[i]
		l.put(&logLine{
			At: v.At, Phase: v.Phase, Method: v.Method, Scope: v.Scope, Verdict: "removed", Code: r.Code,
			Server: r.Server, Kind: string(r.Kind), Name: r.Name, Approved: hexOf(r.Approved), Seen: hexOf(r.Seen), Enforced: v.Enforced,
		})
	}
	changed := l.changed(v)
	if v.Code == "" && !changed {
		return
	}
	line := &logLine{
		At: v.At, Phase: v.Phase, Method: v.Method, Targets: v.Targets, Scope: v.Scope, ID: v.ID, Verdict: "denied", Code: v.Code,
		Server: v.Server, Kind: string(v.Kind), Name: v.Name, Member: v.Member, Approved: hexOf(v.Approved), Seen: hexOf(v.Seen),
		Enforced: v.Enforced, Changed: changed, Failure: v.Failure,
	}
	switch {
	case v.Code == "":
		line.Verdict = "allowed"
	case !v.Enforced:
		line.Verdict = "would-deny"
	}
	l.put(line)
}

// changed remembers a verdict and reports whether it is another than before about
// the same. What was never judged counts as allowed before, so that not
// every first pass is a line. Memory is bounded: when it is full it begins anew,
// and some changes are then not seen as such.
func (l *verdictLog) changed(v *processor.Verdict) bool {
	k := verdictKey{v.Phase, v.Method, v.Server, string(v.Kind), v.Name, v.Scope}
	if len(k.name)+len(k.scope)+len(k.server)+len(k.method) > 4*maxLogText {
		return false // it would cost too much to remember
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last[k] == v.Code {
		return false
	}
	if v.Code == "" {
		delete(l.last, k)
		return true
	}
	if len(l.last) >= logMemory {
		clear(l.last)
	}
	l.last[k] = v.Code
	return true
}

// logLine is one line of the log.
type logLine struct {
	At       time.Time       `json:"at"`
	Phase    processor.Phase `json:"phase"`
	Method   string          `json:"method"`
	Targets  []string        `json:"targets,omitempty"`
	Scope    string          `json:"scope,omitempty"`
	ID       string          `json:"id,omitempty"` // of a denial, as whoever asked was told it
	Verdict  string          `json:"verdict"`      // denied, would-deny, removed or allowed
	Code     processor.Code  `json:"code,omitempty"`
	Server   string          `json:"server,omitempty"`
	Kind     string          `json:"kind,omitempty"`
	Name     string          `json:"name,omitempty"`
	Member   string          `json:"member,omitempty"` // for which a result was denied
	Approved string          `json:"approved,omitempty"`
	Seen     string          `json:"seen,omitempty"`
	Enforced bool            `json:"enforced"`
	Changed  bool            `json:"changed,omitempty"` // another verdict than the last about the same
	Failure  string          `json:"failure,omitempty"`
}

// put queues a line, or drops it.
func (l *verdictLog) put(line *logLine) {
	line.Method, line.Scope = logText(line.Method), logText(line.Scope)
	line.Server, line.Name, line.Member = logText(line.Server), logText(line.Name), logText(line.Member)
	if len(line.Targets) > 0 {
		targets := make([]string, min(len(line.Targets), 16))
		for i := range targets {
			targets[i] = logText(line.Targets[i])
		}
		line.Targets = targets
	}
	data, err := json.Marshal(line)
	if err != nil {
		l.onDrop()
		return
	}
	select {
	case l.lines <- append(data, '\n'):
	default:
		l.onDrop()
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
