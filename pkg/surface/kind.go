package surface

// Kind is what an item is.
type Kind string

// The kinds of items.
const (
	KindServer           Kind = "server"
	KindSource           Kind = "source"
	KindInstructions     Kind = "instructions"
	KindTool             Kind = "tool"
	KindPrompt           Kind = "prompt"
	KindResourceTemplate Kind = "resourceTemplate"
	KindResource         Kind = "resource"
)

// A ListKind describes one kind of definition: how it is listed and recorded.
type ListKind struct {
	Kind   Kind
	Method string // the MCP method that lists it
	Member string // of the list's result, and of a lockfile entry
	ID     string // the member of a definition that identifies it
	Cover  string // the word for it in a lockfile entry's covers
}

var listKinds = [...]ListKind{
	{KindTool, "tools/list", "tools", "name", "tools"},
	{KindPrompt, "prompts/list", "prompts", "name", "prompts"},
	{KindResourceTemplate, "resources/templates/list", "resourceTemplates", "uriTemplate", "resourceTemplates"},
	{KindResource, "resources/list", "resources", "uri", "resources"},
}

// CoverInstructions is the word for instructions in covers.
const CoverInstructions = "instructions"

// ListKinds returns the kinds of definitions in the order of a lockfile entry.
func ListKinds() []ListKind { return listKinds[:] }

// ListKindOf returns the description of kind; ok is false where kind is not one
// of a definition.
func ListKindOf(kind Kind) (k ListKind, ok bool) {
	for _, k := range listKinds {
		if k.Kind == kind {
			return k, true
		}
	}
	return ListKind{}, false
}

// DefaultCovers is what a lockfile entry covers unless asked otherwise, sorted.
func DefaultCovers() []string {
	return []string{CoverInstructions, "prompts", "resourceTemplates", "tools"}
}

// AllCovers lists every word that covers may hold, sorted.
func AllCovers() []string {
	return []string{CoverInstructions, "prompts", "resourceTemplates", "resources", "tools"}
}
