package settled

import (
	"path"
	"strings"
)

// A class says what a program does with the folder it is started in.
type class int

const (
	// unknown runs code of the repository where a word names a path of it.
	unknown class = iota
	// interpreter does so too, and finds modules in the folder it is started in.
	interpreter
	// projectTool runs what the folder it is started in says.
	projectTool
	// runner fetches a package and runs it; files of the folder steer it.
	runner
	// container runs an image, and what is mounted into it.
	container
	// composer runs containers as a file of the folder says.
	composer
	// goRun fetches a package where its version is named, and is a projectTool else.
	goRun
)

// A program is one row of the table of runners and interpreters.
type program struct {
	class class
	// verbs are the classes by the first word that is no option. A program that has
	// some is of class itself for all other words.
	verbs map[string]class
	// steering are the files of the folder, and above it, that steer the program;
	// strong are those of them for which it is started there at all.
	steering, strong []string
}

// What steers programs of each family. A name that ends in / is a folder, of which
// all counts; * stands for any text within a name.
var (
	nodeSteering = []string{".npmrc", "package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml",
		"yarn.lock", ".yarnrc", ".yarnrc.yml", ".yarn/releases/", ".yarn/plugins/", ".pnp.*", ".pnpmfile.*", "bunfig.toml", "bun.lock", "bun.lockb",
		".node-version", ".nvmrc", "deno.json", "deno.jsonc", "deno.lock"}
	nodeStrong     = []string{".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml", ".pnpmfile.*", ".pnp.*"}
	pythonSteering = []string{"uv.toml", "pyproject.toml", "uv.lock", ".python-version", ".python-versions", "pip.conf", "pip.ini", "pipx.toml",
		"setup.cfg", "setup.py", "requirements*.txt", "Pipfile", "Pipfile.lock", "poetry.lock", "poetry.toml", "pdm.toml", "pixi.toml"}
	pythonStrong    = []string{"uv.toml", "pip.conf", "pip.ini", "pipx.toml"}
	dotnetSteering  = []string{"global.json", "nuget.config", "NuGet.Config", "NuGet.config", "Directory.Build.*", "Directory.Packages.props", ".config/dotnet-tools.json", "dotnet-tools.json"}
	dotnetStrong    = []string{"nuget.config", "NuGet.Config", "NuGet.config", ".config/dotnet-tools.json", "dotnet-tools.json", "global.json"}
	composeSteering = []string{"compose.yaml", "compose.yml", "compose.*.yaml", "compose.*.yml", "docker-compose.yaml", "docker-compose.yml",
		"docker-compose.*.yaml", "docker-compose.*.yml", "Dockerfile", "Containerfile", "*.Dockerfile", "Dockerfile.*", ".dockerignore", ".env", "docker-bake.*"}
	// everySteering is what version managers read for any program.
	everySteering = []string{".tool-versions", "mise.toml", ".mise.toml", "mise.*.toml", ".mise.*.toml", ".config/mise.toml", ".config/mise/", ".mise/", ".envrc",
		".cargo/config.toml", ".cargo/config", "rust-toolchain", "rust-toolchain.toml", "go.work", "global.json"}
)

// The programs of a class whose rows have nothing else.
const (
	interpreters = `node nodejs python python2 python3 pypy pypy3 py ruby jruby perl php lua luajit julia rscript r
		tsx ts-node ts-node-esm vite-node babel-node bash sh zsh dash ash ksh fish pwsh powershell cmd nu java javaw jbang groovy kotlin scala
		clojure clj bb osascript elixir iex erl escript guile racket sbcl tclsh awk gawk swift busybox wscript cscript`
	projectTools = `make gmake just task rake gradle gradlew mvn mvnw ant sbt lein cargo gofmt poetry pdm hatch pipenv rye pixi tox nox
		invoke doit conda mamba micromamba bundle rails dotnet msbuild mix rebar3 stack cabal nix nix-shell nix-build turbo nx lerna gulp grunt
		composer mise asdf rtx devbox direnv foreman honcho overmind bazel bazelisk buck2 meson ninja cmake zig dune opam`
)

// programs is the table, by the name of the program without folder and suffix.
var programs = makePrograms()

