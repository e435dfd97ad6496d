package gitrepo

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // the checksum of a pack
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// packKinds are the numbers that stand for kinds of object in a pack.
var packKinds = map[Kind]byte{KindCommit: 1, KindTree: 2, KindBlob: 3, KindTag: 4}

// newObjects collects objects to be stored, and stores them with one run of git.
type newObjects struct {
	idSize int
	seen   map[Hash]bool
	pack   bytes.Buffer // the entries alone
}

// add queues an object and gives its id.
func (n *newObjects) add(kind Kind, body []byte) Hash {
	id := objectID(kind, body, n.idSize)
	if n.seen[id] {
		return id
	}
	if n.seen == nil {
		n.seen = map[Hash]bool{}
	}
	n.seen[id] = true
	// The kind and the lowest four bits of the size, then seven bits a byte.
	size := uint64(len(body))
	first := packKinds[kind]<<4 | byte(size&0x0f)
	if size >>= 4; size > 0 {
		first |= 0x80
	}
	n.pack.WriteByte(first)
	if size > 0 {
		n.pack.Write(binary.AppendUvarint(nil, size))
	}
	z := zlib.NewWriter(&n.pack)
	_, _ = z.Write(body) // a bytes.Buffer does not fail
	_ = z.Close()
	return id
}

// store writes the queued objects as loose ones. No filter of .gitattributes
// and no program of the configuration has a part in it.
func (n *newObjects) store(ctx context.Context, g *gitProgram) error {
	if len(n.seen) == 0 {
		return nil
	}
	pack := append([]byte("PACK"), 0, 0, 0, 2)
	pack = binary.BigEndian.AppendUint32(pack, uint32(len(n.seen)))
	pack = append(pack, n.pack.Bytes()...)
	if n.idSize == sha256.Size {
		sum := sha256.Sum256(pack)
		pack = append(pack, sum[:]...)
	} else {
		sum := sha1.Sum(pack) //nolint:gosec // see the import
		pack = append(pack, sum[:]...)
	}
	if _, err := g.run(ctx, gitCall{args: []string{"unpack-objects", "-q"}, stdin: pack}); err != nil {
		return fmt.Errorf("storing objects: %w", err)
	}
	return nil
}
