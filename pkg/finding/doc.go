// Package finding holds what every check returns: a finding with a stable code, a
// grade, a summary, a detail, a place and a hint.
//
// Codes are part of the interface: scripts and SARIF consumers match them, so a
// code is never renamed or given another meaning. docs/codes.md explains each.
//
// # Grades
//
// Critical, warning and info grade drift, and a run fails from the grade that its
// caller names on. A note never fails. A finding that is undecided says that a
// check could not be made, which is never a pass: [ExitCode] has the order.
//
// # A new finding
//
// One constant and one row of the table in codes.go. The row's meaning and advice
// are what docs/codes.md, SARIF and `agentgateway explain` say.
package finding
