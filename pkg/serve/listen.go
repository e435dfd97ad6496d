package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"agentgateway-lock/pkg/internal/bounded"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// A Listener says where hooks are taken, and who may send them.
type Listener struct {
	// Address is unix:/path for a socket that only its owner can use, or host:port.
	Address string
	// SecretFile holds the bearer token that the gateway sends.
	SecretFile string
	// TLSCert, TLSKey and TLSClientCA are PEM files: the own certificate and key,
	// and who signs the gateway's certificate. All or none are given.
	TLSCert, TLSKey, TLSClientCA string
	// InsecureLoopback allows any process of this machine to ask.
	InsecureLoopback bool
}

// unixPath is the path of a socket's address.
func unixPath(address string) (string, bool) { return strings.CutPrefix(address, "unix:") }

// Check says what is wrong with a listener as it is configured.
func (l *Listener) Check() error {
	tlsFiles := 0
	for _, f := range []string{l.TLSCert, l.TLSKey, l.TLSClientCA} {
		if f != "" {
			tlsFiles++
		}
	}
	if tlsFiles != 0 && tlsFiles != 3 {
		return errors.New("--tls-cert, --tls-key and --tls-client-ca go together: the processor knows the gateway by its certificate")
	}
	if path, ok := unixPath(l.Address); ok {
		switch {
		case path == "":
			return errors.New("unix: needs the path of a socket")
		case tlsFiles > 0:
			return errors.New("a unix socket has no TLS: its mode decides who may connect")
		case l.InsecureLoopback:
			return errors.New("--insecure-loopback is about TCP; a unix socket is closed to others anyway")
		}
		return nil
	}
	loopback, err := isLoopback(l.Address)
	switch {
	case err != nil:
		return err
	case !loopback && tlsFiles == 0:
		return fmt.Errorf("%s can be reached from other machines: give --tls-cert, --tls-key and --tls-client-ca", l.Address)
	case !loopback && l.InsecureLoopback:
		return fmt.Errorf("--insecure-loopback is for loopback, and %s is not", l.Address)
	case tlsFiles == 0 && l.SecretFile == "" && !l.InsecureLoopback:
		return errors.New("on TCP any process of this machine can ask: give --secret-file, or the TLS files, or a unix: address; --insecure-loopback allows it all the same")
	}
	return nil
}

// isLoopback reports whether an address of host:port is this machine's alone.
func isLoopback(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("%q is neither unix:/path nor host:port", address)
	}
	if host == "localhost" {
		return true, nil
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback(), nil
}

// listen opens an address. A socket is made with mode 0600 and takes the place of
// one that nobody listens on any more.
func listen(ctx context.Context, address string) (net.Listener, error) {
	path, ok := unixPath(address)
	if !ok {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	}
	if err := checkStale(ctx, path); err != nil {
		return nil, err
	}
	// It is made in a folder that only its owner can enter and gets its mode there:
	// at no time can another user connect.
	folder, err := os.MkdirTemp(filepath.Dir(path), ".s")
	if err != nil {
		return nil, fmt.Errorf("making the socket: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	made := filepath.Join(folder, "s")
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", made)
	if err != nil {
		return nil, fmt.Errorf("making the socket: %w", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err = os.Chmod(made, 0o600); err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("making the socket: %w", err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return &socket{l, path, info}, nil
}

// How many connections are served at once; others wait to be accepted.
const (
	maxHookConnections  = 256
	maxAdminConnections = 32
)

// capped is a listener that has no more than so many connections.
type capped struct {
	net.Listener
	opened net.Listener
}

func limited(l net.Listener, n int) net.Listener { return &capped{netutil.LimitListener(l, n), l} }

// socket removes its file when it is closed, unless another took its place.
type socket struct {
	net.Listener
	path string
	info fs.FileInfo
}

func (s *socket) Close() error {
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.info) {
		_ = os.Remove(s.path)
	}
	return s.Listener.Close()
}

// checkStale refuses a path where somebody listens, or where no socket stands.
func checkStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there and is no socket; it is left alone", path)
	}
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("another process listens on %s; stop it, or use another path", path)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return nil
}

// maxSecret bounds a secret file in bytes.
const maxSecret = 64 << 10

// door lets those in who show what a listener asks for. What it asks for is read
// anew on reload.
type door struct {
	listener Listener
	secret   atomic.Pointer[[sha256.Size]byte]
	tls      atomic.Pointer[tls.Config]
}

// newDoor reads the files of a listener.
func newDoor(l Listener) (*door, error) {
	d := &door{listener: l}
	if err := d.reload(); err != nil {
		return nil, err
	}
	return d, nil
}

// reload reads the files anew; what cannot be read leaves the old in force.
func (d *door) reload() error {
	if name := d.listener.SecretFile; name != "" {
		raw, err := bounded.OSFile(name, maxSecret)
		if err != nil {
			return fmt.Errorf("reading the secret: %w", err)
		}
		secret := strings.TrimSpace(string(raw))
		if secret == "" || strings.ContainsAny(secret, " \t\r\n\x00") {
			return fmt.Errorf("%s does not hold one secret on one line", name)
		}
		sum := sha256.Sum256([]byte("Bearer " + secret))
		d.secret.Store(&sum)
	}
	if d.listener.TLSCert == "" {
		return nil
	}
	config, err := readTLS(d.listener)
	if err != nil {
		return err
	}
	d.tls.Store(config)
	return nil
}

func readTLS(l Listener) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(l.TLSCert, l.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	pem, err := bounded.OSFile(l.TLSClientCA, 1<<20)
	if err != nil {
		return nil, fmt.Errorf("reading the client CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", l.TLSClientCA)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"},
	}, nil
}

// options are the gRPC options that guard a server.
func (d *door) options() []grpc.ServerOption {
	var options []grpc.ServerOption
	if d.tls.Load() != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(&tls.Config{
			MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"},
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return d.tls.Load(), nil },
		})))
	}
	return options
}

// admit refuses a call whose headers do not show the secret.
func (d *door) admit(header metadata.MD) error {
	want := d.secret.Load()
	if want == nil {
		return nil
	}
	if shown := header.Get("authorization"); len(shown) == 1 {
		if got := sha256.Sum256([]byte(shown[0])); subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
			return nil
		}
	}
	return status.Error(codes.Unauthenticated, "the processor was not shown its secret; set backendAuth in the gateway's configuration")
}

// files are those whose change is a reason to reload.
func (l *Listener) files() []string {
	var files []string
	for _, f := range []string{l.SecretFile, l.TLSCert, l.TLSKey, l.TLSClientCA} {
		if f != "" {
			files = append(files, f)
		}
	}
	return files
}
