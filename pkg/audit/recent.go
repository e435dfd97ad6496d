package audit

import "sync"

// A recent keeps values that are dear to make and needed again soon: what is not
// used is dropped once the costs of all exceed the limit. A value is made once
// however many ask for it at a time.
type recent[K comparable, V any] struct {
	limit int
	mu    sync.Mutex
	cost  int
	young map[K]*made[V]
	old   map[K]*made[V]
}

type made[V any] struct {
	once  sync.Once
	value V
	cost  int
	err   error
}

func newRecent[K comparable, V any](limit int) *recent[K, V] {
	return &recent[K, V]{limit: limit, young: map[K]*made[V]{}, old: map[K]*made[V]{}}
}

// get returns the value of a key; build makes it, and tells its cost.
func (r *recent[K, V]) get(key K, build func() (V, int, error)) (V, error) {
	r.mu.Lock()
	m := r.young[key]
	if m == nil {
		if m = r.old[key]; m == nil {
			m = &made[V]{}
		}
		r.young[key] = m
		r.cost += m.cost
	}
	r.mu.Unlock()
	m.once.Do(func() {
		value, cost, err := build()
		r.mu.Lock()
		defer r.mu.Unlock()
		m.value, m.cost, m.err = value, cost, err
		r.cost += cost
		if r.cost > r.limit {
			r.young, r.old, r.cost = map[K]*made[V]{}, r.young, 0
		}
	})
	return m.value, m.err
}
