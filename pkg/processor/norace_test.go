//go:build !race

package processor_test

// raceEnabled says that the race detector makes everything slower.
const raceEnabled = false
