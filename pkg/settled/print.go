package settled

import "agentgateway-lock/pkg/canonical"

// A Print is what is remembered of surroundings: their sum, and that of each file
// where they are few.
type Print struct {
	Sum   canonical.Digest            `json:"sum"`
	Files map[string]canonical.Digest `json:"files,omitempty"`
}
