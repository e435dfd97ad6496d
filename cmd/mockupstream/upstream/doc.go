// Package upstream is a small MCP server whose surface can be changed while it
// runs. The demo and the tests use it as the server that is locked, drifts and
// misbehaves.
//
// It is not built on an SDK's server: those encode typed structs, so they
// cannot send a duplicate name, an unknown member or a broken definition. Here
// a definition is a piece of JSON text that is sent byte for byte.
//
// # Transports and protocol eras
//
// A [Server] speaks streamable HTTP on /mcp, the older HTTP+SSE transport on
// /sse, and stdio through [Server.ServeStdio]. It speaks both eras of the
// protocol on each: 2026-07-28 (server/discover, no session, the version in
// every request) and initialize with 2025-11-25 and older. Either era can be
// switched off, in [Options] or while running.
//
// It is strict where a client could get away with an error elsewhere: requests
// before notifications/initialized, a missing or different
// MCP-Protocol-Version, Mcp-Method or Mcp-Name header and an unknown session
// are all refused.
//
// # Safety
//
// It listens on loopback addresses only, and request bodies and lines are
// bounded. It executes nothing: wipe_database only says that it did.
package upstream
