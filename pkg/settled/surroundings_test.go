package settled

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"agentgateway-lock/pkg/source"
)

// mapFiles is a side in memory: text by path. A text that begins with "-> " is a link,
// one that begins with "commit " a submodule; ignored holds what git ignores.
type mapFiles struct {
	files   map[string]string
	ignored map[string]bool
}

func (m mapFiles) Entry(name string) (Kind, string, error) {
	text, ok := m.files[name]
	if to, link := strings.CutPrefix(text, "-> "); ok && link {
		return Link, to, nil
	}
	if id, module := strings.CutPrefix(text, "commit "); ok && module {
		return Module, id, nil
	}
	if ok {
		return File, "", nil
	}
	for at := range m.files {
		if name == "." || strings.HasPrefix(at, name+"/") {
			return Folder, "", nil
		}
	}
	return "", "", fs.ErrNotExist
}

func (m mapFiles) Read(name string) ([]byte, error) {
	if _, _, err := m.Entry(name); err != nil {
		return nil, err
	}
	return []byte(m.files[name]), nil
}

func (m mapFiles) Matches(name string, data []byte) (bool, error) {
	have, err := m.Read(name)
	return bytes.Equal(LF(have), LF(data)), err
}

func (m mapFiles) List(folder string) ([]string, error) {
	names := map[string]bool{}
	for at := range m.files {
		rest, ok := strings.CutPrefix(at, folder+"/")
		if folder == "." {
			rest, ok = at, true
		}
		if ok {
			first, _, _ := strings.Cut(rest, "/")
			names[first] = true
		}
	}
	if len(names) == 0 {
		return nil, fs.ErrNotExist
	}
	return slices.Sorted(maps.Keys(names)), nil
}

func (m mapFiles) Known() ([]string, error) {
	var out []string
	for at := range m.files {
		if !m.ignored[at] {
			out = append(out, at)
		}
	}
	return out, nil
}

func (m mapFiles) with(pairs ...string) mapFiles {
	files := maps.Clone(m.files)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			delete(files, pairs[i])
		} else {
			files[pairs[i]] = pairs[i+1]
		}
	}
	return mapFiles{files, m.ignored}
}

// tree is a repository that has something for every command of the table.
var tree = mapFiles{map[string]string{
	"README.md": "read", "agentgateway.lock": "lock", ".gitattributes": "attributes", ".github/workflows/ci.yml": "ci", ".agentgateway/trust/1.json": "trust",
	"tools/server.js": "serve", "tools/lib.js": "lib", "tools/run.sh": "run", "tools/link.js": "-> server.js", "tools/out.js": "-> /etc/passwd", "tools/up.js": "-> ../lib/up.js",
	"lib/up.js": "up", "data/a.csv": "a", "data/deep/b.csv": "b", "my_server.py": "py", "pkg/mod/__init__.py": "mod", "vendor/sub": "commit 1234", "env.list": "A=1",
	"with space/x.js": "x", "cmd/server/main.go": "go", "sub/tool/index.js": "index", "up.csv": "-> lib/up.js",
	"load.env": "export NODE_OPTIONS=--require=./tools/lib.js", "app/package.json": `{"name": "@we/app", "bin": {"serve": "serve.js"}, "dependencies": {"near": "workspace:*", "far": "1.2.3"}}`,
}, map[string]bool{}}

var place = Place{Root: "/home/me/repo", Project: ".", Lockfile: "agentgateway.lock"}

// livePlace is place with an environment.
var livePlace = Place{
	Root: place.Root, Project: place.Project, Lockfile: place.Lockfile,
	Lookup: func(name string) (string, bool) {
		value, ok := map[string]string{"PWD": "/home/me/repo", "HOME": "/home/me", "input:where": "tools", "PATH": "/usr/bin:/home/me/repo/tools"}[name]
		return value, ok
	},
	Real: func(at string) string { return strings.Replace(at, "/srv/link", "/home/me/repo", 1) },
}

