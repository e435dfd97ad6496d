// Package sigstore makes and verifies Sigstore seals: bundles of a signature, a
// short-lived certificate that names who signed, and proof of when.
//
// It is the one package that links the Sigstore libraries; pkg/seal reaches it
// through [seal.SigstoreVerifier].
//
// # What is accepted
//
// A [Verifier] takes a Sigstore bundle (application/vnd.dev.sigstore.bundle, up
// to version 0.3) or the older form of cosign before version 3, both as `cosign
// sign-blob --bundle` makes them, with a message signature over the bytes of the
// lockfile, and holds it to a [seal.SigstorePolicy] and nothing else:
//
//   - the certificate chains to an authority of the trusted root, names exactly
//     one subject, which is the policy's identity byte for byte, and carries the
//     policy's issuer byte for byte. There are no patterns.
//   - where the root lists transparency logs, one of them has the signature;
//     where it lists certificate logs, the certificate is in one of them.
//   - a log or a timestamp authority of the root says when it was signed; the
//     certificate was valid then, and that is not in the future. A root that lists
//     neither cannot say when, and is refused.
//
// Nothing is fetched. DSSE envelopes are refused: what an attestation says about a
// file is not that it may be deployed.
package sigstore
