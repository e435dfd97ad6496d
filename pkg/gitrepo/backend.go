package gitrepo

import "context"

// backend is the outside world of a Repo: what is stored, unjudged. Repo
// recomputes ids and parses; a backend only fetches.
type backend interface {
	// object gives the kind and body stored under id. It fails with
	// *MissingObjectError, *TooLargeError (over max bytes) or *IntegrityError.
	object(ctx context.Context, id Hash, max int64) (Kind, []byte, error)
	// ref gives what a full reference name holds, itself or through symbolic
	// references; ErrNotFound where there is none.
	ref(ctx context.Context, name string) (Ref, error)
	// refs lists the references whose names begin with prefix, by name.
	refs(ctx context.Context, prefix string) ([]Ref, error)
	// expand lists the ids that begin with the hex digits.
	expand(ctx context.Context, digits string) ([]Hash, error)
	close() error
}

// Ref is a reference: a full name and the object it leads to. Target is the
// name of the reference that a symbolic one leads to in the end. ID is zero where that
// target does not exist (a branch without a commit).
type Ref struct {
	Name   string
	ID     Hash
	Target string
}