func stdio(words ...string) *source.Source {
	return &source.Source{Transport: source.Stdio, Command: words[0], Args: words[1:]}
}

func withEnv(s *source.Source, pairs ...string) *source.Source {
	s.Env = map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		s.Env[pairs[i]] = pairs[i+1]
	}
	return s
}

func inFolder(s *source.Source, cwd string) *source.Source { s.Cwd = cwd; return s }

// The ways a command can stand to the repository.
const (
	elsewhere = "elsewhere" // started in an empty folder: nothing counts
	code      = "code"      // all counts
	steered   = "steered"   // what steers counts, and what is named
)

// TestPlan is the table of command spellings. A row holds how the command stands to a
// repository that steers no runner, and paths that count.
func TestPlan(t *testing.T) {
	for _, c := range []struct {
		name  string
		s     *source.Source
		want  string
		paths string // that count, where not all does
	}{
		{"a package runner", stdio("npx", "-y", "@scope/server@1.2.3"), elsewhere, ""},
		{"a package runner of Python", stdio("uvx", "mcp-server-git==1.0"), elsewhere, ""},
		{"npm exec", stdio("npm", "exec", "--", "server"), elsewhere, ""},
		{"npm run", stdio("npm", "run", "serve"), code, ""},
		{"yarn and a script", stdio("yarn", "serve"), code, ""},
		{"yarn dlx", stdio("yarn", "dlx", "server"), elsewhere, ""},
		{"pnpm dlx", stdio("pnpm", "dlx", "server"), elsewhere, ""},
		{"bun x", stdio("bun", "x", "server"), elsewhere, ""},
		{"bun and a file", stdio("bun", "tools/server.js"), code, ""},
		{"bun run", stdio("bun", "run", "serve"), code, ""},
		{"uv run", stdio("uv", "run", "server"), code, ""},
		{"uv tool run", stdio("uv", "tool", "run", "server"), elsewhere, ""},
		{"pipx run", stdio("pipx", "run", "server"), elsewhere, ""},
		{"pipx and what is installed", stdio("pipx", "runpip", "x"), code, ""},
		{"go run of the repository", stdio("go", "run", "./cmd/server"), code, ""},
		{"go run of a version", stdio("go", "run", "example.com/server@v1.2.3"), elsewhere, ""},
		{"go run of a module of the repository", stdio("go", "run", "example.com/server"), code, ""},
		{"make", stdio("make", "serve"), code, ""},
		{"a Windows spelling", stdio("cmd", "/c", "npx", "-y", "server"), elsewhere, ""},
		{"a Windows spelling of code", stdio("cmd", "/c", `tools\run.sh`), code, ""},
		{"a name with a suffix", stdio("npx.cmd", "-y", "server"), elsewhere, ""},
		{"env before a runner", stdio("env", "A=1", "npx", "server"), elsewhere, ""},
		{"env before a runner, with a variable that loads code", stdio("env", "NODE_OPTIONS=--require ./tools/lib.js", "npx", "server"), code, ""},

		{"a folder of data", stdio("npx", "-y", "server-filesystem", "data"), steered, ""},
		{"the whole repository as data", stdio("npx", "-y", "server-filesystem", "."), steered, ""},
		{"a file of data", stdio("npx", "-y", "server", "--config", "./data/a.csv"), steered, "data/a.csv"},
		{"a file after =", stdio("npx", "-y", "server", "--config=data/a.csv"), steered, "data/a.csv"},
		{"an absolute path", stdio("npx", "-y", "server", "/home/me/repo/data/a.csv"), steered, "data/a.csv"},
		{"a file URL", stdio("npx", "-y", "server", "file:///home/me/repo/data/a.csv"), steered, "data/a.csv"},
		{"the workspace", stdio("npx", "-y", "server", "${workspaceFolder}/data/a.csv"), steered, "data/a.csv"},
		{"a path outside", stdio("npx", "-y", "server", "/home/me/other/data"), elsewhere, ""},
		{"a path that leads out", stdio("npx", "-y", "server", "../other"), elsewhere, ""},
		{"a package of the repository", stdio("npx", "./sub/tool"), code, ""},
		{"a package of the repository, by an option", stdio("uvx", "--from", ".", "server"), code, ""},
		{"a list of paths", stdio("npx", "server", "--paths", "/x,data/a.csv;/y"), steered, "data/a.csv"},
		{"a default", stdio("npx", "server", "${FILE:-data/a.csv}"), steered, "data/a.csv"},

		{"an interpreter and a file", stdio("node", "tools/server.js"), code, ""},
		{"an interpreter and a link", stdio("node", "tools/link.js"), code, ""},
		{"an interpreter and a file, with a version", stdio("python3.13", "my_server.py"), code, ""},
		{"an interpreter and a module of the repository", stdio("python", "-m", "my_server"), code, ""},
		{"an interpreter and a dotted module of the repository", stdio("python", "-m", "pkg.mod"), code, ""},
		{"an interpreter and a module", stdio("python", "-m", "mcp_server_git"), elsewhere, ""},
		{"an interpreter and a word of code", stdio("node", "-e", "require('./tools/lib.js')"), code, ""},
		{"an interpreter and a word of code that names nothing", stdio("node", "-e", "console.log(1)"), elsewhere, ""},
		{"a shell command", stdio("bash", "-c", "cd tools && ./run.sh"), code, ""},
		{"a shell command with quotes", stdio("sh", "-c", `node "with space/x.js"`), code, ""},
		{"an attached option", stdio("node", "-rtools/lib.js", "-e", "1"), code, ""},
		{"a file with a space", stdio("node", "with space/x.js"), code, ""},
		{"a program of the repository", stdio("./tools/run.sh"), code, ""},
		{"a program of the repository, by a link", stdio("tools/link.js"), code, ""},
		{"an unknown program", stdio("my-server", "--stdio"), elsewhere, ""},
		{"an unknown program and a path", stdio("my-server", "--root", "data"), code, ""},
		{"an unknown program in a folder", inFolder(stdio("my-server"), "data"), code, ""},
		{"an unknown program in the workspace", inFolder(stdio("my-server"), "${workspaceFolder}"), code, ""},
		{"a runner in a folder", inFolder(stdio("npx", "server"), "data"), steered, ""},
		{"an interpreter in a folder", inFolder(stdio("node", "server.js"), "tools"), code, ""},
		{"an unknown program somewhere else", inFolder(stdio("my-server"), "/opt"), elsewhere, ""},

		{"NODE_OPTIONS", withEnv(stdio("npx", "server"), "NODE_OPTIONS", "--require ./tools/lib.js"), code, ""},
		{"PYTHONPATH", withEnv(stdio("uvx", "server"), "PYTHONPATH", "pkg"), code, ""},
		{"PATH", withEnv(stdio("npx", "server"), "PATH", "/home/me/repo/tools:/usr/bin"), code, ""},
		{"LD_PRELOAD", withEnv(stdio("uvx", "server"), "LD_PRELOAD", "${workspaceFolder}/lib/up.js"), code, ""},
		{"a variable of data", withEnv(stdio("npx", "server"), "ALLOWED_DIR", "data"), steered, ""},
		{"a variable that names no path", withEnv(stdio("npx", "server"), "TOKEN", "${TOKEN}"), elsewhere, ""},
		{"a file of variables", &source.Source{Transport: source.Stdio, Command: "npx", Args: []string{"server"}, EnvFile: &source.EnvFile{Path: "env.list"}}, steered, "env.list"},

		// A package that is an interpreter, or is given code, runs the repository's: what
		// the file imports, and not just the file.
		{"an interpreter that a runner fetches", stdio("npx", "-y", "tsx", "tools/server.js"), code, ""},
		{"an interpreter that a runner fetches, and a folder", stdio("npx", "tsx@4", "./sub/tool"), code, ""},
		{"a task runner that a runner fetches, in a folder", inFolder(stdio("npx", "nx", "run", "serve"), "tools"), code, ""},
		{"a module of the repository, by a fetched interpreter", inFolder(stdio("uvx", "python", "-m", "my_server"), "."), code, ""},
		{"a fetched program that is given code", stdio("uvx", "fastmcp", "run", "my_server.py:mcp"), code, ""},
		{"a fetched program that is given code without its suffix", inFolder(stdio("uvx", "uvicorn", "my_server:app"), "."), code, ""},
		{"a command in place of a package", stdio("npx", "-c", "node tools/server.js"), code, ""},
		{"an attached command in place of a package", stdio("npx", "--call=node tools/server.js"), code, ""},
		{"a file of code without its suffix", stdio("node", "tools/server"), code, ""},
		{"a file of code without its suffix, absolute", stdio("node", "/home/me/repo/tools/server"), code, ""},
		// What stands before the package is for the runner.
		{"a prefix", stdio("npx", "--prefix", "./sub", "server"), code, ""},
		{"an attached prefix", stdio("npx", "--prefix=sub", "server"), code, ""},
		{"a prefix before a verb", stdio("npm", "--prefix", "sub", "exec", "server"), code, ""},
		{"a folder of uv", stdio("uvx", "--directory", "sub", "server"), code, ""},
		{"a project of uv", stdio("uvx", "--project=sub", "server"), code, ""},
		{"an editable package beside it", stdio("uvx", "--with-editable", "./sub", "server"), code, ""},
		{"a package of the repository beside it", stdio("uvx", "--with=./sub", "server"), code, ""},
		{"settings", stdio("npx", "--userconfig", "env.list", "server"), code, ""},
		{"a package of the repository as a tool", stdio("uv", "tool", "run", "./sub"), code, ""},
		{"a folder with the name of a verb", inFolder(stdio("uv", "tool", "run", "server"), "data"), steered, ""},
		// The repository's own packages.
		{"the repository's own package", inFolder(stdio("npx", "@we/app"), "app"), code, ""},
		{"the repository's own program", inFolder(stdio("npx", "serve"), "app"), code, ""},
		{"a package of the workspace", inFolder(stdio("npx", "near"), "app"), code, ""},
		{"a package from elsewhere", inFolder(stdio("npx", "far"), "app"), steered, "app/package.json"},
		// Variables and links that lead into the repository.
		{"the folder of the shell", stdio("docker", "run", "-v", "${PWD}/data:/d", "image"), steered, "data/a.csv data/deep/b.csv"},
		{"the folder of the shell, all of it", stdio("docker", "run", "-v", "$PWD:/d", "image"), code, ""},
		{"the home folder", stdio("node", "${HOME}/repo/tools/server.js"), code, ""},
		{"the home folder, in another spelling", stdio("node", "${env:HOME}/repo/tools/server.js"), code, ""},
		{"the home folder of a client", stdio("node", "${userHome}/repo/tools/server.js"), code, ""},
		{"the home folder of Windows", stdio("cmd", "/c", `%HOME%\repo\tools\run.sh`), code, ""},
		{"the home folder of a shell", stdio("sh", "-c", "cd ~/repo && ./x"), code, ""},
		{"an input", stdio("node", "${input:where}/server.js"), code, ""},
		{"another home folder", stdio("node", "${HOME}/other/tools/server.js"), elsewhere, ""},
		{"a variable that is not set", stdio("node", "${NOWHERE}"), elsewhere, ""},
		{"a folder by a variable", inFolder(stdio("npx", "far"), "${HOME}/repo/app"), steered, "app/package.json"},
		{"a link from outside", stdio("node", "/srv/link/tools/server.js"), code, ""},
		{"a program that the PATH has here", stdio("run"), elsewhere, ""},
		{"a script that the PATH has here", stdio("run.sh"), code, ""},
		{"a script that the PATH has here, behind another", stdio("env", "A=1", "run.sh"), code, ""},
		{"a file of variables that load code", &source.Source{Transport: source.Stdio, Command: "npx", Args: []string{"server"}, EnvFile: &source.EnvFile{Path: "load.env"}}, code, ""},

		{"an image", stdio("docker", "run", "-i", "--rm", "mcp/fetch"), elsewhere, ""},
		{"an image and a mount", stdio("docker", "run", "-v", "./data:/data", "mcp/fetch"), steered, "data/a.csv data/deep/b.csv"},
		{"an image and a mount in one word", stdio("docker", "run", "--mount=type=bind,source=./data,target=/data", "mcp/fetch"), steered, "data/a.csv data/deep/b.csv"},
		{"an image and the repository", stdio("docker", "run", "-v", ".:/work", "mcp/fetch"), code, ""},
		{"an image that is built", stdio("docker", "build", "."), code, ""},
		{"an image and a file of variables", stdio("docker", "run", "--env-file", "env.list", "mcp/fetch"), steered, "env.list"},

		{"a link that leads up", stdio("npx", "server", "up.csv"), steered, "lib/up.js up.csv"},
		{"a link that leads out", stdio("npx", "server", "tools/out.js"), steered, "tools/out.js"},
		{"a submodule", stdio("npx", "server", "vendor/sub"), steered, "vendor/sub"},
		{"a URL", &source.Source{Transport: source.HTTP, URL: "https://example.com/data/a.csv"}, steered, ""},
	} {
		plan, err := PlanOf(c.s, livePlace, tree)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := steered
		switch {
		case plan.Elsewhere:
			got = elsewhere
		case plan.All:
			got = code
		}
		if got != c.want {
			t.Errorf("%s: %v %q is %s (%+v), want %s", c.name, c.s.Command, c.s.Args, got, plan, c.want)
			continue
		}
		if got == steered {
			paths, err := plan.paths(place, []Files{tree})
			if strings.Join(paths, " ") != c.paths || err != nil {
				t.Errorf("%s: the paths are %q, %v, want %q", c.name, paths, err, c.paths)
			}
		}
	}
}

