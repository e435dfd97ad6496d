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
	{"lock-vs-start", lockVsStart},
	{"lock-memory", lockMemory},
	{"startup", startup},
	{"ci-offline-10k", ciOffline10k},
}

// reportRatio runs two functions in turn, rounds times, and reports what pick
// makes of the times of the first over the same of the second. A first round of
// each is not counted.
func reportRatio(b *testing.B, rounds int, pick func([]time.Duration) time.Duration, measured, against func()) {
	b.Helper()
	measured()
	against()
	for b.Loop() {
		var x, y []time.Duration
		for range rounds {
			x = append(x, elapsed(measured))
			y = append(y, elapsed(against))
		}
		b.ReportMetric(float64(pick(x))/float64(pick(y)), "ratio")
	}
}

func elapsed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// median is for what waits on others: processes and servers.
func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// fastest is for what only computes: the other times tell what else the machine
// did.
func fastest(d []time.Duration) time.Duration { return slices.Min(d) }
