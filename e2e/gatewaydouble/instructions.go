package gatewaydouble

import "strings"

// Preamble is the text that the gateway's own instructions begin with when it
// speaks for several targets.
const Preamble = "This server is a gateway to a set of mcp servers. It is responsible for routing requests to the correct server and aggregating the results."

// TargetInstructions are the instructions of one target.
type TargetInstructions struct {
	Target       string
	Instructions string
}

// MergedInstructions is the text that a client of several targets gets for the
// instructions of all, in the order of the configuration: [Preamble] and then,
// for each target that has any, an empty line, the target's name in brackets on a
// line, and its instructions. That they are preamble and sections is the
// gateway's contract; the white space between them is inferred.
func MergedInstructions(targets []TargetInstructions) string {
	var out strings.Builder
	out.WriteString(Preamble)
	for _, target := range targets {
		if target.Instructions != "" {
			out.WriteString("\n\n[" + target.Target + "]\n" + target.Instructions)
		}
	}
	return out.String()
}
