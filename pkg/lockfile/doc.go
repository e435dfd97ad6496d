// Package lockfile reads and writes agentgateway.lock and the readable copies of
// definitions beside it.
//
// # The file
//
// A lockfile is JSON. It holds one entry for each MCP server: how the server is
// reached, what was asked of it, and a hash of everything it showed.
// docs/lockfile.md describes every member, and the package schema holds the JSON
// Schema. [Parse] is strict, so that two readers cannot understand one file
// differently: what it does not know it refuses. [Format] is deterministic, so
// that a difference between two files is a difference of what they say:
//
//	Format(Parse(Format(f))) == Format(f)
//
// An entry that nobody changed is written byte for byte as it was read.
//
// # Building entries
//
// [FromSurface] makes an entry of what a server listed; [Carry] takes over from
// the entry before it what is not listed: decisions, and items that are gone but
// were decided.
//
// # Checking
//
// [Check] recomputes what a file says of itself; [CheckCopies] recomputes every
// hash from the readable copies. A command that judges or signs makes both.
//
// # Writing
//
// A [Store] writes copies and lockfile so that a run that is killed leaves a
// whole lockfile, old or new, and so that two writers do not meet.
package lockfile
