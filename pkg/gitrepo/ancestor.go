package gitrepo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// maxAncestor bounds how far back ~N may lead.
const maxAncestor = 100_000

// cutAncestor takes the last ~N, ^ or ^N off a revision: parent says which of a
// commit's parents, from 1, is followed, and times how often. ok is false where
// it ends in neither; neither sign may stand in a reference's name.
func cutAncestor(rev string) (rest string, parent, times int, ok bool, err error) {
	i := strings.LastIndexAny(rev, "~^")
	if i < 0 {
		return rev, 0, 0, false, nil
	}
	n := 1
	if digits := rev[i+1:]; digits != "" {
		if n, err = strconv.Atoi(digits); err != nil || n < 0 || n > maxAncestor || digits[0] == '+' {
			return "", 0, 0, false, fmt.Errorf("revision %q: a number from 0 to %d follows %q", rev, maxAncestor, rev[i:i+1])
		}
	}
	if rev[i] == '~' {
		return rev[:i], 1, n, true, nil
	}
	return rev[:i], n, 1, true, nil
}

// ancestor follows the parent of that number, from 1, so many times; parent 0 is
// the commit itself.
func (r *Repo) ancestor(ctx context.Context, id Hash, parent, times int) (Hash, error) {
	for ; times > 0 && parent > 0; times-- {
		c, err := r.ReadCommit(ctx, id)
		if err != nil {
			return Hash{}, err
		}
		if parent > len(c.Parents) {
			return Hash{}, fmt.Errorf("the commit %s has %d parents: %w", id.Short(), len(c.Parents), ErrNotFound)
		}
		id = c.Parents[parent-1]
	}
	return id, nil
}