// TestSteering is the table of what steers a runner: where the repository has it, on
// disk or on the other side, the runner is started where a client would start it, and
// the file counts.
func TestSteering(t *testing.T) {
	npx, uvx := stdio("npx", "-y", "@scope/server@1.2.3", "--x"), stdio("uvx", "--from", "server[extra]==1", "run-it")
	for _, c := range []struct {
		name, file, text string
		s                *source.Source
		place            Place
		want             bool
	}{
		{"a registry", ".npmrc", "registry=x", npx, place, true},
		{"a registry above", ".npmrc", "registry=x", npx, Place{Root: "/r", Project: "app/web", Lockfile: "app/web/agentgateway.lock"}, true},
		{"a registry above, in the middle", "app/.npmrc", "registry=x", npx, Place{Root: "/r", Project: "app/web", Lockfile: "app/web/agentgateway.lock"}, true},
		{"a registry elsewhere", "other/.npmrc", "registry=x", npx, place, false},
		{"yarn's settings", ".yarnrc.yml", "x", npx, place, true},
		{"bun's settings", "bunfig.toml", "x", stdio("bunx", "server"), place, true},
		{"the package as a dependency", "package.json", `{"dependencies":{"@scope/server":"1.2.3"}}`, npx, place, true},
		{"another package", "package.json", `{"dependencies":{"left":"1"}}`, npx, place, false},
		{"an installed package", "node_modules/@scope/server/index.js", "evil", npx, place, true},
		{"an installed program", "node_modules/.bin/server", "evil", npx, place, true},
		{"another installed program", "node_modules/.bin/left", "evil", npx, place, false},
		{"uv's settings", "uv.toml", "x", uvx, place, true},
		{"uv's settings in pyproject.toml", "pyproject.toml", "[tool.uv]\nindex-url='x'", uvx, place, true},
		{"a pyproject.toml without any", "pyproject.toml", "[tool.black]", uvx, place, false},
		{"pip's settings", "pip.conf", "x", stdio("pipx", "run", "server"), place, true},
		{"python's registry is none of npx's", "uv.toml", "x", npx, place, false},
		{"a lock file alone", "package-lock.json", "x", npx, place, false},
		{"a lock file of the other family", "uv.lock", "x", npx, place, false},
	} {
		with := tree.with(c.file, c.text)
		for side, sides := range map[string][]Files{"on disk": {with, tree}, "on the other side": {tree, with}} {
			plan, err := PlanOf(c.s, c.place, sides...)
			if err != nil || plan.Elsewhere == c.want || plan.All {
				t.Errorf("%s, %s: %+v, %v", c.name, side, plan, err)
			}
			if d := plan.Changed(c.place, sides[0], sides[1]); d.Any != c.want || c.want && !slices.Contains(d.Files, c.file) {
				t.Errorf("%s, %s: the difference is %+v", c.name, side, d)
			}
		}
	}
	// Once a runner is started in the repository everything that steers it counts.
	base := tree.with(".npmrc", "save-exact=true", "package.json", "{}", "package-lock.json", "1", ".yarn/releases/yarn.cjs", "y", ".tool-versions", "node 22", ".pnpmfile.cjs", "p")
	for _, file := range []string{".npmrc", "package.json", "package-lock.json", ".yarn/releases/yarn.cjs", ".tool-versions", ".pnpmfile.cjs"} {
		disk := base.with(file, "evil")
		plan, err := PlanOf(npx, place, disk, base)
		if d := plan.Changed(place, disk, base); err != nil || !slices.Equal(d.Files, []string{file}) {
			t.Errorf("%s: %+v, %v", file, d, err)
		}
	}
	// What a commit brings among installed packages counts; what git ignores there does
	// only of the package itself.
	disk := base.with("node_modules/dep/index.js", "evil")
	plan, err := PlanOf(npx, place, disk, base)
	if d := plan.Changed(place, disk, base); err != nil || !slices.Equal(d.Files, []string{"node_modules/dep/index.js"}) {
		t.Errorf("a dependency that is committed: %+v, %v", d, err)
	}
	disk.ignored = map[string]bool{"node_modules/dep/index.js": true}
	plan, err = PlanOf(npx, place, disk, base)
	if d := plan.Changed(place, disk, base); err != nil || d.Any {
		t.Errorf("a dependency that is ignored: %+v, %v", d, err)
	}
	plan, err = PlanOf(npx, place, base.with("README.md", "evil"), base)
	if d := plan.Changed(place, base.with("README.md", "evil"), base); err != nil || d.Any {
		t.Errorf("README.md steers: %+v, %v", d, err)
	}
}

