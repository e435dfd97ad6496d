// Package config reads the configurations in which MCP clients and the gateway
// name their servers, and says of each server how it is reached.
//
// # What is read
//
// One table (clients.go) lists the clients: where their files stand in a
// repository and in a person's home, under which member the servers stand, and
// which spelling of references the client expands. JSON (with comments and
// trailing commas), TOML and YAML are all read into one tree with line numbers,
// so that every rule below is written once.
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
// what, and never a secret. Values of env and headers stand as templates, spelled
// as in the configuration. A value without a reference is a literal: from a file
// inside the repository it stands as sha256: and the hash of the literal, from
// any other file it is refused. Text around a reference ("Bearer ${TOKEN}") stays
// readable; where it looks like a secret itself, the source is refused. Command,
// args, cwd and url stand as spelled, so a secret must not be written there: for
// URLs that is checked (user information, and query values by their names); args
// are not judged, since no rule tells a secret argument from another.
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
