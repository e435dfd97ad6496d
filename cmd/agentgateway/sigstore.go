package main

import (
	"context"

	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/seal/sigstore"
)

// This file alone links the Sigstore libraries.

func sigstoreVerifier() seal.SigstoreVerifier { return sigstore.Verifier{} }

// sigstoreInstance is what a Sigstore seal is made with.
type sigstoreInstance struct {
	fulcio, rekor, timestamp string
	trustedRoot              []byte
}

func sigstoreSign(ctx context.Context, at sigstoreInstance, lockfile []byte, identityToken string) ([]byte, error) {
	signer := sigstore.Signer{Fulcio: at.fulcio, Rekor: at.rekor, Timestamp: at.timestamp, TrustedRoot: at.trustedRoot}
	return signer.Sign(ctx, lockfile, identityToken)
}
