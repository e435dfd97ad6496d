//go:build !race

package trust

// modelSteps is how many steps the model test takes.
const modelSteps = 200_000
