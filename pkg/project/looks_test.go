package project

import (
	"testing"

	"agentgateway-lock/pkg/surface"
)

func TestMimics(t *testing.T) {
	key := func(server, name string) surface.Key {
		return surface.Key{Server: server, Kind: surface.KindTool, Name: name}
	}
	approved := namedItem{key: key("a", "echo"), text: "echo"}
	for _, tc := range []struct {
		name  string
		there namedItem
		key   surface.Key
		text  string
		title bool
		want  bool
	}{
		{"the same item", approved, key("a", "echo"), "Echo", true, false},
		{"the same name of another server", approved, key("b", "echo"), "echo", false, false},
		{"a title in capitals", approved, key("b", "say"), "Echo", true, false},
		{"a name in capitals", approved, key("b", "Echo"), "Echo", false, true},
		{"a name like a title", namedItem{approved.key, "Echo", true}, key("b", "echo"), "echo", false, false},
		{"Cyrillic letters", approved, key("b", "есho"), "есho", false, true},
		{"Cyrillic letters in a title", approved, key("b", "say"), "есho", true, true},
	} {
		if got := tc.there.mimics(tc.key, tc.text, tc.title); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
