package crawl

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"net/url"

	"agentgateway-lock/pkg/config"
	"agentgateway-lock/pkg/source"
)

// An Endpoint is one server with all that is needed to start or contact it.
// Variables are already expanded, so an Endpoint holds secrets.
type Endpoint struct {
	Name      string
	Transport source.Transport

	Command string
	Args    []string
	Cwd     string            // the folder to start in
	Env     map[string]string // added to the allowlisted environment

	URL          string
	Headers      map[string]string
	AllowPrivate bool // loopback, private and unique-local addresses may be contacted

	// Values are the secrets among all this: they are taken out of errors and
	// events, and a definition that holds one is refused.
	Values *config.Values
}

// Options are what a [Lister] is made of. The zero value lists with the real
// network and real processes, in an empty environment and without a proxy.
type Options struct {
	Limits Limits
	// Environ is the environment of this process, as of os.Environ. A child gets
	// what the allowlist keeps of it.
	Environ []string
	// Start starts a process; nil means [StartProcess].
	Start Starter
	// Dial opens a connection to an address that the guard has judged; nil means
	// a net.Dialer. The address is an IP address with a port.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Resolve returns all addresses of a host name; nil means the system's
	// resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Proxy returns the proxy for a URL, or nil; nil means none. See
	// [ProxyFromEnviron].
	Proxy func(*url.URL) (*url.URL, error)
	// RootCAs are the certificate authorities to trust; nil means the system's.
	RootCAs *x509.CertPool
	// Progress is told what happens; it may be called from several goroutines at
	// a time. nil means nobody is told.
	Progress func(Event)
	// ClientName and ClientVersion are what servers are told.
	ClientName, ClientVersion string
}

// An Event is a step of listing one server, for people who wait.
type Event struct {
	Server string
	Kind   EventKind
	Text   string // the command, the host, the line; not escaped
}

// EventKind is what an [Event] tells.
type EventKind int

// The events.
const (
	EventStart   EventKind = iota // a command is started; Text is its name
	EventContact                  // a host is contacted; Text is its name
	EventStderr                   // Text is the last line of standard error, before the first answer
	EventList                     // the server has answered and is asked for its lists
	EventDone                     // all that was wanted of the server was listed
	EventFail                     // it was not; Text is why
)

// A Lister lists servers. It is safe for concurrent use.
type Lister struct {
	opts Options
}

// New returns a Lister.
func New(opts Options) *Lister {
	opts.Limits = opts.Limits.withDefaults()
	if opts.Start == nil {
		opts.Start = StartProcess
	}
	if opts.Resolve == nil {
		opts.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if opts.Dial == nil {
		opts.Dial = (&net.Dialer{ControlContext: control}).DialContext
	}
	if opts.Progress == nil {
		opts.Progress = func(Event) {}
	}
	if opts.ClientName == "" {
		opts.ClientName = "agentgateway-lock"
	}
	if opts.ClientVersion == "" {
		opts.ClientVersion = "0"
	}
	return &Lister{opts: opts}
}
