package main

import (
	_ "embed"
	"encoding/json"
	"slices"

	"agentgateway-lock/internal/published"
)

// runJS starts the binary of the platform it runs on.
//
//go:embed run.js
var runJS []byte

// npmOS and npmCPU are Node's names for platforms.
var (
	npmOS  = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}
	npmCPU = map[string]string{"amd64": "x64", "arm64": "arm64"}
)

// npmPackage is a package.json.
type npmPackage struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Repository   string            `json:"repository,omitempty"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Bin          map[string]string `json:"bin,omitempty"`
	Optional     map[string]string `json:"optionalDependencies,omitempty"`
	Engines      map[string]string `json:"engines,omitempty"`
	PreferUnplug bool              `json:"preferUnplugged,omitempty"`
}

const description = "Pin what MCP servers tell your AI agents, in git"

// npm writes one package for each platform, which npm installs where it fits, and
// one that depends on all of them.
func (r *release) npm() error {
	top := npmPackage{
		Name: published.NPM, Version: r.version, Description: description, License: "Apache-2.0", Repository: published.Repository,
		Bin:      map[string]string{name: "run.js", "agentgateway": "run.js"},
		Optional: map[string]string{}, Engines: map[string]string{"node": ">=18"},
	}
	for _, b := range r.binaries {
		p := top
		p.Name += "-" + npmOS[b.Goos] + "-" + npmCPU[b.Goarch]
		p.Description += " (the program for " + b.Goos + " on " + b.Goarch + ")"
		p.OS, p.CPU, p.PreferUnplug = []string{npmOS[b.Goos]}, []string{npmCPU[b.Goarch]}, true
		p.Bin, p.Optional, p.Engines = nil, nil, nil
		top.Optional[p.Name] = r.version
		program, err := b.program("bin/")
		if err != nil {
			return err
		}
		if err := r.npmPack(p, append([]file{program}, r.notices...)); err != nil {
			return err
		}
	}
	return r.npmPack(top, append([]file{{name: "run.js", mode: 0o755, data: runJS}}, r.notices...))
}

func (r *release) npmPack(p npmPackage, files []file) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	files = append(slices.Clone(files), file{name: "package.json", mode: 0o644, data: append(text, '\n')}, file{name: "README.md", mode: 0o644, data: r.readme})
	for i := range files {
		files[i].name = "package/" + files[i].name
	}
	data, err := r.tarGz(files)
	if err != nil {
		return err
	}
	return r.write(p.Name+"-"+p.Version+".tgz", data)
}
