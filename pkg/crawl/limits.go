package crawl

import "time"

// Limits bound what is read from one server and how long that may take. A field
// that is zero means its default.
type Limits struct {
	StartTimeout time.Duration // until the first answer of a stdio server
	Timeout      time.Duration // for each answer after that, and for HTTP
	Probe        time.Duration // for the answer to server/discover before initialize is sent
	Settle       time.Duration // for a server that shows nothing to get its lists ready
	Bytes        int64         // of everything that one listing reads
	Definitions  int           // of all kinds together
	Pages        int           // of all kinds together
}

// The defaults of [Limits], and the limits that have no flag.
const (
	DefaultStartTimeout = 120 * time.Second // a cold npx downloads first
	DefaultTimeout      = 30 * time.Second
	DefaultProbe        = 5 * time.Second
	DefaultSettle       = 2 * time.Second
	DefaultBytes        = 64 << 20
	DefaultDefinitions  = 10_000
	DefaultPages        = 1_000
	DefaultJobs         = 8 // servers at a time

	// closeGrace is how long a process may take to end by itself once its input
	// has ended.
	closeGrace = 80 * time.Millisecond
	// termGrace is how long it may take after it was asked to terminate.
	termGrace = 20 * time.Millisecond
	// deleteTimeout bounds the request that ends an HTTP session.
	deleteTimeout = time.Second
	// stderrGrace is how long the end of a process's standard error is waited for
	// once the process has ended.
	stderrGrace = time.Second
	// stderrTail is how much of a process's standard error is kept.
	stderrTail = 64 << 10
	// stderrLine is how much of one line of it is told as progress.
	stderrLine = 512
	// maxRedirects is how many redirects one request may follow.
	maxRedirects = 3
	// maxReconnects is how often an interrupted answer may be resumed.
	maxReconnects = 2
	// retryPause is the shortest wait before a busy server is asked again.
	retryPause = 500 * time.Millisecond
	// maxQuoted is how much of a server's own words an error repeats.
	maxQuoted = 300
)

func (l Limits) withDefaults() Limits {
	if l.StartTimeout == 0 {
		l.StartTimeout = DefaultStartTimeout
	}
	if l.Timeout == 0 {
		l.Timeout = DefaultTimeout
	}
	if l.Probe == 0 {
		l.Probe = DefaultProbe
	}
	if l.Settle == 0 {
		l.Settle = DefaultSettle
	}
	if l.Bytes == 0 {
		l.Bytes = DefaultBytes
	}
	if l.Definitions == 0 {
		l.Definitions = DefaultDefinitions
	}
	if l.Pages == 0 {
		l.Pages = DefaultPages
	}
	return l
}
