package config

import "agentgateway-lock/pkg/source"

// A client is a program that reads a configuration. Everything that differs from
// one to the next stands in this table.
type client struct {
	name string
	// repository and user are the files, relative to the repository's root and to
	// the folder that the first element names (see userFolders). The last element
	// may start with *, which stands for any name.
	repository, user []string
	// containers are the members under which servers stand, as paths; all that
	// exist are read.
	containers [][]string
	dialect    dialect
	// variable is how a reference to a variable is written in args and in env, with
	// %s for its name; "" where the client expands none.
	variable string
	// urlTransport is the transport of a url without a type, where that says one.
	urlTransport source.Transport
	// gateway holds for the gateway's own configuration, whose targets are servers.
	gateway bool
	// common holds where other programs use the same file name: the file counts
	// only where it holds what is looked for, and is not searched for in the tree.
	common bool
}

// The members under which servers stand.
var (
	mcpServers     = []string{"mcpServers"}
	servers        = []string{"servers"}
	mcp            = []string{"mcp"} // see openCodeServers
	contextServers = []string{"context_servers"}
	codexServers   = []string{"mcp_servers"}
	// projectServers are those of this repository in the file of a user: the
	// element {root} stands for the repository's path.
	projectServers = []string{"projects", "{root}", "mcpServers"}
)

var clients = []client{
	{name: "Claude Code", variable: "${%s}", repository: []string{".mcp.json"}, user: []string{"{home}/.claude.json"},
		containers: [][]string{mcpServers, projectServers}},
	{name: "the portable format", variable: "${%s}", repository: []string{"mcp.json"}, containers: [][]string{mcpServers, servers}},
	{name: "VS Code", variable: "${env:%s}", repository: []string{".vscode/mcp.json"}, user: []string{"{config}/Code/User/mcp.json"},
		containers: [][]string{servers, mcpServers}},
	{name: "Cursor", variable: "${env:%s}", repository: []string{".cursor/mcp.json"}, user: []string{"{home}/.cursor/mcp.json"},
		containers: [][]string{mcpServers}},
	{name: "Gemini CLI", variable: "$%s", repository: []string{".gemini/settings.json"}, user: []string{"{home}/.gemini/settings.json"},
		containers: [][]string{mcpServers}, dialect: dollar, urlTransport: source.SSE},
	{name: "Codex", variable: "", repository: []string{".codex/config.toml"}, user: []string{"{home}/.codex/config.toml"},
		containers: [][]string{codexServers}},
	{name: "OpenCode", variable: "{env:%s}", repository: []string{"opencode.json", "opencode.jsonc"},
		user:       []string{"{xdg}/opencode/opencode.json", "{xdg}/opencode/opencode.jsonc"},
		containers: [][]string{mcp}, dialect: openCode},
	{name: "Zed", variable: "", repository: []string{".zed/settings.json"}, user: []string{"{zed}/settings.json"},
		containers: [][]string{contextServers}},
	{name: "Roo Code", variable: "${env:%s}", repository: []string{".roo/mcp.json"},
		user:       []string{"{config}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"},
		containers: [][]string{mcpServers}},
	{name: "Kiro", variable: "${%s}", repository: []string{".kiro/settings/mcp.json"}, user: []string{"{home}/.kiro/settings/mcp.json"},
		containers: [][]string{mcpServers}},
	{name: "Continue", variable: "${{ secrets.%s }}", repository: []string{".continue/mcpServers/*.yaml", ".continue/mcpServers/*.yml", ".continue/mcpServers/*.json"},
		user: []string{"{home}/.continue/config.yaml", "{home}/.continue/mcpServers/*.yaml",
			"{home}/.continue/mcpServers/*.yml", "{home}/.continue/mcpServers/*.json"},
		containers: [][]string{mcpServers}, dialect: expression},
	{name: "agentgateway", repository: []string{"agentgateway.yaml", "agentgateway.yml"}, user: []string{"{xdg}/agentgateway/config.yaml"},
		dialect: shell, variable: "$%s", gateway: true},
	{name: "agentgateway", repository: []string{"gateway.yaml", "gateway.yml", "config.yaml", "config.yml"},
		dialect: shell, variable: "$%s", gateway: true, common: true},
}

// gatewayClient reads a gateway configuration under any name.
var gatewayClient = client{name: "agentgateway", dialect: shell, variable: "$%s", gateway: true}

// anyClient reads a file that --config names and the table does not.
var anyClient = client{name: "any client", variable: "${%s}",
	containers: [][]string{mcpServers, servers, mcp, contextServers, codexServers}}

// userFolders says where a user's files stand, by the first element of a path:
// {config} is the folder that the operating system has for settings, {xdg} the
// one of programs that use ~/.config everywhere. A folder that is not known is "".
func userFolders(o *Options) map[string]string {
	xdg := ""
	if o.Home != "" {
		xdg = o.Home + "/.config"
	}
	if o.GOOS != "windows" && o.GOOS != "darwin" && o.ConfigHome != "" {
		xdg = o.ConfigHome // XDG_CONFIG_HOME
	}
	zed := ""
	switch {
	case o.GOOS == "windows" && o.ConfigHome != "":
		zed = o.ConfigHome + "/Zed"
	case o.GOOS != "windows" && xdg != "":
		zed = xdg + "/zed"
	}
	return map[string]string{"{home}": o.Home, "{config}": o.ConfigHome, "{xdg}": xdg, "{zed}": zed}
}
