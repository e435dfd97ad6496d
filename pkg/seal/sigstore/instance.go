package sigstore

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"agentgateway-lock/pkg/textcheck"

	"github.com/digitorus/timestamp"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/tle"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 1 << 20

// instance speaks to the services of a Sigstore instance.
type instance struct {
	signer *Signer
	client http.Client
}

func newInstance(s *Signer) *instance {
	in := &instance{signer: s}
	if s.Client != nil {
		in.client = *s.Client
	}
	in.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return in
}

// post sends one request and returns the answer of the status want.
func (in *instance) post(ctx context.Context, url string, header http.Header, body []byte, want int) (answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", url, err)
	}
	request.Header = header
	response, err := in.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("sealing with Sigstore: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the answer of %s: %w", url, err)
	case response.StatusCode != want:
		return nil, fmt.Errorf("%s answered %d: %s", url, response.StatusCode, textcheck.Quote(strings.TrimSpace(string(answer)), 200))
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("the answer of %s has more than %d bytes", url, maxAnswer)
	}
	return answer, nil
}

func (in *instance) postJSON(ctx context.Context, url string, header http.Header, body any, want int, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json")
	answer, err := in.post(ctx, url, header, text, want)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	return nil
}

func joinURL(base, path string) string { return strings.TrimRight(base, "/") + path }

// certificate has Fulcio certify a key for the identity of a token, and returns
// the certificate as DER.
func (in *instance) certificate(ctx context.Context, key *ecdsa.PrivateKey, idToken string) ([]byte, error) {
	subject, err := tokenSubject(idToken)
	if err != nil {
		return nil, err
	}
	proof := sha256.Sum256([]byte(subject))
	signed, err := key.Sign(rand.Reader, proof[:], crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("proving the possession of a key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("writing a key: %w", err)
	}
	url := joinURL(in.signer.Fulcio, "/api/v2/signingCert")
	type chain struct {
		Chain struct{ Certificates []string }
	}
	var answer struct{ SignedCertificateEmbeddedSct, SignedCertificateDetachedSct chain }
	err = in.postJSON(ctx, url, http.Header{"Authorization": {"Bearer " + idToken}}, map[string]any{"publicKeyRequest": map[string]any{
		"publicKey":         map[string]string{"algorithm": "ECDSA", "content": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))},
		"proofOfPossession": signed,
	}}, http.StatusOK, &answer)
	if err != nil {
		return nil, err
	}
	for _, c := range []chain{answer.SignedCertificateEmbeddedSct, answer.SignedCertificateDetachedSct} {
		if len(c.Chain.Certificates) == 0 {
			continue
		}
		if block, _ := pem.Decode([]byte(c.Chain.Certificates[0])); block != nil && block.Type == "CERTIFICATE" {
			return block.Bytes, nil
		}
	}
	return nil, fmt.Errorf("%s answered without a certificate", url)
}

// tokenSubject is what Fulcio wants signed to prove that the key is held: the
// verified email of the token, else its subject. Fulcio judges the token itself.
func tokenSubject(token string) (string, error) {
	const hint = "run where the issuer gives one, such as a workflow with the permission id-token: write"
	if token == "" {
		return "", notSet("the identity token is missing", hint)
	}
	var claims struct {
		Subject  string `json:"sub"`
		Email    string `json:"email"`
		Verified any    `json:"email_verified"` // a boolean or, with some issuers, a text
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", notSet("the identity token is not a JSON Web Token", hint)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	switch {
	case err != nil:
		return "", notSet("the identity token is not a JSON Web Token", hint)
	case claims.Email != "" && claims.Verified != true && claims.Verified != "true":
		return "", notSet("the issuer has not verified the email of the identity token", "verify it with the issuer")
	case claims.Email != "":
		return claims.Email, nil
	case claims.Subject == "":
		return "", notSet("the identity token names nobody", hint)
	}
	return claims.Subject, nil
}

// witness adds what the log and the timestamp authority say of a signature.
func (in *instance) witness(ctx context.Context, to *protobundle.VerificationMaterial, digest, signature, certificate []byte) error {
	if in.signer.Timestamp != "" {
		stamp, err := in.timestamp(ctx, signature)
		if err != nil {
			return err
		}
		to.TimestampVerificationData = &protobundle.TimestampVerificationData{
			Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: stamp}},
		}
	}
	if in.signer.Rekor != "" {
		entry, err := in.entry(ctx, digest, signature, certificate)
		if err != nil {
			return err
		}
		to.TlogEntries = []*protorekor.TransparencyLogEntry{entry}
	}
	return nil
}

// timestamp returns the RFC 3161 response of the authority for a signature.
func (in *instance) timestamp(ctx context.Context, signature []byte) ([]byte, error) {
	digest := sha256.Sum256(signature)
	query, err := (&timestamp.Request{HashAlgorithm: crypto.SHA256, HashedMessage: digest[:]}).Marshal()
	if err != nil {
		return nil, fmt.Errorf("asking for a timestamp: %w", err)
	}
	header := http.Header{"Content-Type": {"application/timestamp-query"}}
	answer, err := in.post(ctx, in.signer.Timestamp, header, query, http.StatusCreated)
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// entry enters a signature into the log.
func (in *instance) entry(ctx context.Context, digest, signature, certificate []byte) (*protorekor.TransparencyLogEntry, error) {
	url := joinURL(in.signer.Rekor, "/api/v1/log/entries")
	var answer map[string]models.LogEntryAnon
	err := in.postJSON(ctx, url, http.Header{}, map[string]any{"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": map[string]any{
		"data": map[string]any{"hash": map[string]string{"algorithm": "sha256", "value": hex.EncodeToString(digest)}},
		"signature": map[string]any{
			"content":   signature,
			"publicKey": map[string]any{"content": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})},
		},
	}}, http.StatusCreated, &answer)
	if err != nil {
		return nil, err
	}
	if len(answer) != 1 {
		return nil, fmt.Errorf("%s answered with %d entries", url, len(answer))
	}
	for _, anon := range answer {
		if anon.LogID == nil || anon.LogIndex == nil || anon.IntegratedTime == nil || anon.Verification == nil || anon.Verification.InclusionProof == nil {
			break
		}
		entry, err := tle.GenerateTransparencyLogEntry(anon)
		if err != nil {
			return nil, fmt.Errorf("reading the answer of %s: %w", url, err)
		}
		return entry, nil
	}
	return nil, fmt.Errorf("%s answered with an entry that lacks its proof", url)
}
