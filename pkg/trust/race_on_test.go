//go:build race

package trust

// modelSteps is how many steps the model test takes under the race detector.
const modelSteps = 6_000
