//go:build !race

package trust

// modelSteps is how many steps the model test takes.
const modelSteps = 60_000
