// Package source knows what a source is: how one MCP server is reached.
//
// A [Source] records all that decides what runs and who receives what, and never a
// secret. It has one JSON form, which stands in a lockfile, a digest over its
// canonical form, and one description for people. What a client's configuration
// says becomes a source in pkg/config; expanding the variables of one is there too.
//
// The package reads no files and expands nothing.
package source
