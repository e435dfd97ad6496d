package crawl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// An addressClass is a range of addresses and what it is.
type addressClass struct {
	prefix  netip.Prefix
	what    string
	private bool // permitted by AllowPrivate; the others never
}

func class(prefix, what string, private bool) addressClass {
	return addressClass{netip.MustParsePrefix(prefix), what, private}
}

// addressClasses are the addresses that are not simply contacted; the first that
// holds an address counts.
var addressClasses = [...]addressClass{
	class("169.254.0.0/16", "a link-local or metadata address", false),
	class("fe80::/10", "a link-local address", false),
	class("fd00:ec2::254/128", "a metadata address", false),
	class("fd20:ce::254/128", "a metadata address", false),
	class("100.100.100.200/32", "a metadata address", false),
	class("168.63.129.16/32", "a metadata address", false),
	class("0.0.0.0/8", "an unspecified address", false),
	class("::/128", "an unspecified address", false),
	class("224.0.0.0/4", "a multicast address", false),
	class("ff00::/8", "a multicast address", false),
	class("255.255.255.255/32", "the broadcast address", false),
	class("127.0.0.0/8", "a loopback address", true),
	class("::1/128", "a loopback address", true),
	class("10.0.0.0/8", "a private address", true),
	class("172.16.0.0/12", "a private address", true),
	class("192.168.0.0/16", "a private address", true),
	class("100.64.0.0/10", "a private address", true),
	class("fc00::/7", "a unique-local address", true),
	class("fec0::/10", "a site-local address", true),
}

// embedded are the IPv6 prefixes that hold an IPv4 address, and where it starts
// in bytes.
var embedded = [...]struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},   // NAT64, RFC 6052
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12}, // NAT64 of one's own, RFC 8215
	{netip.MustParsePrefix("2002::/16"), 2},       // 6to4, RFC 3056
	{netip.MustParsePrefix("::/96"), 12},          // IPv4-compatible, RFC 4291
}

// metadataNames are the names of the metadata services of cloud providers.
var metadataNames = []string{
	"metadata.google.internal", "metadata.goog", "instance-data.ec2.internal", "instance-data",
	"metadata.tencentyun.com", "metadata.azure.internal",
}

// underlying returns the IPv4 address that an IPv6 address stands for, or the
// address itself.
func underlying(addr netip.Addr) netip.Addr {
	addr = addr.WithZone("").Unmap()
	if addr.Is4() || addr == netip.IPv6Loopback() || addr == netip.IPv6Unspecified() {
		return addr
	}
	for _, e := range embedded {
		if e.prefix.Contains(addr) {
			b := addr.As16()
			return netip.AddrFrom4([4]byte(b[e.at : e.at+4]))
		}
	}
	return addr
}

// judge refuses an address that may not be contacted; host is the name it was
// found by.
func judge(host string, addr netip.Addr, allowPrivate bool) error {
	real := underlying(addr)
	if !real.IsValid() {
		return &EgressError{Host: host, Why: "not an address"}
	}
	for _, c := range addressClasses {
		if c.prefix.Contains(real) {
			if c.private && allowPrivate {
				return nil
			}
			return &EgressError{Host: host, Addr: addr.String(), Why: c.what, Private: c.private}
		}
	}
	return nil
}

// judgeName refuses the names of metadata services, whatever they stand for.
func judgeName(host string) error {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if slices.Contains(metadataNames, name) {
		return &EgressError{Host: host, Why: "the name of a metadata service"}
	}
	return nil
}

// resolve returns the addresses of a host, all of which may be contacted. One
// that may not refuses the host: which of them a connection takes is for chance
// to decide.
func (e *httpEndpoint) resolve(ctx context.Context, host string, allowPrivate bool) ([]netip.Addr, error) {
	if err := judgeName(host); err != nil {
		return nil, err
	}
	addrs := []netip.Addr{}
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, addr)
	} else if addrs, err = e.opts.Resolve(ctx, host); err != nil {
		return nil, fmt.Errorf("resolving its name: %w", err)
	}
	if len(addrs) == 0 {
		return nil, errors.New("its name has no address")
	}
	for _, addr := range addrs {
		if err := judge(host, addr, allowPrivate); err != nil {
			return nil, err
		}
	}
	return addrs, nil
}

// dial connects to the server, or to the proxy before it. A proxy is the user's
// own choice and may stand on a private address.
func (e *httpEndpoint) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	allowPrivate := e.endpoint.AllowPrivate || e.proxy != nil
	addrs, err := e.resolve(ctx, host, allowPrivate)
	if err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, allowKey{}, allowPrivate)
	return e.race(ctx, network, addrs, port)
}

// raceDelay is how long one address may be tried alone (RFC 8305).
const raceDelay = 250 * time.Millisecond

// race dials addresses one after the other, each with a head start, and returns
// the first connection.
func (e *httpEndpoint) race(ctx context.Context, network string, addrs []netip.Addr, port string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result, len(addrs))
	var first error
	for next, running := 0, 0; next < len(addrs) || running > 0; {
		var delay <-chan time.Time
		if next < len(addrs) {
			address := net.JoinHostPort(addrs[next].String(), port)
			go func() {
				conn, err := e.opts.Dial(ctx, network, address)
				results <- result{conn, err}
			}()
			next++
			running++
			timer := time.NewTimer(raceDelay)
			defer timer.Stop()
			delay = timer.C
		}
		select {
		case r := <-results:
			running--
			if r.err == nil {
				go func() { // the others lost
					for range running {
						if r := <-results; r.err == nil {
							_ = r.conn.Close()
						}
					}
				}()
				return r.conn, nil
			}
			if first == nil {
				first = r.err
			}
		case <-delay:
		}
	}
	return nil, first
}

type allowKey struct{}

// control judges the address that a socket is about to connect to: the last word,
// whatever was resolved before.
func control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &EgressError{Host: address, Why: "not an address"}
	}
	allowPrivate, _ := ctx.Value(allowKey{}).(bool)
	return judge(at.Addr().String(), at.Addr(), allowPrivate)
}
