package bench_test

import (
	"os"
	"syscall"
	"testing"
)

// peakMemory is the most memory that an ended process held, in bytes.
func peakMemory(b *testing.B, state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		b.Fatal("the system does not tell what memory a process used")
	}
	return usage.Maxrss << 10
}
