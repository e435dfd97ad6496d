// Package gitrepo is the one door to git: references, raw objects and history
// for whoever judges a repository, and signed commits and tags for whoever
// writes one.
//
// # Reading
//
// [Open] finds the repository a folder belongs to and reads it through go-git,
// or, where go-git v5 cannot (SHA-256 ids, reftable, extensions.worktreeConfig
// as set by sparse checkouts, partial clones, alternates), through one
// long-lived `git cat-file --batch`. Callers see no difference.
//
// Whatever is read is read by id, and the id is recomputed from the bytes that
// came: a swapped loose object or a damaged pack is an *[IntegrityError], never
// other content. Replacement references, grafts and the shallow file change
// nothing that is read; history that is not there is a *[MissingObjectError],
// which says how to fetch it, and never a shorter history.
//
// [ParseCommit], [ParseTag] and [ParseTree] split raw bytes strictly. Git is
// lenient with objects that it did not write: from one signed commit several
// others can be made whose signature git still calls good. Such objects are
// refused here by a named rule (*[FormatError]). A signature is handed out with
// exactly the bytes it covers, cut from the object and never encoded again.
//
// The commit id proves no content: it is SHA-1 in most repositories. What is
// approved is pinned by hashes of its own; git says where it stood and when.
//
// # Writing
//
// Commits and tags are written through the user's own git program (2.36 or newer), by
// plumbing; see [Repo.Commit] and [Repo.SignedTag]. Every call to git drops
// the GIT_* variables of the environment, names the repository and the work
// tree, reads no replacement and no graft, and starts neither a file system
// monitor nor a hook nor a signing program that the repository's configuration
// names. (Naming the repository also means that git's question of who owns its
// folder is not asked: nothing that its owner may have configured is started.)
// Nothing here reads the network but [Fetch].
package gitrepo
