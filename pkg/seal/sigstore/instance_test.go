package sigstore_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"agentgateway-lock/pkg/seal/sigstore"

	"github.com/digitorus/timestamp"
	"github.com/go-openapi/runtime"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/types"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/tlog"
)

const (
	identity = "release@example.com"
	issuer   = "https://issuer.example"
)

// instance is a Sigstore instance on this machine: a certificate authority, a
// transparency log and a timestamp authority, built of the parts of the library's
// virtual one. Its fields change what it answers.
type instance struct {
	t      *testing.T
	server *httptest.Server
	log    *ca.VirtualSigstore

	root, intermediate *x509.Certificate
	intermediateKey    *ecdsa.PrivateKey
	tsa                *root.SigstoreTimestampingAuthority
	tsaKey             *ecdsa.PrivateKey

	issuer string        // that certificates name
	at     time.Duration // after now: when the log says it was
	issue  func(public crypto.PublicKey, identity string) (*x509.Certificate, error)
}

func newInstance(t *testing.T) *instance {
	t.Helper()
	in := &instance{t: t, issuer: issuer, at: 5 * time.Minute}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	in.log, err = ca.NewVirtualSigstore()
	must(err)
	var rootKey *ecdsa.PrivateKey
	in.root, rootKey, err = ca.GenerateRootCa()
	must(err)
	in.intermediate, in.intermediateKey, err = ca.GenerateFulcioIntermediate(in.root, rootKey)
	must(err)
	stamper, stamperKey, err := ca.GenerateTSAIntermediate(in.root, rootKey)
	must(err)
	in.tsaKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leaf, err := ca.GenerateTSALeafCert(time.Now().Add(-time.Minute), in.tsaKey, stamper, stamperKey)
	must(err)
	in.tsa = &root.SigstoreTimestampingAuthority{Root: in.root, Intermediates: []*x509.Certificate{stamper}, Leaf: leaf,
		ValidityPeriodStart: time.Now().Add(-time.Hour), ValidityPeriodEnd: time.Now().Add(time.Hour), URI: "https://tsa.example"}
	in.issue = func(public crypto.PublicKey, identity string) (*x509.Certificate, error) {
		return ca.GenerateLeafCert(identity, in.issuer, time.Now().Add(-time.Second), onlyPublic{public}, in.intermediate, in.intermediateKey)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v2/signingCert", in.answer(in.certify))
	mux.HandleFunc("POST /api/v1/log/entries", in.answer(in.enter))
	mux.HandleFunc("POST /api/v1/timestamp", in.answer(in.stamp))
	in.server = httptest.NewServer(mux)
	t.Cleanup(in.server.Close)
	return in
}

// onlyPublic stands where a private key is asked for and its public half is used.
type onlyPublic struct{ key crypto.PublicKey }

func (o onlyPublic) Public() crypto.PublicKey { return o.key }

func (onlyPublic) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("there is no private key here")
}

func (in *instance) answer(handle func(body []byte, r *http.Request, w http.ResponseWriter) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = handle(body, r, w)
		}
		if err != nil {
			in.t.Errorf("%s: %v", r.URL, err)
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
}

// certify is Fulcio.
func (in *instance) certify(body []byte, r *http.Request, w http.ResponseWriter) error {
	if r.Header.Get("Authorization") != "Bearer "+token(identity) {
		return errors.New("another token than was given")
	}
	var request struct {
		PublicKeyRequest struct{ PublicKey struct{ Content string } }
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return err
	}
	block, _ := pem.Decode([]byte(request.PublicKeyRequest.PublicKey.Content))
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return err
	}
	leaf, err := in.issue(public, identity)
	if err != nil {
		return err
	}
	var chain []string
	for _, c := range []*x509.Certificate{leaf, in.intermediate, in.root} {
		chain = append(chain, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})))
	}
	return json.NewEncoder(w).Encode(map[string]any{"signedCertificateEmbeddedSct": map[string]any{"chain": map[string]any{"certificates": chain}}})
}

