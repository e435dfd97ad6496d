package config

import (
	"agentgateway-lock/pkg/source"
)

// A client is a program that reads a configuration. Everything that differs from
// one to the next is in this table.
type client struct {
	name string
	// id names the client in the name of a variant, as in files@vscode.
	id string
	// repository and user are the files, relative to the repository's root and to
	// the folder that the first element names (see userFolders). An element may be *,
	// or the last start with it, for any name.
	repository, user []string
	// containers are the members under which servers are, as paths; all that exist
	// are read. A path without elements is the file itself (see flatServers).
	containers [][]string
	spelled    spelling
	dialect    dialect
	// variable is how a reference to a variable is written in args and in env, with
	// %s for its name; "" where the client expands none.
	variable string
	// obeys holds where the client does not start what its entry switches off, by
	// disabled or enabled.
	obeys bool
	// urlTransport is the transport of a url without a type; "" where the client
	// tries HTTP, then SSE.
	urlTransport source.Transport
	// gateway holds for the gateway's own configuration, whose targets are servers.
	gateway bool
	// shared holds where other programs, or other settings of this one, are in files
	// of that name: the file counts only where it may hold servers.
	shared bool
	// documented is where all this is written.
	documented string
}

// spelling is how a client spells the members of an entry: what a generator of
// configurations needs. The reader takes every spelling from every client, since
// what one ignores another reads.
type spelling struct {
	list                    bool // command and arguments are one list
	command, args, env, cwd string
	http, sse, headers      string // http and sse hold the address; "" where there is no such transport
	kind                    string // the member that names the transport
	stdioKind               string // its values; "" where it is left out
	httpKind, sseKind       string
}

// usual is the spelling that most clients share, with the transports named by type
// where that is needed.
var (
	usual       = spelling{command: "command", args: "args", env: "env", cwd: "cwd", http: "url", sse: "url", headers: "headers", kind: "type", httpKind: "http", sseKind: "sse"}
	usualHyphen = spelling{command: "command", args: "args", env: "env", cwd: "cwd", http: "url", sse: "url", headers: "headers", kind: "type", httpKind: "streamable-http", sseKind: "sse"}
	usualAuto   = spelling{command: "command", args: "args", env: "env", http: "url", headers: "headers"}
	geminiWay   = spelling{command: "command", args: "args", env: "env", cwd: "cwd", http: "httpUrl", sse: "url", headers: "headers"}
	openCodeWay = spelling{list: true, command: "command", env: "environment", http: "url", headers: "headers", kind: "type", stdioKind: "local", httpKind: "remote"}
)

// The members under which servers are.
var (
	mcpServers     = []string{"mcpServers"}
	servers        = []string{"servers"}
	flatFile       = []string{}
	mcp            = []string{"mcp"} // see openCodeServers
	contextServers = []string{"context_servers"}
	codexServers   = []string{"mcp_servers"}
	extensions     = []string{"extensions"}
	ampServers     = []string{"amp.mcpServers"}
	// projectServers are those of this repository in the file of a user: the
	// element {root} stands for the repository's path.
	projectServers = []string{"projects", "{root}", "mcpServers"}
)

// vscodeSettings are the members of VS Code's settings, below those of path.
func vscodeSettings(path ...string) [][]string {
	return [][]string{append(append([]string{}, path...), "mcp", "servers"), append(append([]string{}, path...), "mcp.servers")}
}

