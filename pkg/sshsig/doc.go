// Package sshsig reads, writes, makes and checks SSH signatures in the SSHSIG
// format of OpenSSH (PROTOCOL.sshsig), more strictly than OpenSSH does.
//
// [Sign] makes a signature with a [Signer], which [Find] locates the way git
// does; [Verify] checks one. Who may sign is not decided here: Verify proves
// that the key inside the signature signed the message for a [Namespace], and
// the caller must know that key.
//
// # Format
//
// A signature is this blob, in the encoding of RFC 4251:
//
//	byte[6]  "SSHSIG"
//	uint32   1
//	string   public key
//	string   namespace
//	string   reserved
//	string   hash algorithm
//	string   signature: string format, string bytes, and for security keys
//	         byte flags, uint32 counter
//
// and the bytes that the key signs are
//
//	byte[6]  "SSHSIG"
//	string   namespace
//	string   reserved
//	string   hash algorithm
//	string   hash of the message
//
// Armored, the blob is base64 in lines of 70 characters between
// "-----BEGIN SSH SIGNATURE-----" and "-----END SSH SIGNATURE-----", each line
// ended by a line feed.
//
// # Strictness
//
// One signature has one accepted blob and one accepted armor: what [ParseBlob]
// and [ParseArmor] accept, Blob and Armor give back byte for byte. Accepted is
// version 1 with an empty reserved field, sha256 or sha512, and no byte beyond
// what the format asks for at any level. Keys are Ed25519, ECDSA on the three
// NIST curves, RSA of at least 3072 bits with rsa-sha2-256 or rsa-sha2-512, and
// the two security-key types, whose signatures must say that the user was
// present. Certificates are refused.
//
// A signature is not unique to a message: whoever holds the key can make
// another, and an ECDSA signature has a twin that anyone can compute. Never use
// signature bytes as an identity.
//
// Refusals are a [*FormatError] or a [*VerifyError], each naming its [Rule].
// Text taken from the input is quoted in them, so they are safe to print.
package sshsig
