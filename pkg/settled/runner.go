package settled

import (
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// runner decides about a package runner.
func (p *planner) runner(row program, name string, args []string, named bool) {
	if name == "uv" && len(args) > 0 && args[0] == "run" {
		args = args[1:] // uv tool run
	}
	packages := packageNames(args)
	of, rest := firstWord(args)
	switch {
	case p.steersItself(p.source.Args[:len(p.source.Args)-len(rest)], of, row), p.packageHere(packages):
		p.plan.All = true // what it runs is the repository's
	case !named && !p.steered(row, packages):
		p.plan.Elsewhere = true
		return
	default:
		p.plan.All = p.startsCode(packages, rest)
	}
	p.steer(row.steering)
	p.addInstalled()
	for _, folder := range p.upwards() {
		for _, spec := range packages {
			if spec == "" || isPath(spec) {
				continue
			}
			p.add(path.Join(folder, "node_modules/.bin", spec))
			if at := path.Join(folder, "node_modules", spec); p.there(at) {
				p.plan.Folders = append(p.plan.Folders, at)
			}
		}
	}
}

// isPath reports whether a package is named by where it is.
func isPath(spec string) bool {
	return strings.HasPrefix(spec, ".") || strings.HasPrefix(spec, "/") || strings.HasPrefix(spec, "file:") || strings.Contains(spec, `\`)
}

// steersItself reports whether words for a runner itself, before the package, name
// paths of the repository: a folder to run in, settings, requirements, modules to load.
func (p *planner) steersItself(words []string, of string, row program) bool {
	option := false
	for _, word := range words {
		_, verb := row.verbs[word]
		switch {
		case strings.HasPrefix(word, "-"), strings.Contains(word, "="):
			if option = true; p.names(word, false) {
				return true
			}
		case word != of && !verb && option && p.names(word, false):
			return true
		}
	}
	return false
}

// packageHere reports whether a package that is run is the repository's: named by where
// it is, the repository's own, a member of its workspace, or a dependency that is.
func (p *planner) packageHere(packages []string) bool {
	for _, spec := range packages {
		if isPath(spec) && p.there(path.Join(p.cwd, strings.TrimPrefix(spec, "file:"))) {
			return true
		}
		for _, folder := range p.upwards() {
			if spec != "" && !isPath(spec) && (p.manifestHas(path.Join(folder, "package.json"), spec) || p.linked(path.Join(folder, "node_modules", spec))) {
				return true
			}
		}
	}
	return false
}

// linked reports whether a path is a link on any side.
func (p *planner) linked(name string) bool {
	for _, files := range p.sides {
		if kind, _, err := files.Entry(name); err == nil && kind == Link {
			return true
		}
	}
	return false
}

// manifest is what is read of a package.json.
type manifest struct {
	Name       string          `json:"name"`
	Bin        json.RawMessage `json:"bin"`
	Workspaces json.RawMessage `json:"workspaces"`

	Dependencies         map[string]string `json:"dependencies"`
	DevDependencies      map[string]string `json:"devDependencies"`
	OptionalDependencies map[string]string `json:"optionalDependencies"`
	PeerDependencies     map[string]string `json:"peerDependencies"`
}

// manifestHas reports whether a package.json says that a package is in the repository.
// One that cannot be read, and names the package, could say anything.
func (p *planner) manifestHas(at, spec string) bool {
	for _, files := range p.sides {
		_, end, kind, err := walk(files, at)
		if err != nil || kind != File {
			continue // an error is seen where what steers is looked for
		}
		data, err := files.Read(end)
		if err != nil {
			p.fail(err)
			continue
		}
		var m manifest
		if json.Unmarshal(data, &m) != nil {
			if strings.Contains(string(data), `"`+spec+`"`) {
				return true
			}
			continue
		}
		if m.Name == spec || path.Base(m.Name) == spec || strings.Contains(string(m.Bin), `"`+spec+`"`) {
			return true
		}
		for _, list := range []map[string]string{m.Dependencies, m.DevDependencies, m.OptionalDependencies, m.PeerDependencies} {
			if version, ok := list[spec]; ok && isLocalVersion(version) {
				return true
			}
		}
	}
	return false
}

// isLocalVersion reports whether a dependency is taken from a folder or file.
func isLocalVersion(version string) bool {
	for _, prefix := range []string{"file:", "link:", "portal:", "workspace:", "patch:", ".", "/", "~/"} {
		if strings.HasPrefix(version, prefix) {
			return true
		}
	}
	return false
}

// startsCode reports whether a runner starts code of the repository by its package: an
// interpreter or task runner that it fetches, or a package that is given a file of code.
func (p *planner) startsCode(packages, rest []string) bool {
	for _, spec := range packages {
		row, ok := programs[path.Base(spec)]
		if ok && (row.class == projectTool || row.class == interpreter && (p.module(rest) || slices.ContainsFunc(rest, func(word string) bool { return p.names(word, false) }))) {
			return true
		}
	}
	return p.runsCode(rest)
}

// codeSuffixes are those of files that interpreters run.
var codeSuffixes = strings.Fields(".js .mjs .cjs .jsx .ts .mts .cts .tsx .py .pyw .rb .php .pl .lua .sh .bash .zsh .fish .ps1 .bat .cmd .go .rs .java .kt .jar .class .ex .exs .wasm .csx .cs .fsx")

// runsCode reports whether a word names a file of code, with its suffix or without.
func (p *planner) runsCode(words []string) bool {
	for _, word := range words {
		if strings.HasPrefix(word, "-") && !strings.ContainsAny(word, "=:/") {
			continue
		}
		for _, name := range p.place.candidates(word, p.cwd) {
			if slices.Contains(codeSuffixes, path.Ext(name)) {
				if p.isFile(name) {
					return true
				}
				continue
			}
			for _, suffix := range codeSuffixes {
				if p.isFile(name + suffix) {
					return true
				}
			}
		}
	}
	return false
}

func (p *planner) isFile(name string) bool {
	for _, files := range p.sides {
		_, _, kind, err := walk(files, name)
		p.fail(err)
		if kind == File {
			return true
		}
	}
	return false
}

// addInstalled adds what the repository holds of installed packages: what git ignores
// there somebody installed, the rest a commit brought.
func (p *planner) addInstalled() {
	for _, files := range p.sides {
		known, err := files.Known()
		p.fail(err)
		for _, name := range known {
			if strings.Contains("/"+name, "/node_modules/") {
				p.plan.Paths = append(p.plan.Paths, name)
			}
		}
	}
}

// onPath adds a program that a bare name finds in the repository, by the PATH.
func (p *planner) onPath(program string) bool {
	if p.place.Lookup == nil || program == "" || strings.ContainsAny(program, `/\`) {
		return false
	}
	list, _ := p.place.Lookup("PATH")
	found := false
	for _, folder := range filepath.SplitList(list) {
		at, ok := p.place.relative(folder)
		if !ok {
			at = path.Join(p.cwd, folder)
		}
		if !inside(at) {
			continue
		}
		for _, suffix := range []string{"", ".exe", ".cmd", ".bat", ".ps1"} {
			if name := path.Join(at, program+suffix); p.isFile(name) || p.linked(name) {
				p.add(name)
				found = true
			}
		}
	}
	return found
}

// fileLoads reports whether a file of variables has one from which programs load code.
func (p *planner) fileLoads(word string) bool {
	for _, name := range p.place.candidates(word, p.cwd) {
		for _, files := range p.sides {
			_, end, kind, err := walk(files, name)
			if err != nil || kind != File {
				continue
			}
			data, err := files.Read(end)
			p.fail(err)
			for line := range strings.Lines(string(data)) {
				variable, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
				if ok && loadsCode(strings.TrimSpace(variable)) && p.names(value, false) {
					return true
				}
			}
		}
	}
	return false
}

// fail keeps the first error: what cannot be told is a difference.
func (p *planner) fail(err error) {
	if err != nil && p.err == nil {
		p.err = err
	}
}
