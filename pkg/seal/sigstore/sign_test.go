package sigstore_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/seal/sigstore"
)

// A certificate that names two subjects is nobody's, whichever stands first.
func TestTwoSubjects(t *testing.T) {
	in := newInstance(t)
	in.issue = func(public crypto.PublicKey, identity string) (*x509.Certificate, error) {
		der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
			SerialNumber: big.NewInt(2), EmailAddresses: []string{identity, "evil@example.com"},
			NotBefore: time.Now().Add(-time.Second), NotAfter: time.Now().Add(10 * time.Minute),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
			ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}, Value: []byte(issuer)}},
		}, in.intermediate, public, in.intermediateKey)
		if err != nil {
			return nil, err
		}
		return x509.ParseCertificate(der)
	}
	p := parts{log: true}
	if err := (sigstore.Verifier{}).Verify([]byte(lockfile), in.sign(p), in.policy(p)); ruleOf(err) != string(seal.RuleIdentity) {
		t.Errorf("two subjects: %v", err)
	}
}

// The time of the log has to lie within the ten minutes of the certificate. The
// signer sees it first.
func TestSignOutsideTheCertificate(t *testing.T) {
	in := newInstance(t)
	for _, after := range []time.Duration{-time.Hour / 2, time.Hour / 2} {
		in.at = after
		if _, err := in.signer(parts{log: true}).Sign(t.Context(), []byte(lockfile), token(identity)); ruleOf(err) != string(seal.RuleLog) {
			t.Errorf("entered %v after now: %v", after, err)
		}
	}
}

func TestSignRefuses(t *testing.T) {
	in := newInstance(t)
	jwt := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + "."
	}
	for _, tc := range []struct {
		name   string
		change func(*sigstore.Signer)
		token  string
		rule   seal.Rule
	}{
		{"no authority", func(s *sigstore.Signer) { s.Fulcio = "" }, token(identity), seal.RulePolicy},
		{"neither log nor clock", func(s *sigstore.Signer) { s.Rekor = "" }, token(identity), seal.RulePolicy},
		{"no TLS", func(s *sigstore.Signer) { s.Fulcio = "http://fulcio.example" }, token(identity), seal.RulePolicy},
		{"a password in the URL", func(s *sigstore.Signer) { s.Rekor = "https://a:b@rekor.example" }, token(identity), seal.RulePolicy},
		{"no URL", func(s *sigstore.Signer) { s.Rekor = "rekor.example" }, token(identity), seal.RulePolicy},
		{"no root", func(s *sigstore.Signer) { s.TrustedRoot = []byte("{}") }, token(identity), seal.RuleRoot},
		{"no token", nil, "", seal.RulePolicy},
		{"a token that is none", nil, "x", seal.RulePolicy},
		{"a token of nobody", nil, jwt(`{}`), seal.RulePolicy},
		{"a token with an unverified email", nil, jwt(`{"email":"a@example.com","sub":"a"}`), seal.RulePolicy},
		{"a token that is not JSON", nil, jwt(`x`), seal.RulePolicy},
	} {
		s := in.signer(parts{log: true})
		if tc.change != nil {
			tc.change(s)
		}
		if _, err := s.Sign(t.Context(), []byte(lockfile), tc.token); ruleOf(err) != string(tc.rule) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// An instance that misbehaves is an error that names it, and the token goes to it
// alone.
func TestSignWithABadInstance(t *testing.T) {
	in := newInstance(t)
	var answer http.HandlerFunc
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	t.Cleanup(bad.Close)
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a refusal": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no \x1b[31m", http.StatusForbidden) }, `answered 403: "no \x1b[31m"`},
		"another place": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, in.server.URL, http.StatusTemporaryRedirect)
		}, "answered 307"},
		"no JSON":           {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "reading the answer"},
		"no certificate":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }, "without a certificate"},
		"an answer so long": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) }, "more than"},
	} {
		answer = tc.answer
		s := in.signer(parts{log: true})
		s.Fulcio = bad.URL
		_, err := s.Sign(t.Context(), []byte(lockfile), token(identity))
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), token(identity)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{"no entries": `{}`, "an entry without proof": `{"a":{"body":"e30="}}`} {
		answer = func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(text))
		}
		s := in.signer(parts{log: true})
		s.Rekor = bad.URL
		if _, err := s.Sign(t.Context(), []byte(lockfile), token(identity)); err == nil || !strings.Contains(err.Error(), "answered with") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	answer = func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server sees the end of a connection only after its request
		cancel()
		<-r.Context().Done()
	}
	s := in.signer(parts{log: true})
	s.Fulcio = bad.URL
	if _, err := s.Sign(ctx, []byte(lockfile), token(identity)); !errors.Is(err, context.Canceled) {
		t.Errorf("ended by its context: %v", err)
	}
}
