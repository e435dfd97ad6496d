package sigstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
)

// A cosignBundle is what cosign before version 3 writes for sign-blob --bundle,
// where --new-bundle-format is not given. It holds the log's promise and no proof
// of inclusion.
type cosignBundle struct {
	Signature   string `json:"base64Signature"`
	Certificate string `json:"cert"` // base64 of the PEM text
	Rekor       *struct {
		Promise []byte `json:"SignedEntryTimestamp"`
		Payload struct {
			Body           string `json:"body"`
			IntegratedTime int64  `json:"integratedTime"`
			LogIndex       int64  `json:"logIndex"`
			LogID          string `json:"logID"`
		}
	} `json:"rekorBundle"`
}

// isCosign reports a text in the older form of cosign.
func isCosign(text []byte) bool {
	var head struct {
		Signature *string `json:"base64Signature"`
		Type      *string `json:"mediaType"`
	}
	return json.Unmarshal(text, &head) == nil && head.Signature != nil && head.Type == nil
}

// readCosign makes of it the bundle that says the same. Its message digest, which
// is a hint and stands in the newer form alone, is that of the lockfile.
func readCosign(text, lockfile []byte) (*bundle.Bundle, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var c cosignBundle
	if err := decoder.Decode(&c); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after it")
	}
	if c.Rekor == nil {
		return nil, errors.New("it holds no entry of a transparency log")
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(c.Signature)
	if err != nil {
		return nil, err
	}
	certificate, err := base64.StdEncoding.Strict().DecodeString(c.Certificate)
	if err != nil {
		return nil, err
	}
	block, rest := pem.Decode(certificate)
	if block == nil || block.Type != "CERTIFICATE" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("its certificate is not one PEM block")
	}
	entry, err := c.entry()
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(lockfile)
	return bundle.NewBundle(&protobundle.Bundle{
		MediaType: "application/vnd.dev.sigstore.bundle+json;version=0.1",
		VerificationMaterial: &protobundle.VerificationMaterial{
			Content: &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: &protocommon.X509CertificateChain{
				Certificates: []*protocommon.X509Certificate{{RawBytes: block.Bytes}},
			}},
			TlogEntries: []*protorekor.TransparencyLogEntry{entry},
		},
		Content: &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
			MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: digest[:]},
			Signature:     signature,
		}},
	})
}

func (c *cosignBundle) entry() (*protorekor.TransparencyLogEntry, error) {
	payload := c.Rekor.Payload
	body, err := base64.StdEncoding.Strict().DecodeString(payload.Body)
	if err != nil {
		return nil, err
	}
	logID, err := hex.DecodeString(payload.LogID)
	if err != nil {
		return nil, err
	}
	var kind struct{ Kind, APIVersion string }
	if err := json.Unmarshal(body, &kind); err != nil {
		return nil, err
	}
	return &protorekor.TransparencyLogEntry{
		LogIndex: payload.LogIndex, LogId: &protocommon.LogId{KeyId: logID},
		KindVersion:    &protorekor.KindVersion{Kind: kind.Kind, Version: kind.APIVersion},
		IntegratedTime: payload.IntegratedTime, CanonicalizedBody: body,
		InclusionPromise: &protorekor.InclusionPromise{SignedEntryTimestamp: c.Rekor.Promise},
	}, nil
}
