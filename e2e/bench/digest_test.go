package bench_test

import (
	"crypto/sha256"
	"maps"
	"slices"
	"testing"

	"github.com/gowebpki/jcs"

	"agentgateway-lock/pkg/surface"
)

// digestVsJCS is all that a lock does to the definitions of the real servers:
// parsing, every rule, the canonical form, digest, gateway digest and the three
// hashes of tools; over the canonical form by a JCS library and SHA-256 alone.
func digestVsJCS(b *testing.B) {
	all := realDefinitions(b)
	raws := slices.Concat(slices.Collect(maps.Values(all))...)
	reportRatio(b, 300, fastest, func() { digestAll(b, all) }, func() {
		for _, raw := range raws {
			text, err := jcs.Transform(raw)
			if err != nil {
				b.Fatal(err)
			}
			sha256.Sum256(text)
		}
	})
}

// digestVsSHA256 is the same over SHA-256 of the bytes as they were sent.
func digestVsSHA256(b *testing.B) {
	all := realDefinitions(b)
	raws := slices.Concat(slices.Collect(maps.Values(all))...)
	reportRatio(b, 300, fastest, func() { digestAll(b, all) }, func() {
		for _, raw := range raws {
			sha256.Sum256(raw)
		}
	})
}

func digestAll(b *testing.B, all map[surface.Kind][][]byte) {
	for kind, raws := range all {
		if list, refused := surface.NewList(kind, raws); len(refused) > 0 || len(list.Definitions) != len(raws) {
			b.Fatal("a real definition is refused")
		}
	}
}
