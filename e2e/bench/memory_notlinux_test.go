//go:build !linux

package bench_test

import (
	"os"
	"testing"
)

// peakMemory skips the benchmark: other systems count in other units.
func peakMemory(b *testing.B, _ *os.ProcessState) int64 {
	b.Skip("peak memory is measured on Linux")
	return 0
}
