package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
)

// A Cache says that a history was verified, so that the next run judges only what
// came after. It holds for the same trust root, folder and lockfile alone, and
// only while Covers is the hash of the same commits with the same judged files:
// that hash is computed anew each time, from the repository. Signatures of all
// decisions and of the trust list are verified anew as well. Any other cache is
// ignored, and everything is judged.
//
// A cache is as good as the file it is kept in: keep it where only its user
// writes, and use none in CI.
type Cache struct {
	Head   gitrepo.Hash     `json:"head"`
	Covers canonical.Digest `json:"covers"`
}

// cacheForm changes whenever the rules do: what older rules accepted is judged
// again.
const cacheForm = "agentgateway-audit-cache/v1"

// covers is the hash of what head reaches: of each commit its id and those of the
// judged files.
func (w *walk) covers(ctx context.Context, head gitrepo.Hash, root *canonical.Digest) (canonical.Digest, []gitrepo.Node, error) {
	nodes, err := w.repo.History(ctx, head)
	if err != nil {
		return canonical.Digest{}, nil, err
	}
	h := sha256.New()
	text := func(s string) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(s)))
		h.Write(size[:])
		h.Write([]byte(s))
	}
	text(cacheForm)
	text(w.folder)
	text(w.lockfile)
	if root != nil {
		text(root.String())
	} else {
		text("")
	}
	for _, n := range nodes {
		p := w.points[w.index[n.ID]]
		for _, id := range [...]gitrepo.Hash{n.ID, p.lockfile.ID, p.trust.ID, p.decisions.ID} {
			text(id.String())
		}
	}
	return canonical.Digest(h.Sum(nil)), nodes, nil
}

// skips lists the commits that a cache covers; none where it does not hold.
func (w *walk) skips(ctx context.Context, c *Cache, root *canonical.Digest) (map[gitrepo.Hash]bool, error) {
	if c == nil {
		return nil, nil
	}
	if _, there := w.index[c.Head]; !there {
		return nil, nil
	}
	covers, nodes, err := w.covers(ctx, c.Head, root)
	if err != nil || covers != c.Covers {
		return nil, err
	}
	skip := make(map[gitrepo.Hash]bool, len(nodes))
	for _, n := range nodes {
		skip[n.ID] = true
	}
	return skip, nil
}