// enter is Rekor.
func (in *instance) enter(body []byte, _ *http.Request, w http.ResponseWriter) error {
	proposed, err := models.UnmarshalProposedEntry(bytes.NewReader(body), runtime.JSONConsumer())
	if err != nil {
		return err
	}
	entry, err := types.CreateVersionedEntry(proposed)
	if err != nil {
		return err
	}
	text, err := types.CanonicalizeEntry(context.Background(), entry)
	if err != nil {
		return err
	}
	logID, err := in.log.RekorLogID()
	if err != nil {
		return err
	}
	at, index, encoded := time.Now().Add(in.at).Unix(), int64(0), base64.StdEncoding.EncodeToString(text)
	promise, err := in.log.RekorSignPayload(tlog.RekorPayload{Body: encoded, IntegratedTime: at, LogIndex: index, LogID: logID})
	if err != nil {
		return err
	}
	proof, err := in.log.GetInclusionProof(text)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", logID)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	return json.NewEncoder(w).Encode(map[string]any{logID: map[string]any{
		"body": encoded, "integratedTime": at, "logIndex": index, "logID": logID,
		"verification": map[string]any{"inclusionProof": proof, "signedEntryTimestamp": promise},
	}})
}

// stamp is a timestamp authority.
func (in *instance) stamp(body []byte, _ *http.Request, w http.ResponseWriter) error {
	request, err := timestamp.ParseRequest(body)
	if err != nil {
		return err
	}
	made := timestamp.Timestamp{HashAlgorithm: request.HashAlgorithm, HashedMessage: request.HashedMessage, Time: time.Now(),
		Policy: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 2}}
	response, err := made.CreateResponseWithOpts(in.tsa.Leaf, in.tsaKey, crypto.SHA256)
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusCreated)
	_, err = w.Write(response)
	return err
}

// token is an identity token as an issuer gives it, without its signature.
func token(subject string) string {
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	return part(map[string]string{"alg": "none"}) + "." + part(map[string]any{"iss": issuer, "email": subject, "email_verified": true}) + "."
}

// parts say what a trusted root lists beside the certificate authority.
type parts struct{ log, stamps, certificates bool }

// trustedRoot is the trusted root of the instance.
func (in *instance) trustedRoot(p parts) []byte {
	in.t.Helper()
	authority := &root.FulcioCertificateAuthority{Root: in.root, Intermediates: []*x509.Certificate{in.intermediate}, URI: "https://fulcio.example",
		ValidityPeriodStart: time.Now().Add(-time.Hour), ValidityPeriodEnd: time.Now().Add(time.Hour)}
	logs, certificateLogs := map[string]*root.TransparencyLog{}, map[string]*root.TransparencyLog{}
	var stamps []root.TimestampingAuthority
	add := func(to, from map[string]*root.TransparencyLog) {
		for id, log := range from {
			raw, err := hex.DecodeString(id)
			if err != nil {
				in.t.Fatal(err)
			}
			log.ID, log.SignatureHashFunc = raw, crypto.SHA256
			to[id] = log
		}
	}
	if p.log {
		add(logs, in.log.RekorLogs())
	}
	if p.certificates {
		add(certificateLogs, in.log.CTLogs())
	}
	if p.stamps {
		stamps = append(stamps, in.tsa)
	}
	made, err := root.NewTrustedRoot(root.TrustedRootMediaType01, []root.CertificateAuthority{authority}, certificateLogs, stamps, logs)
	if err != nil {
		in.t.Fatal(err)
	}
	text, err := made.MarshalJSON()
	if err != nil {
		in.t.Fatal(err)
	}
	return text
}

func (in *instance) signer(p parts) *sigstore.Signer {
	s := &sigstore.Signer{Fulcio: in.server.URL, TrustedRoot: in.trustedRoot(parts{log: p.log, stamps: p.stamps})}
	if p.log {
		s.Rekor = in.server.URL
	}
	if p.stamps {
		s.Timestamp = in.server.URL + "/api/v1/timestamp"
	}
	return s
}
