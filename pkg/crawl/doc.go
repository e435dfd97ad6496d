// Package crawl lists what one MCP server shows an agent: its instructions and
// its definitions, byte for byte as the server sent them.
//
// # Use
//
// A [Lister] holds what does not depend on the server: limits, the outside world
// and how progress is told. [Lister.Open] starts or contacts one server and
// settles the protocol version; [Session.List] reads every page of every kind
// that is asked for; [Session.Close] ends the server's process and all its
// children. [Lister.ListAll] does this for many servers at once, and lists what
// differs from the lockfile a second time.
//
// # Transports
//
// stdio, streamable HTTP and legacy HTTP with server-sent events, each over the
// connection of the official Go SDK, which hands over the exact bytes of a
// result. Protocol version 2026-07-28 (server/discover, no initialize) is tried
// first; after an error, an unusable answer or five seconds without one,
// initialize is sent over the same connection, and over a fresh one where that is
// broken. No optional client capability is advertised, as the gateway
// advertises none: some servers show more to a client that has them.
//
// # What is refused
//
// Every input is bounded (see [Limits]); over a limit the server could not be
// decided, and a truncated listing is never returned. A definition that breaks a
// rule is refused by itself, by pkg/surface. A page that is not JSON, a page
// nested deeper than 1,000 levels, a result without its list, or a cursor that
// repeats fails the server. Of a repeated member in the envelope of a JSON-RPC
// message, around the result, the last counts, as it does for the clients of
// agents; inside a result it fails the server.
//
// # Whom it contacts
//
// The guard on HTTP judges the address that is really dialled. Link-local,
// metadata, unspecified, multicast and broadcast addresses are never contacted;
// loopback, private and unique-local ones only where the endpoint allows it. Every
// request, redirects and the message endpoint of a legacy server included, goes
// to the origin of the configured URL, so no credential leaves it.
//
// A child process gets an environment of an allowlist and what its configuration
// names, never the whole environment.
package crawl
