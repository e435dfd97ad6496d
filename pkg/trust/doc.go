// Package trust knows who may decide about an item, reads and writes their signed
// decisions, and tells what is in force. It does no I/O but through the [fs.FS] that
// [Read] is given: bytes go in, values come out, and the time is an argument.
//
// # Trees
//
// [Read] is the one way from a tree, checked out or committed, to a verified trust
// list and its decisions. It reads regular files alone, each of at most its limit.
// The trust folder holds trust versions and nothing else: a stray file is an error.
// A stray or broken file of the decisions folder is kept, for [Evaluate] to report
// and for [Authority.Check] to refuse where there is no report.
//
// # Trust versions
//
// A [Version] is one file .agentgateway/trust/<n>.json. It lists signers, how many
// of them must agree, and rules. Version n+1 names the digest of n and is signed
// by a threshold of n's admins and of its own; [LoadChain] verifies that from the
// version that a trust root names. The digest of a version is over the canonical
// form of its member signed alone.
//
// # Decisions
//
// A [Decision] is one file .agentgateway/decisions/<2 hex>/<id>.json: a statement
// about items and the signatures over its canonical form. Its id is the SHA-256 of
// that form, so a file that is changed is another decision, and a signature that
// is added is not. A [Ledger] holds all decisions of a repository.
//
// # Strict reading
//
// One object has one form: every member is there, in no other type, with no other
// member beside it; numbers are integers; lists are sorted and hold nothing twice;
// what is absent is the empty string (of a digest), the empty list, or for a
// checkpoint null. White space, the order of members and escapes inside strings
// may vary in a file, since the canonical form is what is hashed and signed.
// Version.Format and Decision.Format write one form: two-space indent, members in
// the order of the documentation, characters that a reader cannot see as \u
// escapes, one newline at the end.
//
// # What is in force
//
// The decisions about one item form a chain: the lockfile names the newest, each
// names the one before, serials rise by one. [Evaluate] walks it from the first
// to the newest and lets each decision that counts take effect:
//
//	approve, rollback  its digest is in force; nothing while the item is disabled
//	reject             its digest is barred, an approval of that digest ends
//	disable            nothing is in force and nothing can be, until enable
//	enable             the item can be approved again
//	pause, resume      the server as a whole, its items' approvals untouched
//
// A decision counts for an item once enough different persons have signed it who
// are approvers under the newest trust version and whose patterns allow the server
// and its target. approve, rollback, enable and resume need the threshold, and
// proposers of the digest do not count. A rollback counts only where a decision
// before it counts and approved the same digest; its proposers may make it. reject, disable and pause, which only take
// away, need one approver and are open to proposers too.
//
// A chain that lacks a decision, or that does not reach all decisions about its
// item, has nothing in force. A new decision that names every loose end as
// previous heals the second: it starts from what all ends bar and from nothing
// approved.
//
// Decision files say nothing about the order in which signatures were added. A
// signature that is added to a decision after a later one has counted can
// therefore not be seen in a tree by itself; [Cosign] refuses to make one,
// and [CompareBase] reports one.
package trust
