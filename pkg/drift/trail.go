package drift

import (
	"slices"
	"strings"

	"agentgateway-lock/pkg/textcheck"
)

// A trail is where the walk is: the steps from the root, put into words only where
// something is told, since names may be long and many.
type trail struct {
	up   *trail
	step string // with the sign before it, as in .path or []
}

func (t *trail) to(step string) *trail { return &trail{t, step} }

// member is the trail to a member of the value that t leads to.
func (t *trail) member(name string) *trail { return t.to("." + name) }

// How much of a trail is put into words.
const (
	maxSteps   = 24
	maxStep    = 200
	shownSteps = maxSteps / 2
)

// words spells a trail. whole is false where it is shortened.
func (t *trail) words() (text string, whole bool) {
	var steps []string
	whole = true
	for ; t != nil; t = t.up {
		step := textcheck.Clip(t.step, maxStep)
		whole = whole && len(step) == len(t.step)
		steps = append(steps, step)
	}
	slices.Reverse(steps)
	if len(steps) > maxSteps {
		steps = slices.Concat(steps[:shownSteps], []string{" … "}, steps[len(steps)-shownSteps:])
		whole = false
	}
	return strings.TrimPrefix(strings.Join(steps, ""), "."), whole
}
