package sigstore

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/textcheck"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"google.golang.org/protobuf/encoding/protojson"
)

// bundleType is the media type of the bundles that are made.
const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// A Signer seals lockfiles with an identity that an OpenID Connect issuer vouches
// for. Each seal is made with a key of its own that is forgotten afterwards.
type Signer struct {
	Fulcio string // base URL of the certificate authority
	// Rekor is the base URL of a transparency log (version 1 of its interface), and
	// Timestamp the URL, with its path, of an RFC 3161 timestamp authority. One of
	// them is needed.
	Rekor, Timestamp string
	// TrustedRoot is the trusted root of the instance as JSON. What was made is
	// verified with it before it is returned.
	TrustedRoot []byte
	// Client makes the requests; nil for the default of net/http. Redirections are
	// not followed, and nothing is tried twice.
	Client *http.Client
}

// Sign returns the Sigstore bundle, as JSON text, over the bytes of a lockfile.
// idToken is an identity token of the issuer; it is sent to Fulcio and to nobody
// else, over TLS unless Fulcio is on this machine. What is missing or does not fit
// is an [*seal.Error], an instance that does not answer another error.
func (s *Signer) Sign(ctx context.Context, lockfile []byte, idToken string) ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	material, err := readRoot(s.TrustedRoot)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	in := newInstance(s)
	certificate, err := in.certificate(ctx, key, idToken)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(lockfile)
	signature, err := key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("signing the lockfile: %w", err)
	}
	made := &protobundle.Bundle{
		MediaType: bundleType,
		VerificationMaterial: &protobundle.VerificationMaterial{
			Content: &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: certificate}},
		},
		Content: &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
			MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: digest[:]},
			Signature:     signature,
		}},
	}
	if err := in.witness(ctx, made.GetVerificationMaterial(), digest[:], signature, certificate); err != nil {
		return nil, err
	}
	return finish(made, lockfile, material)
}

// finish verifies what was made and writes it.
func finish(made *protobundle.Bundle, lockfile []byte, material *root.TrustedRoot) ([]byte, error) {
	b, err := bundle.NewBundle(made)
	if err != nil {
		return nil, fmt.Errorf("sealing with Sigstore: %w", err)
	}
	verifier, err := newVerifier(material)
	if err != nil {
		return nil, err
	}
	// Whose seal it is follows from the token; who accepts it says whose it must be.
	if _, err := verifier.Verify(b, verify.NewPolicy(verify.WithArtifact(bytes.NewReader(lockfile)), verify.WithoutIdentitiesUnsafe())); err != nil {
		return nil, explain(verifier, b, err)
	}
	text, err := protojson.Marshal(made)
	if err != nil {
		return nil, fmt.Errorf("writing the Sigstore bundle: %w", err)
	}
	var out bytes.Buffer // protojson varies its white space on purpose; a committed file should not
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, fmt.Errorf("writing the Sigstore bundle: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// check says what is missing before anything is sent.
func (s *Signer) check() error {
	switch {
	case s.Fulcio == "":
		return notSet("the URL of Fulcio is missing", "give the URL of the Sigstore instance to sign with")
	case s.Rekor == "" && s.Timestamp == "":
		return notSet("neither a log nor a timestamp authority is given", "give the URL of Rekor, of a timestamp authority, or both")
	}
	for _, text := range []string{s.Fulcio, s.Rekor, s.Timestamp} {
		if text != "" && !private(text) {
			return notSet(textcheck.Quote(text, 200)+" is not an https URL", "use the https URL of the Sigstore instance, without a user name")
		}
	}
	return nil
}

func notSet(detail, hint string) error {
	return &seal.Error{Rule: seal.RulePolicy, Subject: "sealing with Sigstore", Detail: detail, Advice: hint}
}

// private reports a URL whose traffic others cannot read.
func private(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}
