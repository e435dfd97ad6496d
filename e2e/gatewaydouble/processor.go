package gatewaydouble

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"agentgateway-lock/pkg/extmcp"
)

// headers are those of the client's request, with the pseudo-headers of HTTP/2
// beside them.
type headers struct {
	pseudo map[string]string
	http   http.Header
}

func (h headers) get(name string) (string, bool) {
	if text, ok := h.pseudo[name]; ok {
		return text, true
	}
	values := h.http.Values(name)
	if len(values) == 0 {
		return "", false
	}
	return values[0], true
}

// processor is a configured processor and the connection to it.
type processor struct {
	Processor
	options []grpc.DialOption

	mu   sync.Mutex
	conn *sharedConn
}

// sharedConn is a connection that closes when it has been given up and its last
// call has ended.
type sharedConn struct {
	*grpc.ClientConn
	calls   int
	retired bool
}

func newProcessor(config Processor) (*processor, error) {
	transport := insecure.NewCredentials()
	if config.TLS != nil {
		settings, err := config.TLS.settings()
		if err != nil {
			return nil, fmt.Errorf("processor %s: %w", config.Host, err)
		}
		transport = credentials.NewTLS(settings)
	}
	p := &processor{Processor: config}
	if config.Timeout == 0 {
		p.Timeout = defaultTimeout
	}
	network, address, authority := "tcp", config.Host, config.Host
	if path, ok := strings.CutPrefix(config.Host, "unix:"); ok {
		network, address, authority = "unix", path, filepath.Base(path)
	}
	if config.TLS != nil && config.TLS.Hostname != "" {
		authority = config.TLS.Hostname
	}
	p.options = []grpc.DialOption{
		// A dialer of our own takes any path; a target would be read as a URL.
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, network, address)
		}),
		grpc.WithTransportCredentials(transport),
		grpc.WithAuthority(authority),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
	}
	return p, nil
}

func (t *TLS) settings() (*tls.Config, error) {
	settings := &tls.Config{ServerName: t.Hostname, MinVersion: tls.VersionTLS12}
	if t.RootFile != "" {
		pem, err := os.ReadFile(t.RootFile)
		if err != nil {
			return nil, err
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("no certificate in %s", t.RootFile)
		}
	}
	if t.CertFile != "" {
		certificate, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, err
		}
		settings.Certificates = []tls.Certificate{certificate}
	}
	return settings, nil
}

// call runs one RPC under the processor's timeout. A connection that turned out
// dead is given up, so that the next call tries a new one at once, as the
// gateway's does, and does not sit out a back-off.
func (p *processor) call(ctx context.Context, do func(context.Context, extmcp.ExtMcpClient) error) error {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	if p.Secret != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+p.Secret)
	}
	conn, err := p.acquire()
	if err != nil {
		return err
	}
	err = do(ctx, extmcp.NewExtMcpClient(conn))
	p.release(conn, status.Code(err) == codes.Unavailable)
	return err
}

func (p *processor) acquire() (*sharedConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == nil {
		conn, err := grpc.NewClient("passthrough:///processor", p.options...)
		if err != nil {
			return nil, err
		}
		p.conn = &sharedConn{ClientConn: conn}
	}
	p.conn.calls++
	return p.conn, nil
}

func (p *processor) release(conn *sharedConn, dead bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	conn.calls--
	if dead {
		p.retire(conn)
	}
	if conn.retired && conn.calls == 0 {
		_ = conn.Close() // a closed connection has nothing left to fail
	}
}

// retire lets no further call use a connection. The lock is held.
func (p *processor) retire(conn *sharedConn) {
	conn.retired = true
	if p.conn == conn {
		p.conn = nil
	}
}

func (p *processor) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if conn := p.conn; conn != nil {
		p.retire(conn)
		if conn.calls == 0 {
			_ = conn.Close()
		}
	}
}

// metadataContext evaluates the metadata expressions. One that fails leaves its
// key out. Without any there is no context at all.
func (p *processor) metadataContext(h headers, given map[string]string) *structpb.Struct {
	if len(p.Metadata) == 0 {
		return nil
	}
	fields := map[string]*structpb.Value{}
	for key, expression := range p.Metadata {
		if text, ok := expression.eval(h, given); ok {
			fields[key] = structpb.NewStringValue(text)
		}
	}
	return &structpb.Struct{Fields: fields}
}

// forwarded lists the client's headers that the processor may see, by name.
func (p *processor) forwarded(h headers) []*extmcp.McpHeader {
	contains := func(names []string, name string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	}
	visible := func(name string) bool {
		return (len(p.AllowedHeaders) == 0 || contains(p.AllowedHeaders, name)) && !contains(p.DisallowedHeaders, name)
	}
	var out []*extmcp.McpHeader
	for _, name := range slices.Sorted(maps.Keys(h.pseudo)) {
		if visible(name) {
			out = append(out, &extmcp.McpHeader{Key: name, Value: []byte(h.pseudo[name])})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.http)) {
		if !visible(name) {
			continue
		}
		for _, text := range h.http[name] {
			out = append(out, &extmcp.McpHeader{Key: strings.ToLower(name), Value: []byte(text)})
		}
	}
	return out
}
