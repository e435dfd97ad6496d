// Package schema holds the JSON Schemas (draft 2020-12) of every file format of
// the project, for editors and other tools.
//
// The project's own readers do not use them: they are stricter in what a schema
// cannot say, such as a member that stands twice. Tests hold that a reader and
// its schema accept and refuse the same files in all else.
package schema

import _ "embed"

// Lockfile is the schema of agentgateway.lock.
//
//go:embed agentgateway.lock.schema.json
var Lockfile []byte

// Report is the schema of what --format json writes.
//
//go:embed report.schema.json
var Report []byte

// Trust is the schema of a trust version.
//
//go:embed trust.schema.json
var Trust []byte

// Decision is the schema of a decision.
//
//go:embed decision.schema.json
var Decision []byte

// Bundle is the schema of the files that `agentgateway bundle` writes.
//
//go:embed bundle.schema.json
var Bundle []byte

// Review is the schema of what review --format json writes.
//
//go:embed review.schema.json
var Review []byte