func TestCompose(t *testing.T) {
	compose := stdio("docker", "compose", "run", "server")
	images := tree.with("compose.yaml", "services: {server: {image: x}}")
	plan, err := PlanOf(compose, place, images)
	if err != nil || plan.All || plan.Elsewhere || !slices.Equal(plan.Paths, []string{"compose.yaml"}) {
		t.Errorf("images alone: %+v, %v", plan, err)
	}
	if plan, err = PlanOf(compose, place, tree.with("docker-compose.yml", "services: {server: {build: .}}")); err != nil || !plan.All {
		t.Errorf("what is built: %+v, %v", plan, err)
	}
}

// TestChanged holds, for a command that runs code of the repository, that every change
// of a file that counts is a difference, under either name of it, and that no other is.
func TestChanged(t *testing.T) {
	s := stdio("node", "tools/server.js")
	free := []string{"agentgateway.lock", ".gitattributes", ".github/workflows/ci.yml", ".agentgateway/trust/1.json"}
	for name := range tree.files {
		for _, text := range []string{"changed", "", "-> elsewhere", "commit 9"} {
			disk := tree.with(name, text)
			for direction, sides := range map[string][2]mapFiles{"on disk": {disk, tree}, "on the other side": {tree, disk}} {
				plan, err := PlanOf(s, place, sides[0], sides[1])
				d := plan.Changed(place, sides[0], sides[1])
				if want := !slices.Contains(free, name); err != nil || d.Err != nil || d.Any != want {
					t.Errorf("%s as %q, %s: %+v, %v", name, text, direction, d, err)
				}
				// What is remembered tells the same.
				before, err1 := plan.Print(place, sides[1])
				now, err2 := plan.Print(place, sides[0])
				if since := now.Since(before); err1 != nil || err2 != nil || since.Any != d.Any || !slices.Equal(since.Files, d.Files) {
					t.Errorf("%s as %q, %s: the prints differ by %+v, the sides by %+v", name, text, direction, since, d)
				}
			}
		}
	}
	// New files count, those that git ignores do not, unless they are named.
	disk := tree.with("new.js", "new", "built.js", "built")
	disk.ignored = map[string]bool{"built.js": true}
	plan, _ := PlanOf(s, place, disk, tree)
	if d := plan.Changed(place, disk, tree); !slices.Equal(d.Files, []string{"new.js"}) {
		t.Errorf("new files: %+v", d)
	}
	plan, _ = PlanOf(stdio("node", "built.js"), place, disk, tree)
	if d := plan.Changed(place, disk, tree); !slices.Equal(d.Files, []string{"built.js", "new.js"}) {
		t.Errorf("an ignored file that is named: %+v", d)
	}
	// What only the host reads counts where the command is there.
	hosted := tree.with(".github/mcp/server.js", "serve", ".github/mcp/lib.js", "lib")
	disk = hosted.with(".github/mcp/lib.js", "evil")
	plan, _ = PlanOf(stdio("node", ".github/mcp/server.js"), place, disk, hosted)
	if d := plan.Changed(place, disk, hosted); !slices.Equal(d.Files, []string{".github/mcp/lib.js"}) {
		t.Errorf("code in .github: %+v", d)
	}
	// The ends of lines do not count; nothing else is converted.
	plan, _ = PlanOf(s, place, tree)
	for text, want := range map[string]bool{"a\r\nb\r\n": false, "a\nb": true, "a\rb\r": true, "a\n b\n": true} {
		lines := tree.with("tools/lib.js", "a\nb\n")
		if d := plan.Changed(place, tree.with("tools/lib.js", text), lines); d.Any != want {
			t.Errorf("%q against lines that end in LF: %+v", text, d)
		}
	}
}

