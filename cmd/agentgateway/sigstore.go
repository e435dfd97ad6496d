package main

import (
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/seal/sigstore"
)

// sigstoreVerifier is the one place that links the Sigstore libraries.
func sigstoreVerifier() seal.SigstoreVerifier { return sigstore.Verifier{} }
