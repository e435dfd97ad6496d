// Package seal signs and verifies a lockfile as a whole: who said that this is
// the lockfile to enforce. What is approved inside it is for pkg/trust; a seal says
// which of the states that a repository went through is meant to be used.
//
// A seal is made by a deployer: a key that the newest trust version lists with that
// role, or for Sigstore the one identity that a policy names. There are three kinds,
// and [Require] says which one something must bear.
//
// # Tags
//
// [SignTag] makes an annotated tag with an SSH signature in the namespace git, so
// that git verify-tag accepts it. Its message ends with an empty line and
//
//	lockfile-sha256: <64 hexadecimal digits>
//	trust: <64 hexadecimal digits>
//
// the SHA-256 of the lockfile's bytes and the digest of the newest trust version in
// the commit. A commit id proves no content; these lines do. [VerifyTag] accepts a
// tag
//
//   - that is annotated, whose inner name is its reference after refs/tags/, and
//     that points to a commit;
//   - that has one signature, in the namespace git and with nothing after it, and no
//     other block of a signature anywhere;
//   - whose signer is a deployer of the newest trust version in the commit, with the
//     trust chain verified from the trust root;
//   - whose two lines stand at the end, once, and are true of the commit.
//
// # Detached signatures
//
// [Sign] makes agentgateway.lock.sig: the armored SSH signature over the lockfile's
// bytes in the namespace agentgateway-lock@v1, byte for byte what
//
//	ssh-keygen -Y sign -n agentgateway-lock@v1 -f KEY agentgateway.lock
//
// makes of an Ed25519 key. [VerifySignature] accepts either.
//
// # Sigstore
//
// agentgateway.lock.sigstore.json is a Sigstore bundle over the lockfile's bytes.
// It is made and verified by pkg/seal/sigstore, which is reached through
// [SigstoreVerifier].
//
// # Bundles
//
// A [Bundle] is one JSON file for places that have no repository, such as a
// container image. Every member is always there:
//
//	type          "agentgateway-bundle/v1"
//	path          of the lockfile, from the folder that holds .agentgateway
//	lockfile      its text
//	trust         the texts of the trust versions, from version 1 on
//	decisions     the texts of all decisions made for the lockfile, by id
//	instructions  the texts of approved instructions, by the order of their SHA-256
//	seal          {kind, text}: signature, sigstore, or none with an empty text
//
// Files stand in it as strings, from which their exact bytes come back; all of them
// are UTF-8. Of the readable copies a bundle holds the instructions alone: a
// processor compares definitions by their digests, and needs the words of
// instructions only, to tell what a gateway that joins several servers makes of
// them. A text is known by its digest, so it needs no seal of its own.
//
// [ParseBundle] is strict and bounded by [MaxBundleSize]; [WriteBundle] gives the
// same bytes for the same bundle. schema/bundle.schema.json is the JSON Schema.
//
// # Errors
//
// A seal that does not hold is an [*Error] with a stable [Rule], what was judged
// and what to do. Where nothing could be judged (an object that a shallow clone
// lacks, a file that cannot be read) the error is of another type: it is not a
// pass, and not a forgery either.
package seal
