package crawl

import (
	"net/url"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// The environment of a child process: the names below, in any case on every
// system (Windows does not tell them apart, and proxies are spelled both ways),
// and the names that start as one of the prefixes.
var (
	childNames = []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
		// Windows needs these to start anything.
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
		"PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "USERPROFILE", "USERNAME",
		"HOMEDRIVE", "HOMEPATH", "PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS", "OS",
	}
	childPrefixes = []string{"LC_", "XDG_"}
	// settingsKept are what is kept of the settings of npm and uv: where they keep
	// and find packages. The others may hold credentials.
	settingsKept = []string{
		"NPM_CONFIG_CACHE", "NPM_CONFIG_REGISTRY", "NPM_CONFIG_PREFIX", "NPM_CONFIG_OFFLINE", "NPM_CONFIG_PREFER_OFFLINE",
		"NPM_CONFIG_CAFILE", "NPM_CONFIG_STRICT_SSL", "NPM_CONFIG_PROXY", "NPM_CONFIG_HTTPS_PROXY", "NPM_CONFIG_NOPROXY",
		"NPM_CONFIG_UPDATE_NOTIFIER", "NPM_CONFIG_FUND", "NPM_CONFIG_AUDIT",
		"UV_CACHE_DIR", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_OFFLINE", "UV_PYTHON", "UV_PYTHON_INSTALL_DIR",
		"UV_PYTHON_DOWNLOADS", "UV_TOOL_DIR", "UV_NO_CACHE", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "UV_LINK_MODE",
	}
)

// childEnviron returns the environment of a child: what the allowlist keeps of
// the parent's, and the variables its configuration names, which win. It is
// sorted.
func childEnviron(parent []string, named map[string]string) []string {
	var out []string
	for _, entry := range parent {
		name, _, ok := strings.Cut(entry, "=")
		if _, over := named[name]; ok && !over && isChildName(strings.ToUpper(name)) {
			out = append(out, entry)
		}
	}
	for name, value := range named {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

func isChildName(upper string) bool {
	if slices.Contains(childNames, upper) || slices.Contains(settingsKept, upper) {
		return true
	}
	return slices.ContainsFunc(childPrefixes, func(p string) bool { return strings.HasPrefix(upper, p) })
}

// lookupEnv returns the value of a variable in an environment; the last wins.
func lookupEnv(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		n, value, ok := strings.Cut(entry, "=")
		if ok && (n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name)) {
			return value
		}
	}
	return ""
}

// ProxyFromEnviron returns the proxies that an environment names (HTTP_PROXY,
// HTTPS_PROXY, NO_PROXY, or in lower case, which wins).
func ProxyFromEnviron(environ []string) func(*url.URL) (*url.URL, error) {
	get := func(name string) string {
		if v := lookupEnv(environ, strings.ToLower(name)); v != "" {
			return v
		}
		return lookupEnv(environ, name)
	}
	config := httpproxy.Config{HTTPProxy: get("HTTP_PROXY"), HTTPSProxy: get("HTTPS_PROXY"), NoProxy: get("NO_PROXY")}
	return config.ProxyFunc()
}
