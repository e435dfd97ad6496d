// Package config reads the configurations in which MCP clients and the gateway
// name their servers, and says of each server how it is reached.
//
// # What is read
//
// One table (clients.go) lists the clients: where their files are in a repository
// and in a person's home, under which member the servers are, how each field is
// spelled, which spelling of references the client expands, and whether it obeys
// disabled. docs/clients.md is written from it. JSON (with comments and trailing
// commas), TOML and YAML are all read into one tree with line numbers, so that every
// rule below is written once. A file that holds servers and is not read is said.
//
// # One server
//
// Entries of one name that say the same in the spellings of their clients ([Same])
// are one server; the spelling that the lockfile has is kept. Entries that differ are
// variants, named NAME@CLIENT but for one.
//
// # What is refused
//
// A file in which two readers could see different servers is refused as a whole,
// by a [FileError]: one that does not parse, a repeated member, a member named
// __proto__, a YAML alias, anchor, merge key, tag or second document, and a link
// that leads out of the repository. An entry that is bad by itself leaves its
// server undecided, and the others go on: two transports in one entry, a wrong
// type, a reference that cannot be read, a literal secret.
//
// # The source
//
// What goes into the lockfile says all that decides what runs and who receives
// what, and never a secret. Values of env and headers are templates, spelled as in
// the configuration. A value without a reference is a literal: from a file inside
// the repository it is recorded as sha256: and the hash of the literal, from any
// other file it is refused. Command, args, cwd and url are recorded as spelled.
//
// # Secrets
//
// Every text of a source is searched for literal secrets (secret.go): by the forms of
// tokens, by names that speak of secrets, by addresses with a password, and by what
// looks generated. A run that is found is shown by its length alone and leaves the
// server undecided, unless its hash is accepted ([Options].Locked, AllowLiteral). The
// values of variables that [Server.Connect] expands come with it as [Values], which
// take them out of what is shown.
//
// # References
//
// ${VAR}, ${VAR:-default}, ${env:VAR}, ${input:ID} (the variable
// AGENTGATEWAY_INPUT_<ID>), ${workspaceFolder}, ${workspaceFolderBasename},
// ${userHome}, ${pathSeparator} and ${/}. A default counts where the variable is
// not set. The spellings of single clients ($VAR of Gemini CLI and the gateway,
// {env:VAR} of OpenCode, ${{ secrets.VAR }} of Continue, the members of Codex that
// hold variable names) are recorded as ${VAR}. Anything else that starts with ${
// is refused.
package config
