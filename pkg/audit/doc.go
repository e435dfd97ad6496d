// Package audit walks the history of a repository and judges every decision,
// every trust version and every lockfile in it, tells the story of an item, and
// finds the persons behind a text.
//
// # What is judged
//
// [Verify] goes through all commits that a head reaches, parents first, from the
// first one that has a trust list. A commit is judged against each of its parents,
// so that a merge can drop nothing that one of them had:
//
//   - The lockfile parses, and stays.
//   - A decision verifies, is made for this repository under a trust version in
//     force, and is signed by an approver who is listed when it comes in. After
//     that its file is never removed or changed; signatures may be added, as long
//     as no later decision has overtaken it.
//   - A decision stands in the chain of its item: the lockfile names the newest,
//     and no link is missing. An item that was decided stays in the lockfile.
//   - Trust versions form a chain that verifies, and are only added. One that waits
//     for signatures was never in force and may be withdrawn.
//
// Nothing of this depends on commit ids staying the same, so squash, rebase and
// merge commits verify alike. Two branches that decide about one item leave two
// ends in its chain where they meet. That is no broken rule: nothing is in force
// for the item until a decision names both, and the report lists it as a
// [Conflict].
//
// Signatures of commits are commit facts beside decisions, which are the gate. They
// are reported, and judged only under the rule requireSignedCommits. Of a commit
// that changes no judged file nothing but its tree and parents is read.
//
// A trust version may carry a checkpoint, a commit that breaks a rule or follows
// one that does: what it reaches is reported, and judged no more.
//
// # What is trusted
//
// Everything is read by git ids and recomputed; a gap in history is an error
// (*gitrepo.MissingObjectError), never a shorter history. A [Violation] is a
// commit that breaks a rule; an error is a question that could not be answered.
// Neither is a pass.
package audit
