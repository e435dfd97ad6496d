package gatewaydouble_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"agentgateway-lock/e2e/gatewaydouble"
)

// certificate writes a self-signed certificate for a name, and its key.
func certificate(t *testing.T, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: encoded},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestProcessorsOverTLSWithClientCertificates(t *testing.T) {
	serverCert, serverKey := certificate(t, "guard.test")
	clientCert, clientKey := certificate(t, "gateway.test")
	pair, err := tls.LoadX509KeyPair(serverCert, serverKey)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	data, err := os.ReadFile(clientCert)
	if err != nil {
		t.Fatal(err)
	}
	pool.AppendCertsFromPEM(data)
	guard := startGuard(t, "127.0.0.1:0", grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS13,
	})))
	for name, c := range map[string]struct {
		tls  gatewaydouble.TLS
		fine bool
	}{
		"right":                 {gatewaydouble.TLS{RootFile: serverCert, CertFile: clientCert, KeyFile: clientKey, Hostname: "guard.test"}, true},
		"another name":          {gatewaydouble.TLS{RootFile: serverCert, CertFile: clientCert, KeyFile: clientKey, Hostname: "other.test"}, false},
		"no client certificate": {gatewaydouble.TLS{RootFile: serverCert, Hostname: "guard.test"}, false},
		"another root":          {gatewaydouble.TLS{RootFile: clientCert, CertFile: clientCert, KeyFile: clientKey, Hostname: "guard.test"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(config *gatewaydouble.Config) {
				config.Processors = []gatewaydouble.Processor{guard.processor(everything())}
				config.Processors[0].TLS = &c.tls
			})
			r := connect(t, w.gateway.URL(), modern).call("tools/call", `{"name":"a"}`)
			if c.fine {
				wantEvent(t, r, result(calledResult))
			} else if !strings.Contains(r.last(), "mcpGuardrails checkRequest failed: ") {
				t.Errorf("got %s", r.last())
			}
		})
	}
}

func TestAMissingCertificateFileIsAnError(t *testing.T) {
	config := oneTarget
	config.Processors = []gatewaydouble.Processor{{Host: "127.0.0.1:1", TLS: &gatewaydouble.TLS{RootFile: "/no/such/file"}}}
	if _, err := gatewaydouble.New(config); err == nil {
		t.Fatal("the configuration was taken")
	}
}