// clients are the clients that are known, in the order in which the first gives a
// server its plain name.
var clients = []client{
	{name: "Claude Code", id: "claude-code", repository: []string{".mcp.json"}, user: []string{"{home}/.claude.json"},
		containers: [][]string{mcpServers, servers, projectServers, flatFile}, spelled: usual, variable: "${%s}",
		documented: "https://code.claude.com/docs/en/mcp"},
	{name: "Claude Code settings", id: "claude-code", repository: []string{".claude/settings.json"}, user: []string{"{home}/.claude/settings.json"},
		containers: [][]string{mcpServers}, spelled: usual, variable: "${%s}", shared: true,
		documented: "https://code.claude.com/docs/en/settings"},
	{name: "Claude Code plugin", id: "claude-plugin", repository: []string{".claude-plugin/plugin.json"},
		containers: [][]string{mcpServers}, spelled: usual, variable: "${%s}", shared: true,
		documented: "https://code.claude.com/docs/en/plugins-reference"},
	{name: "the portable format", id: "mcp-json", repository: []string{"mcp.json"}, containers: [][]string{mcpServers, servers, flatFile},
		spelled: usual, variable: "${%s}", documented: "https://gofastmcp.com/integrations/mcp-json-configuration"},
	{name: "VS Code", id: "vscode", repository: []string{".vscode/mcp.json"}, user: []string{"{config}/Code/User/mcp.json"},
		containers: [][]string{servers, mcpServers}, spelled: usual, variable: "${env:%s}",
		documented: "https://code.visualstudio.com/docs/copilot/reference/mcp-configuration"},
	{name: "VS Code settings", id: "vscode", repository: []string{".vscode/settings.json"}, user: []string{"{config}/Code/User/settings.json"},
		containers: vscodeSettings(), spelled: usual, variable: "${env:%s}", shared: true,
		documented: "https://code.visualstudio.com/docs/copilot/customization/mcp-servers"},
	{name: "VS Code workspace", id: "vscode", repository: []string{"*.code-workspace"},
		containers: append(vscodeSettings("settings"), vscodeSettings()...), spelled: usual, variable: "${env:%s}", shared: true,
		documented: "https://code.visualstudio.com/docs/copilot/customization/mcp-servers"},
	{name: "Dev Containers", id: "devcontainer", repository: []string{".devcontainer/devcontainer.json", ".devcontainer.json", ".devcontainer/*/devcontainer.json"},
		containers: append(vscodeSettings("customizations", "vscode"), vscodeSettings("customizations", "vscode", "settings")...),
		spelled:    usual, variable: "${env:%s}", shared: true,
		documented: "https://code.visualstudio.com/docs/copilot/customization/mcp-servers"},
	{name: "Cursor", id: "cursor", repository: []string{".cursor/mcp.json"}, user: []string{"{home}/.cursor/mcp.json"},
		containers: [][]string{mcpServers}, spelled: usualAuto, variable: "${env:%s}",
		documented: "https://cursor.com/docs/mcp"},
	{name: "Copilot CLI", id: "copilot-cli", repository: []string{".github/mcp.json", ".copilot/mcp-config.json"}, user: []string{"{home}/.copilot/mcp-config.json"},
		containers: [][]string{mcpServers}, spelled: usual, variable: "${%s}",
		documented: "https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers"},
	{name: "Gemini CLI", id: "gemini", repository: []string{".gemini/settings.json"}, user: []string{"{home}/.gemini/settings.json"},
		containers: [][]string{mcpServers}, spelled: geminiWay, dialect: dollar, variable: "$%s", urlTransport: source.SSE,
		documented: "https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md"},
	{name: "Gemini CLI extension", id: "gemini-extension", repository: []string{"gemini-extension.json", ".gemini/extensions/*/gemini-extension.json"},
		user:       []string{"{home}/.gemini/extensions/*/gemini-extension.json"},
		containers: [][]string{mcpServers}, spelled: geminiWay, dialect: dollar, variable: "$%s", urlTransport: source.SSE,
		documented: "https://github.com/google-gemini/gemini-cli/blob/main/docs/extensions/reference.md"},
	{name: "Qwen Code", id: "qwen", repository: []string{".qwen/settings.json"}, user: []string{"{home}/.qwen/settings.json"},
		containers: [][]string{mcpServers}, spelled: geminiWay, dialect: dollar, variable: "$%s", urlTransport: source.SSE,
		documented: "https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp/"},
	{name: "Codex", id: "codex", repository: []string{".codex/config.toml"}, user: []string{"{home}/.codex/config.toml"},
		containers: [][]string{codexServers}, obeys: true,
		spelled:    spelling{command: "command", args: "args", env: "env", cwd: "cwd", http: "url", headers: "http_headers"},
		documented: "https://developers.openai.com/codex/mcp"},
	{name: "OpenCode", id: "opencode", repository: []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"},
		user:       []string{"{xdg}/opencode/opencode.json", "{xdg}/opencode/opencode.jsonc"},
		containers: [][]string{mcp}, spelled: openCodeWay, dialect: openCode, variable: "{env:%s}", obeys: true,
		documented: "https://opencode.ai/docs/mcp-servers/"},
	{name: "Kilo Code", id: "kilo", repository: []string{"kilo.json", "kilo.jsonc", ".kilo/kilo.json", ".kilo/kilo.jsonc"},
		user:       []string{"{xdg}/kilo/kilo.json", "{xdg}/kilo/kilo.jsonc"},
		containers: [][]string{mcp}, spelled: openCodeWay, dialect: openCode, variable: "{env:%s}", obeys: true,
		documented: "https://kilo.ai/docs/automate/mcp/using-in-kilo-code"},
	{name: "Kilo Code before version 7", id: "kilocode", repository: []string{".kilocode/mcp.json"},
		user:       []string{"{config}/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json", "{home}/.kilocode/cli/global/settings/mcp_settings.json"},
		containers: [][]string{mcpServers}, spelled: usualHyphen, variable: "${env:%s}", obeys: true,
		documented: "https://kilo.ai/docs/automate/mcp/using-in-cli"},
	{name: "Zed", id: "zed", repository: []string{".zed/settings.json"}, user: []string{"{zed}/settings.json"},
		containers: [][]string{contextServers}, spelled: usualAuto, obeys: true, shared: true,
		documented: "https://zed.dev/docs/ai/mcp"},
	{name: "Junie", id: "junie", repository: []string{".junie/mcp/mcp.json"}, user: []string{"{home}/.junie/mcp/mcp.json"},
		containers: [][]string{mcpServers}, spelled: usualAuto,
		documented: "https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html"},
	{name: "Cline", id: "cline", user: []string{"{config}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
		containers: [][]string{mcpServers}, obeys: true, urlTransport: source.SSE,
		spelled:    spelling{command: "command", args: "args", env: "env", cwd: "cwd", http: "url", sse: "url", headers: "headers", kind: "type", httpKind: "streamableHttp"},
		documented: "https://docs.cline.bot/mcp/configuring-mcp-servers"},
	{name: "Roo Code", id: "roo", repository: []string{".roo/mcp.json"},
		user:       []string{"{config}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"},
		containers: [][]string{mcpServers}, spelled: usualHyphen, variable: "${env:%s}", obeys: true,
		documented: "https://docs.roocode.com/features/mcp/using-mcp-in-roo"},
	{name: "Kiro", id: "kiro", repository: []string{".kiro/settings/mcp.json"}, user: []string{"{home}/.kiro/settings/mcp.json"},
		containers: [][]string{mcpServers}, spelled: usualAuto, variable: "${%s}", obeys: true,
		documented: "https://kiro.dev/docs/mcp/configuration"},
	{name: "Amazon Q", id: "amazonq", repository: []string{".amazonq/mcp.json"}, user: []string{"{home}/.aws/amazonq/mcp.json"},
		containers: [][]string{mcpServers}, spelled: usual, variable: "${env:%s}", obeys: true,
		documented: "https://docs.aws.amazon.com/amazonq/latest/qdeveloper-ug/command-line-mcp-configuration.html"},
	{name: "Factory", id: "factory", repository: []string{".factory/mcp.json"}, user: []string{"{home}/.factory/mcp.json"},
		containers: [][]string{mcpServers}, spelled: usual, variable: "${%s}", obeys: true,
		documented: "https://docs.factory.ai/cli/configuration/mcp"},
	{name: "Amp", id: "amp", repository: []string{".amp/settings.json", ".vscode/settings.json"}, user: []string{"{xdg}/amp/settings.json"},
		containers: [][]string{ampServers}, spelled: usualAuto, variable: "${%s}", shared: true,
		documented: "https://ampcode.com/manual"},
	{name: "Windsurf", id: "windsurf", repository: []string{".windsurf/mcp_config.json"}, user: []string{"{home}/.codeium/windsurf/mcp_config.json"},
		containers: [][]string{mcpServers}, variable: "${env:%s}", obeys: true,
		spelled:    spelling{command: "command", args: "args", env: "env", http: "serverUrl", headers: "headers"},
		documented: "https://docs.windsurf.com/windsurf/cascade/mcp"},
	{name: "Warp", id: "warp", repository: []string{".warp/.mcp.json", ".warp/mcp.json"}, user: []string{"{home}/.warp/.mcp.json"},
		containers: [][]string{mcpServers, servers, flatFile}, variable: "${%s}",
		spelled:    spelling{command: "command", args: "args", env: "env", cwd: "working_directory", http: "url", headers: "headers"},
		documented: "https://docs.warp.dev/agents/capabilities/mcp"},
	{name: "Trae", id: "trae", repository: []string{".trae/mcp.json"}, user: []string{"{config}/Trae/User/mcp.json"},
		containers: [][]string{mcpServers}, spelled: usualAuto,
		documented: "https://www.volcengine.com/docs/86677/2137601"},
	{name: "Crush", id: "crush", repository: []string{"crush.json", ".crush.json"}, user: []string{"{xdg}/crush/crush.json"},
		containers: [][]string{mcp}, dialect: shellWords, variable: "$%s", obeys: true,
		spelled:    spelling{command: "command", args: "args", env: "env", http: "url", sse: "url", headers: "headers", kind: "type", stdioKind: "stdio", httpKind: "http", sseKind: "sse"},
		documented: "https://github.com/charmbracelet/crush#mcps"},
	{name: "Continue", id: "continue", repository: []string{".continue/mcpServers/*.yaml", ".continue/mcpServers/*.yml", ".continue/mcpServers/*.json"},
		user: []string{"{home}/.continue/config.yaml", "{home}/.continue/mcpServers/*.yaml",
			"{home}/.continue/mcpServers/*.yml", "{home}/.continue/mcpServers/*.json"},
		containers: [][]string{mcpServers}, dialect: expression, variable: "${{ secrets.%s }}",
		spelled:    spelling{command: "command", args: "args", env: "env", cwd: "cwd", http: "url", sse: "url", headers: "headers", kind: "type", httpKind: "streamable-http", sseKind: "sse"},
		documented: "https://docs.continue.dev/reference"},
	{name: "Goose", id: "goose", user: []string{"{goose}/config.yaml"}, containers: [][]string{extensions}, variable: "${%s}", obeys: true,
		spelled:    spelling{command: "cmd", args: "args", env: "envs", http: "uri", sse: "uri", headers: "headers", kind: "type", stdioKind: "stdio", httpKind: "streamable_http", sseKind: "sse"},
		documented: "https://block.github.io/goose/docs/getting-started/using-extensions"},
	{name: "LM Studio", id: "lmstudio", user: []string{"{home}/.lmstudio/mcp.json"}, containers: [][]string{mcpServers}, spelled: usualAuto,
		documented: "https://lmstudio.ai/docs/app/mcp"},
	{name: "Claude Desktop", id: "claude-desktop", user: []string{"{config}/Claude/claude_desktop_config.json"}, containers: [][]string{mcpServers},
		spelled:    spelling{command: "command", args: "args", env: "env"},
		documented: "https://modelcontextprotocol.io/docs/develop/connect-local-servers"},
	{name: "agentgateway", id: "agentgateway", repository: []string{"agentgateway.yaml", "agentgateway.yml"}, user: []string{"{xdg}/agentgateway/config.yaml"},
		dialect: shell, variable: "$%s", gateway: true, documented: "https://agentgateway.dev/docs/configuration/backends/mcp/"},
	{name: "agentgateway", id: "agentgateway", repository: []string{"gateway.yaml", "gateway.yml", "config.yaml", "config.yml"},
		dialect: shell, variable: "$%s", gateway: true, shared: true, documented: "https://agentgateway.dev/docs/configuration/backends/mcp/"},
}

// gatewayClient reads a gateway configuration under any name.
var gatewayClient = client{name: "agentgateway", id: "agentgateway", dialect: shell, variable: "$%s", gateway: true}

// anyClient reads a file that --config names and the table does not.
var anyClient = client{name: "any client", id: "file", variable: "${%s}", spelled: usual, obeys: true,
	containers: [][]string{mcpServers, servers, mcp, contextServers, codexServers, ampServers, {"mcp.servers"}, flatFile}}

// userFolders says where a user's files are, by the first element of a path:
// {config} is the folder that the operating system has for settings, {xdg} the one
// of programs that use ~/.config everywhere. A folder that is not known is "".
func userFolders(o *Options) map[string]string {
	xdg := ""
	if o.Home != "" {
		xdg = o.Home + "/.config"
	}
	if o.GOOS != "windows" && o.GOOS != "darwin" && o.ConfigHome != "" {
		xdg = o.ConfigHome // XDG_CONFIG_HOME
	}
	at := func(folder, name string) string {
		if folder == "" {
			return ""
		}
		return folder + name
	}
	zed, goose := at(xdg, "/zed"), at(xdg, "/goose")
	if o.GOOS == "windows" {
		zed, goose = at(o.ConfigHome, "/Zed"), at(o.ConfigHome, "/Block/goose/config")
	}
	return map[string]string{"{home}": o.Home, "{config}": o.ConfigHome, "{xdg}": xdg, "{zed}": zed, "{goose}": goose}
}