// broken is a side that cannot be read.
type broken struct{ mapFiles }

func (broken) Known() ([]string, error) { return nil, errors.New("broken") }

func TestChangedUnread(t *testing.T) {
	plan, err := PlanOf(stdio("make"), place, tree)
	if err != nil {
		t.Fatal(err)
	}
	if d := plan.Changed(place, tree, broken{tree}); d.Err == nil || !d.Any {
		t.Errorf("%+v", d)
	}
	if _, err := plan.Print(place, broken{tree}); err == nil {
		t.Error("a print of what cannot be read")
	}
}

// TestSpellings writes one path in every spelling and holds that each is found: cut at
// each separator, attached to options, absolute, through the workspace.
func TestSpellings(t *testing.T) {
	for _, name := range []string{"data/a.csv", "with space/x.js"} {
		for _, prefix := range []string{"", "./", "../repo/../repo/", "${workspaceFolder}/", "/home/me/repo/", "data/../", ".//"} {
			if prefix == "../repo/../repo/" {
				continue // that leaves the repository on the way
			}
			for _, around := range [][2]string{
				{"", ""}, {"--f=", ""}, {"-f", ""}, {"--f:", ""}, {"x,", ",y"}, {"a;", ";b"}, {"@", ""}, {"'", "'"}, {`"`, `"`}, {"cmd ", " --x"}, {"${X:-", "}"},
				{"(", ")"}, {"file=", ",z"}, {"$(cat ", ")"}, {"--a=b=", ""}, {"type=bind,source=", ",target=/x"},
			} {
				word := around[0] + prefix + name + around[1]
				if found := place.candidates(word, "."); !slices.Contains(found, path.Clean(name)) {
					t.Errorf("%q is not found in %q", name, word)
				}
			}
		}
	}
}
