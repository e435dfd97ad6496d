package bench_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
)

// tenThousandTools are the definitions of one server with so many; every
// hundredth has other words in each edition.
func tenThousandTools(edition int, padding string) [][]byte {
	raws := make([][]byte, 10_000)
	for i := range raws {
		words := fmt.Sprintf("Reads the file %d of the folder and returns what it holds.%s", i, padding)
		if i%100 == 0 {
			words = fmt.Sprintf("%s Edition %d.", words, edition)
		}
		raws[i] = fmt.Appendf(nil, `{"name":"tool_%05d","description":%q,"inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"The path of the file."},"limit":{"type":"integer","minimum":0}},"required":["path"]}}`, i, words)
	}
	return raws
}

func lockfileOf(raws [][]byte) []byte {
	list, _ := surface.NewList(surface.KindTool, raws)
	f := &lockfile.File{GeneratedBy: "bench@1", GeneratedAt: "2026-11-30T12:00:00.000Z"}
	f.Put(lockfile.FromSurface("big", &source.Source{Transport: source.Stdio, Command: "npx"}, surface.DefaultCovers(),
		surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: list}}))
	return lockfile.Format(f)
}

// diff10k reads, checks and compares two lockfiles of 10,000 tools, of which 100
// differ; over decoding the same two files into any.
func diff10k(b *testing.B) {
	files := [][]byte{lockfileOf(tenThousandTools(1, "")), lockfileOf(tenThousandTools(2, ""))}
	none := func(surface.Kind, string) []byte { return nil }
	reportRatio(b, 15, fastest, func() {
		var sides []drift.Side
		for _, text := range files {
			f, err := lockfile.Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			if findings := lockfile.Check(f); len(findings) > 0 {
				b.Fatal(findings)
			}
			sides = append(sides, drift.FromLockfile(f.Servers[0], none))
		}
		if changes := drift.Compare(sides[0], sides[1]); len(changes) != 100 {
			b.Fatalf("%d changes", len(changes))
		}
	}, func() {
		for _, text := range files {
			var value any
			if err := json.Unmarshal(text, &value); err != nil {
				b.Fatal(err)
			}
		}
	})
}
