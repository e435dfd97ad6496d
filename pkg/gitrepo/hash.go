package gitrepo

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's own object ids; nothing of ours rests on SHA-1
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
)

// Hash is a git object id: 20 bytes (SHA-1 repositories) or 32 (SHA-256). It is
// comparable and usable as a map key. The zero Hash names no object.
type Hash struct {
	n uint8
	b [sha256.Size]byte
}

// ParseHash reads a full object id: 40 or 64 lower-case hex digits.
func ParseHash(s string) (Hash, error) {
	h, ok := parseHexHash([]byte(s))
	if !ok {
		return Hash{}, fmt.Errorf("%q is not a full git object id (40 or 64 lower-case hex digits)", s)
	}
	return h, nil
}

func parseHexHash(s []byte) (h Hash, ok bool) {
	if len(s) != 2*sha1.Size && len(s) != 2*sha256.Size {
		return Hash{}, false
	}
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return Hash{}, false
		}
	}
	n, err := hex.Decode(h.b[:], s)
	h.n = uint8(n)
	return h, err == nil
}

func rawHash(b []byte) (h Hash) {
	h.n = uint8(copy(h.b[:], b))
	return h
}

// String gives the lower-case hex digits; empty for the zero Hash.
func (h Hash) String() string { return hex.EncodeToString(h.b[:h.n]) }

// Short gives the first twelve hex digits, for messages.
func (h Hash) Short() string {
	if h.n == 0 {
		return ""
	}
	return hex.EncodeToString(h.b[:6])
}

// IsZero reports whether h names no object: the zero value, or git's all-zero id.
func (h Hash) IsZero() bool { return h.b == [sha256.Size]byte{} }

// Size is the number of bytes of the id: 20, 32, or 0 for the zero value.
func (h Hash) Size() int { return int(h.n) }

// Compare orders ids by their bytes.
func (h Hash) Compare(o Hash) int { return bytes.Compare(h.b[:h.n], o.b[:o.n]) }

// MarshalText writes the hex digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (h *Hash) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*h = Hash{}
		return nil
	}
	*h, err = ParseHash(string(text))
	return err
}

// objectID computes the id of an object from its content, in the hash whose
// ids are size bytes long.
func objectID(kind Kind, body []byte, size int) Hash {
	var sum hash.Hash
	if size == sha256.Size {
		sum = sha256.New()
	} else {
		sum = sha1.New() //nolint:gosec // see the import
	}
	var head [32]byte
	b := append(head[:0], kind...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(body)), 10)
	sum.Write(append(b, 0))
	sum.Write(body)
	var out [sha256.Size]byte
	return rawHash(sum.Sum(out[:0]))
}
