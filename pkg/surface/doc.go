// Package surface knows what an MCP server shows an agent: instructions and
// definitions, how each is hashed, and how the agentgateway gateway passes it on.
//
// # Hashes
//
// All are SHA-256. A definition's digest is over the canonical form of the whole
// definition as the server sent it, unknown members included (see pkg/canonical).
// Its gateway digest is over the same after the gateway profile ([Project]),
// which leaves what the gateway leaves. A tool has three more, over its name, its
// description and its input schema, which the original lockfile format compares.
//
// # Refusals
//
// A definition that two readers could understand differently is refused by
// itself, by a named rule, and never hashed; what identifies it is the digest of
// its exact bytes.
package surface
