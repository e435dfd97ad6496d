// Package project is one repository and what is done to it: lock, compare, gate.
// Each is a function that returns a report; nothing here prints, exits or reads
// the environment by itself.
//
// # What is started and contacted
//
// Lock starts and contacts what the configurations name: that is the developer's
// own act. Compare and Gate start or contact a server, and expand variables for
// it, only if its source is settled (see settled.go): what a pull request brings
// is shown, not run.
//
// # Use
//
// [Open] finds the repository. [Project.Lock], [Project.Compare] and
// [Project.Gate] are lock, diff and ci; [Project.Review] and [Project.Approve]
// are what a person does with what they find. The outside world comes in by [Env]
// alone, so that a test has another.
//
// # Reports and errors
//
// What was found is in the report, also where it could not be checked. An error
// means that the run could not begin.
package project
