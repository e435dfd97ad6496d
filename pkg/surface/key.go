package surface

import (
	"cmp"
	"strings"
)

// A Key names one item: a server by the lockfile's name for it, what of it is
// meant, and the name or URI of a definition.
type Key struct {
	Server string `json:"server"`
	Kind   Kind   `json:"kind"`
	Name   string `json:"name,omitempty"` // empty for a server, its source and its instructions
}

// Compare orders keys by server, kind and name.
func (k Key) Compare(o Key) int {
	return cmp.Or(strings.Compare(k.Server, o.Server), cmp.Compare(k.Kind, o.Kind), strings.Compare(k.Name, o.Name))
}

// String names the item for people: SERVER/NAME, or the server and the kind of
// what has no name. Text of a server is not escaped here.
func (k Key) String() string {
	switch {
	case k.Name != "":
		return k.Server + "/" + k.Name
	case k.Kind != "" && k.Server != "":
		return k.Server + " " + string(k.Kind)
	}
	return k.Server
}
