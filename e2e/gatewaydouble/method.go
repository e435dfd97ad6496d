package gatewaydouble

// route says which upstreams a method goes to.
type route uint8

const (
	everyTarget route = iota // one request to each, one merged result
	oneTarget                // the target that a parameter names
	subscribe                // one stream from each, until the last ends
)

// method is what the gateway knows of one JSON-RPC method.
type method struct {
	route  route
	params decoder
	// names is the parameter that names the target, and the kind of name.
	names string
	kind  nameKind
	// unasked methods have no request hook, even where one is configured.
	unasked bool
	// modern and legacy methods exist in one generation of the protocol only.
	modern, legacy bool
}

type nameKind uint8

const (
	toolName nameKind = iota + 1
	promptName
	resourceURI
	taskID
	completionRef
)

var (
	cursorParams = structOf(opt("_meta", objectField), opt("cursor", textField))
	metaParams   = structOf(opt("_meta", objectField))
	callParams   = structOf(
		opt("_meta", objectField), req("name", textField), opt("arguments", objectField),
		opt("inputResponses", objectField), opt("requestState", textField))
	readParams = structOf(
		opt("_meta", objectField), req("uri", textField),
		opt("inputResponses", objectField), opt("requestState", textField))
	initializeParams = structOf(
		opt("_meta", objectField), req("protocolVersion", textField), req("capabilities", objectField), req("clientInfo", objectField))
	taskParams = marked("taskId", text)
)

// methods are those that the gateway forwards. Any other request is answered
// with an error and never forwarded.
var methods = map[string]method{
	"initialize":               {route: everyTarget, params: initializeParams, legacy: true},
	"server/discover":          {route: everyTarget, params: metaParams, modern: true},
	"ping":                     {route: everyTarget, params: metaParams, legacy: true},
	"logging/setLevel":         {route: everyTarget, params: structOf(opt("_meta", objectField), req("level", textField)), legacy: true},
	"tools/list":               {route: everyTarget, params: cursorParams},
	"prompts/list":             {route: everyTarget, params: cursorParams},
	"resources/list":           {route: everyTarget, params: cursorParams},
	"resources/templates/list": {route: everyTarget, params: cursorParams},
	"subscriptions/listen":     {route: subscribe, params: ofKind(object), modern: true},

	"tools/call":            {route: oneTarget, params: callParams, names: "name", kind: toolName},
	"prompts/get":           {route: oneTarget, params: callParams, names: "name", kind: promptName},
	"resources/read":        {route: oneTarget, params: readParams, names: "uri", kind: resourceURI},
	"resources/subscribe":   {route: oneTarget, params: marked("uri", text), names: "uri", kind: resourceURI, unasked: true, legacy: true},
	"resources/unsubscribe": {route: oneTarget, params: marked("uri", text), names: "uri", kind: resourceURI, unasked: true, legacy: true},
	"completion/complete":   {route: oneTarget, params: marked("ref", object), names: "ref", kind: completionRef, unasked: true},
	"tasks/get":             {route: oneTarget, params: taskParams, names: "taskId", kind: taskID, unasked: true},
	"tasks/update":          {route: oneTarget, params: taskParams, names: "taskId", kind: taskID, unasked: true},
	"tasks/cancel":          {route: oneTarget, params: taskParams, names: "taskId", kind: taskID, unasked: true},
}

// listing is a list method: which member of its result holds the definitions,
// and which member of a definition names it.
type listing struct {
	member string
	names  string
}

var listings = map[string]listing{
	"tools/list":               {"tools", "name"},
	"prompts/list":             {"prompts", "name"},
	"resources/list":           {"resources", "uri"},
	"resources/templates/list": {"resourceTemplates", "uriTemplate"},
}
