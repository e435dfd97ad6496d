package processor

import (
	"bytes"
	"container/list"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"
)

// The bounds of what a policy remembers of verdicts.
const (
	cachePages = 256
	cacheSize  = 32 << 20
)

// cache remembers the verdicts on list results of one policy. A result is found by
// a hash and recognised by its bytes.
type cache struct {
	seed maphash.Seed

	mu      sync.Mutex
	entries map[uint64]*list.Element // of *cached
	recent  *list.List               // the most recently used first
	size    int
}

// cached is one remembered verdict. It does not change.
type cached struct {
	hash    uint64
	kind    kind
	names   NameMode
	era     Era
	targets []string
	body    []byte
	page    *page
}

func newCache(seed maphash.Seed) *cache {
	return &cache{seed: seed, entries: map[uint64]*list.Element{}, recent: list.New()}
}

// hash is over everything that a verdict depends on, but for the policy.
func (c *cache) hash(r *route, k kind, body []byte) uint64 {
	h := maphash.Bytes(c.seed, body)
	var head [64]byte
	text := append(head[:0], byte(k), byte(r.era), r.names[0])
	text = binary.LittleEndian.AppendUint64(text, h)
	for _, s := range r.targets {
		text = binary.LittleEndian.AppendUint64(text, maphash.String(c.seed, s))
	}
	return maphash.Bytes(c.seed, text)
}

// get returns the remembered verdict on a result, or nil.
func (c *cache) get(hash uint64, r *route, k kind, body []byte) *page {
	c.mu.Lock()
	element := c.entries[hash]
	if element != nil {
		c.recent.MoveToFront(element)
	}
	c.mu.Unlock()
	if element == nil {
		return nil
	}
	e, _ := element.Value.(*cached)
	if e.kind != k || e.names != r.names || e.era != r.era || !slices.Equal(e.targets, r.targets) || !bytes.Equal(e.body, body) {
		return nil
	}
	return e.page
}

// put remembers a verdict. One that is larger than all may be is not remembered.
func (c *cache) put(hash uint64, r *route, k kind, body []byte, p *page) {
	if len(body)+p.size > cacheSize {
		return
	}
	e := &cached{hash, k, r.names, r.era, slices.Clone(r.targets), bytes.Clone(body), p}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.entries[hash]; old != nil {
		c.drop(old)
	}
	c.entries[hash] = c.recent.PushFront(e)
	c.size += e.size()
	for c.size > cacheSize || c.recent.Len() > cachePages {
		c.drop(c.recent.Back())
	}
}

func (c *cache) drop(element *list.Element) {
	e, _ := c.recent.Remove(element).(*cached)
	delete(c.entries, e.hash)
	c.size -= e.size()
}

func (e *cached) size() int { return len(e.body) + e.page.size }
