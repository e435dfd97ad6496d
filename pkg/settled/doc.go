// Package settled decides which servers a run may start or contact, of what a
// repository names. It reads nothing by itself: the files of a repository, the
// variables of a CI system and what a user's machine remembers come in as values.
//
// A source is settled where its words are, and what they really run is what it was
// where the words were settled. [Judge] is the rule; its ways are:
//
//   - [OnBase]: the lockfiles of the base and of the default branch have it;
//   - [Approved]: it is approved under the trust list in force;
//   - [Remembered]: this user's own lock put it into the lockfile of this clone;
//   - [OwnChange]: in CI, the change is of this same repository;
//   - [OnDefault]: the default branch has it, and what is on disk is its history;
//   - [Allowed]: this user said so, for one run or until the words change.
//
// That there is no base is no permission.
//
// # Events
//
// [ReadEvent] reads what a CI system says a run is about. One table has the systems.
//
// # Surroundings
//
// [PlanOf] finds the files of a repository that decide what a command runs, by one
// table of programs, and whether the command is started in an empty folder, where
// none counts. [Changed] compares them on two sides, [Print] makes what is
// remembered of them.
//
// # Memory
//
// [Memory] is what is remembered of one clone, in a file outside it.
package settled
