package settled

import (
	"path"
	"slices"
	"strings"

	"agentgateway-lock/pkg/source"
)

// A Plan says where a command is started, and what of the repository decides what it
// runs there.
type Plan struct {
	// Elsewhere holds where it is started in an empty folder: nothing counts then.
	Elsewhere bool
	// All holds where the command runs code of the repository: every file counts but
	// the lockfile, what is signed, and what only git and the host read.
	All bool
	// Paths are files and links that count, and Folders folders of which all does,
	// sorted.
	Paths, Folders []string
}

// Nothing reports whether nothing of the repository counts.
func (pl *Plan) Nothing() bool {
	return pl.Elsewhere || !pl.All && len(pl.Paths) == 0 && len(pl.Folders) == 0
}

// planner makes the plan of one source.
type planner struct {
	place  Place
	sides  []Files
	source *source.Source
	cwd    string
	plan   Plan
	err    error
}

// PlanOf makes the plan of a source. sides are the repository on disk, and where it is
// compared what it is compared with: what is there on any side counts.
func PlanOf(s *source.Source, place Place, sides ...Files) (Plan, error) {
	p := &planner{place: place, sides: sides, source: s}
	p.make()
	slices.Sort(p.plan.Paths)
	slices.Sort(p.plan.Folders)
	p.plan.Paths, p.plan.Folders = slices.Compact(p.plan.Paths), slices.Compact(p.plan.Folders)
	return p.plan, p.err
}

func (p *planner) make() {
	s := p.source
	for _, value := range s.Headers {
		p.names(value, false)
	}
	if s.Transport != source.Stdio {
		p.plan.Elsewhere = false
		return
	}
	cwd, inRepository := p.place.cwd(s)
	if p.cwd = cwd; !inRepository {
		p.cwd = p.place.Project
	}
	command, args := unwrapped(s.Command, s.Args)
	row, name := programOf(command)
	how := row.class
	verb, rest := firstWord(args)
	if c, ok := row.verbs[verb]; ok {
		how, args = c, rest
	}
	if how == container && slices.Contains(args, "compose") {
		how = composer // behind an option of docker's own
	}
	folders := how == container || row.class == container // what is mounted is run
	named := p.isProgram(s.Command) && p.names(s.Command, folders)
	named = p.onPath(s.Command) || p.onPath(command) || named
	for _, arg := range s.Args {
		named = p.names(arg, folders) || named
	}
	loads := false // code of the repository, by a variable
	for variable, value := range s.Env {
		if p.names(value, folders) {
			named = true
			loads = loads || loadsCode(variable)
		}
	}
	if s.EnvFile != nil {
		named = p.names(s.EnvFile.Path, false) || named
		loads = loads || p.fileLoads(s.EnvFile.Path)
	}
	named = named || s.Cwd != "" && inRepository
	p.decide(row, how, name, args, named, loads)
}

// decide finds what counts by the class of the program.
func (p *planner) decide(row program, how class, name string, args []string, named, loads bool) {
	switch {
	case loads, how == projectTool:
		p.plan.All = true
	case how == goRun:
		word, _ := firstWord(args)
		p.plan.All = named || !strings.Contains(word, "@")
		p.plan.Elsewhere = !p.plan.All
	case how == interpreter, how == unknown:
		p.plan.All = named || how == interpreter && (p.module(args) || p.runsCode(args))
		p.plan.Elsewhere = !p.plan.All
	case how == container:
		p.plan.Elsewhere = !named
		p.plan.All = slices.Contains(p.plan.Folders, ".")
	case how == composer:
		p.steer(row.steering)
		p.plan.All = p.composesCode()
	default:
		p.runner(row, name, args, named)
	}
}

// steered reports whether the repository steers a runner: then the package is not just
// what its name says.
func (p *planner) steered(row program, packages []string) bool {
	for _, folder := range p.upwards() {
		for _, pattern := range row.strong {
			if len(p.matching(folder, pattern)) > 0 {
				return true
			}
		}
		if p.text(path.Join(folder, "pyproject.toml"), "tool.uv") && slices.Contains(row.steering, "pyproject.toml") {
			return true
		}
		for _, spec := range packages {
			if spec != "" && (p.text(path.Join(folder, "package.json"), `"`+spec+`"`) ||
				p.there(path.Join(folder, "node_modules", spec)) || p.there(path.Join(folder, "node_modules/.bin", spec))) {
				return true
			}
		}
	}
	return false
}

// steer adds the files that steer a program, in the folder it is started in and above.
func (p *planner) steer(steering []string) {
	for _, folder := range p.upwards() {
		for _, pattern := range slices.Concat(steering, everySteering) {
			if dir, ok := strings.CutSuffix(pattern, "/"); ok {
				if at := path.Join(folder, dir); p.there(at) {
					p.plan.Folders = append(p.plan.Folders, at)
				}
				continue
			}
			for _, at := range p.matching(folder, pattern) {
				p.add(at)
			}
		}
	}
}

// composesCode reports whether a file for containers brings in more than images.
func (p *planner) composesCode() bool {
	for _, at := range p.plan.Paths {
		for _, word := range []string{"build", "volumes", "env_file", "extends", "include", "configs", "secrets", "develop", "FROM"} {
			if p.text(at, word) {
				return true
			}
		}
	}
	return false
}

