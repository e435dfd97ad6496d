package trust

import (
	"fmt"
	"testing"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
)

// large makes a lockfile of items tools and decisions that approve as many of them
// each, signed with real keys.
func large(b *testing.B, items, decisions int) (*world, []DecisionFile) {
	w := newWorld(b)
	tools := make([]lockfile.Item, items)
	for i := range tools {
		name := fmt.Sprintf("tool-%05d", i)
		tools[i] = lockfile.Item{Name: name, Digest: digestOf(name), GatewayDigest: digestOf("gateway " + name)}
	}
	w.lock.Servers[0].Lists[surface.KindTool] = tools
	key, c := testKey(b, "alice"), w.chain()
	var files []DecisionFile
	for d := range decisions {
		st := Statement{Repository: c.Repository(), Lockfile: w.path, Trust: c.Digest(), Action: Approve, At: w.now.Unix(), By: "alice@example.com"}
		for i := d * items / decisions; i < (d+1)*items/decisions; i++ {
			st.Items = append(st.Items, Item{Key: toolKey(tools[i].Name), Digest: tools[i].Digest, GatewayDigest: tools[i].GatewayDigest,
				Previous: []canonical.Digest{}, Serial: 1, Grade: finding.Warning, Proposers: []string{"Bob"}})
		}
		blob, err := key.Sign(b.Context(), "agentgateway-decision@v1", st.Canonical())
		if err != nil {
			b.Fatal(err)
		}
		id := st.ID()
		for i := range st.Items {
			w.tool(st.Items[i].Name).Decision = id
		}
		decision := Decision{Statement: st, Signatures: [][]byte{blob}}
		files = append(files, DecisionFile{DecisionPath(id), decision.Format()})
	}
	return w, files
}

// BenchmarkLedger reads and verifies 1,000 decisions about 10,000 items.
func BenchmarkLedger(b *testing.B) {
	_, files := large(b, 10_000, 1000)
	size := 0
	for _, f := range files {
		size += len(f.Data)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		if l, err := NewLedger(files, nil, nil); err != nil || l.Len() != len(files) {
			b.Fatal(err)
		}
	}
}

// BenchmarkCanonical is what BenchmarkLedger is measured by: each file
// canonicalised once, on one core.
func BenchmarkCanonical(b *testing.B) {
	_, files := large(b, 10_000, 1000)
	var enc canonical.Encoder
	var dst []byte
	size := 0
	for _, f := range files {
		size += len(f.Data)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, f := range files {
			var err error
			if dst, err = enc.Append(dst[:0], f.Data); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkEvaluate tells the state of 10,000 items.
func BenchmarkEvaluate(b *testing.B) {
	w, files := large(b, 10_000, 1000)
	l, err := NewLedger(files, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	c := w.chain()
	for b.Loop() {
		s := Evaluate(Input{Chain: c, Ledger: l, Lockfile: w.lock, Path: w.path, Now: w.now})
		if it := s.Item(toolKey("tool-00000")); it.Status != Approved {
			b.Fatal(it.Why)
		}
	}
}