func makePrograms() map[string]program {
	node := program{class: runner, steering: nodeSteering, strong: nodeStrong}
	python := program{class: runner, steering: pythonSteering, strong: pythonStrong}
	compose := program{class: composer, steering: composeSteering}
	containers := compose.with(container, map[string]class{"compose": composer, "stack": composer, "build": projectTool, "buildx": projectTool})
	table := map[string]program{
		"npx": node, "pnpx": node, "bunx": node,
		"npm":  node.with(projectTool, map[string]class{"exec": runner, "x": runner}),
		"pnpm": node.with(projectTool, map[string]class{"dlx": runner}),
		"yarn": node.with(projectTool, map[string]class{"dlx": runner}), "yarnpkg": node.with(projectTool, map[string]class{"dlx": runner}),
		"bun":  node.with(interpreter, map[string]class{"x": runner, "run": projectTool, "test": projectTool, "install": projectTool}),
		"deno": node.with(interpreter, map[string]class{"task": projectTool, "test": projectTool}),
		"uvx":  python, "pipx": python.with(projectTool, map[string]class{"run": runner}),
		"uv":     python.with(projectTool, map[string]class{"tool": runner}),
		"dnx":    {class: runner, steering: dotnetSteering, strong: dotnetStrong},
		"go":     {class: projectTool, verbs: map[string]class{"run": goRun}},
		"docker": containers, "podman": containers, "nerdctl": containers, "docker-compose": compose, "podman-compose": compose,
	}
	for name := range strings.FieldsSeq(interpreters) {
		table[name] = program{class: interpreter}
	}
	for name := range strings.FieldsSeq(projectTools) {
		table[name] = program{class: projectTool}
	}
	return table
}

// with is the program with other classes: one for each of some first words, and one
// for all others.
func (p program) with(other class, verbs map[string]class) program {
	p.class, p.verbs = other, verbs
	return p
}

// programOf finds the row of a command.
func programOf(command string) (program, string) {
	name := strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, suffix := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, suffix)
	}
	if p, ok := programs[name]; ok {
		return p, name
	}
	// python3.13, ruby3.3, php8 and the like.
	if p, ok := programs[strings.TrimRight(name, "0123456789.-")]; ok && p.class == interpreter {
		return p, name
	}
	return program{}, name
}

// valued are options of runners that take the next word, so that the package is not
// mistaken for it.
var valued = map[string]bool{
	"-p": true, "--package": true, "--from": true, "--with": true, "--python": true, "--index-url": true, "--extra-index-url": true, "--default-index": true,
	"--index": true, "--registry": true, "--spec": true, "-c": true, "--call": true, "--prefix": true, "--cache": true, "--userconfig": true,
	"--directory": true, "--project": true, "--env-file": true, "--with-requirements": true, "--constraint": true,
	"--with-editable": true, "--overrides": true, "--build-constraints": true, "--config-file": true, "--cwd": true, "--dir": true, "-C": true, "--workspace": true, "-w": true,
}

// firstWord is the first argument that is no option, and what follows it.
func firstWord(args []string) (word string, rest []string) {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
		case valued[arg]:
			i++
		case !strings.HasPrefix(arg, "-"):
			return arg, args[i+1:]
		}
	}
	return "", nil
}

// packageNames are the names under which a runner's package may stand in the
// repository: those of its first word and of the options that name one, with and
// without scope and version.
func packageNames(args []string) []string {
	var specs []string
	if word, _ := firstWord(args); word != "" {
		specs = append(specs, word)
	}
	for i, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		switch {
		case ok && (name == "--package" || name == "--from" || name == "--spec"):
			specs = append(specs, value)
		case (arg == "-p" || arg == "--package" || arg == "--from" || arg == "--spec" || arg == "--with") && i+1 < len(args):
			specs = append(specs, args[i+1])
		}
	}
	var names []string
	for _, spec := range specs {
		spec = strings.TrimPrefix(spec, "npm:")
		if i := strings.IndexAny(spec[min(1, len(spec)):], "@=<>~![;"); i >= 0 {
			spec = spec[:i+1]
		}
		names = append(names, spec)
		if i := strings.LastIndexByte(spec, '/'); i >= 0 {
			names = append(names, spec[i+1:])
		}
	}
	return names
}