// module reports whether an interpreter is told to run a module that the repository
// has in the folder it is started in, or shadows by one.
func (p *planner) module(args []string) bool {
	for i, arg := range args {
		name, ok := strings.CutPrefix(arg, "-m")
		if !ok {
			continue
		}
		if name == "" && i+1 < len(args) {
			name = args[i+1]
		}
		first, _, _ := strings.Cut(name, ".")
		for _, at := range []string{first, first + ".py", strings.ReplaceAll(name, ".", "/")} {
			if at != "" && p.there(path.Join(p.cwd, at)) {
				return true
			}
		}
	}
	return false
}

// names reports whether a word names paths of the repository, and adds them. Of a
// folder all counts where folders says so.
func (p *planner) names(word string, folders bool) bool {
	found := false
	for _, candidate := range p.place.candidates(word, p.cwd) {
		if p.follow(candidate, folders) {
			found = true
		}
	}
	return found
}

// isProgram reports whether a command may be a path: a bare name is looked for in the
// PATH, and on some systems as a file of the folder, never as a folder.
func (p *planner) isProgram(command string) bool {
	if strings.ContainsAny(command, `/\`) {
		return true
	}
	for _, files := range p.sides {
		if links, _, kind, err := walk(files, path.Join(p.cwd, command)); err != nil || len(links) > 0 || kind == File {
			return true
		}
	}
	return false
}

// add adds a path that is there on any side, with the links that lead to it.
func (p *planner) add(name string) { p.follow(name, false) }

func (p *planner) follow(name string, folders bool) bool {
	found := false
	for _, files := range p.sides {
		links, end, kind, err := walk(files, name)
		if err != nil && p.err == nil {
			p.err = err
		}
		found = found || len(links) > 0 || end != ""
		p.plan.Paths = append(p.plan.Paths, links...)
		switch {
		case kind == File, kind == Module:
			p.plan.Paths = append(p.plan.Paths, end)
		case kind == Folder && folders:
			p.plan.Folders = append(p.plan.Folders, end)
		}
	}
	return found
}

func (p *planner) there(name string) bool {
	ok, err := anyThere(p.sides, name)
	if err != nil && p.err == nil {
		p.err = err
	}
	return ok
}

// text reports whether a file holds a text on any side.
func (p *planner) text(name, text string) bool {
	for _, files := range p.sides {
		_, end, kind, err := walk(files, name)
		if err == nil && kind == File {
			var data []byte
			if data, err = files.Read(end); err == nil && strings.Contains(string(data), text) {
				return true
			}
		}
		if err != nil && p.err == nil {
			p.err = err
		}
	}
	return false
}

// matching lists the paths in a folder that fit a pattern, on any side.
func (p *planner) matching(folder, pattern string) []string {
	if !strings.Contains(pattern, "*") {
		if at := path.Join(folder, pattern); p.there(at) {
			return []string{at}
		}
		return nil
	}
	var out []string
	for _, files := range p.sides {
		names, err := files.List(folder)
		if err != nil {
			continue // that it is not there on this side is seen elsewhere
		}
		for _, name := range names {
			if ok, _ := path.Match(pattern, name); ok {
				out = append(out, path.Join(folder, name))
			}
		}
	}
	return out
}

// upwards are the folder that the command is started in and those above it.
func (p *planner) upwards() []string {
	out := []string{p.cwd}
	for at := p.cwd; at != "."; {
		at = path.Dir(at)
		out = append(out, at)
	}
	return out
}

// unwrapped takes a command out of what only starts it.
func unwrapped(command string, args []string) (string, []string) {
	_, name := programOf(command)
	if name == "cmd" && len(args) > 1 && strings.EqualFold(args[0], "/c") {
		return args[1], args[2:]
	}
	if name == "env" {
		for i, arg := range args {
			if !strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") {
				return arg, args[i+1:]
			}
		}
	}
	return command, args
}

// loadsCode reports whether programs load code from where a variable says. The names
// are those of interpreters, linkers, runners and shells.
func loadsCode(variable string) bool {
	name := strings.ToUpper(variable)
	for _, prefix := range []string{"LD_", "DYLD_", "NODE_", "NPM_", "YARN_", "PNPM_", "BUN_", "DENO_", "PYTHON", "PIP_", "UV_", "PIPX_", "VIRTUAL_ENV", "RUBY", "GEM_", "BUNDLE_",
		"PERL", "JAVA_", "JDK_", "_JAVA", "MAVEN_", "GRADLE_", "GO", "CARGO", "RUST", "COMPOSE_", "DOCKER_", "BUILDKIT", "DOTNET_", "NUGET_", "GIT_", "MISE_", "ASDF_", "LUA_", "PHP", "R_", "BASH", "ZDOTDIR"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"PATH", "ENV", "SHELL", "CLASSPATH", "EDITOR", "PAGER", "HOME", "USERPROFILE", "XDG_CONFIG_HOME", "APPDATA", "MAKEFLAGS", "CC", "CXX", "SHELLOPTS"}, name)
}
