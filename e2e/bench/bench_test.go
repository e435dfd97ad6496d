// Package bench_test measures what the project promises about speed. Each ratio
// is of two measurements of one run, so that it means the same on every machine;
// "make bench" prints them. Nothing here fails for being slow.
package bench_test

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkRatio holds one sub-benchmark for each ratio.
func BenchmarkRatio(b *testing.B) {
	for _, r := range ratios {
		b.Run(r.name, r.run)
	}
}

// ratios are filled in by the files that measure.
var ratios = []struct {
	name string
	run  func(*testing.B)
}{
	{"digest-vs-jcs", digestVsJCS},
	{"digest-vs-sha256", digestVsSHA256},
	{"diff-10k", diff10k},
	{"lock-parallel", lockParallel},
	{"lock-memory", lockMemory},
	{"startup", startup},
}

// reportRatio runs two measured functions in turn, rounds times, and reports the
// median of the first over that of the second. A first round of each is not
// counted.
func reportRatio(b *testing.B, rounds int, measured, against func()) {
	b.Helper()
	measured()
	against()
	for b.Loop() {
		var x, y []time.Duration
		for range rounds {
			x = append(x, elapsed(measured))
			y = append(y, elapsed(against))
		}
		b.ReportMetric(float64(median(x))/float64(median(y)), "ratio")
	}
}

func elapsed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
