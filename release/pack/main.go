// Command pack makes what goreleaser does not, of the binaries that it has built:
// npm packages, Python wheels, a container image and the list of checksums.
//
//	pack DIST VERSION
//
// DIST is goreleaser's folder and VERSION the release without its v. The same
// binaries give the same bytes: time stamps are those of SOURCE_DATE_EPOCH.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentgateway-lock/internal/published"
)

// name is that of the command and of all packages that hold it.
const name = "agentgateway-lock"

// release is what every package is made of.
type release struct {
	dist     string
	version  string
	time     time.Time
	binaries []binary
	notices  []file // that go with every copy
	readme   []byte
}

// binary is the command built for one platform.
type binary struct {
	Goos, Goarch, Path string
}

// file is one file of a package.
type file struct {
	name string
	mode int64
	data []byte
	link string // what a symbolic link leads to
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pack DIST VERSION")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(dist, version string) error {
	r, err := load(dist, version)
	if err != nil {
		return err
	}
	return errors.Join(r.npm(), r.wheels(), r.image(), r.checksums())
}

func load(dist, version string) (*release, error) {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r := &release{dist: dist, version: version, time: time.Unix(seconds, 0).UTC()}
	if r.binaries, err = readBinaries(filepath.Join(dist, "artifacts.json")); err != nil {
		return nil, err
	}
	for _, n := range []string{"LICENSE", "THIRD_PARTY_NOTICES.md"} {
		data, err := os.ReadFile(n)
		if err != nil {
			return nil, err
		}
		r.notices = append(r.notices, file{name: n, mode: 0o644, data: data})
	}
	r.readme = []byte("# agentgateway-lock\n\nPin what your MCP servers tell your AI agents in git, let named people approve it with a signature, and enforce it in CI and at the gateway.\n\n    " + name + " init\n    " + name + " ci\n")
	if published.Repository != "" {
		r.readme = append(r.readme, "\n"+published.Repository+"\n"...)
	}
	return r, nil
}

// readBinaries reads goreleaser's list of what it has made.
func readBinaries(list string) ([]binary, error) {
	data, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var all []struct {
		binary
		Type string
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", list, err)
	}
	var found []binary
	for _, a := range all {
		if a.Type == "Binary" {
			found = append(found, a.binary)
		}
	}
	slices.SortFunc(found, func(x, y binary) int { return strings.Compare(x.Goos+x.Goarch, y.Goos+y.Goarch) })
	if len(found) == 0 {
		return nil, fmt.Errorf("%s names no binary", list)
	}
	return found, nil
}

// program is the file of a binary, in a folder.
func (b binary) program(folder string) (file, error) {
	data, err := os.ReadFile(b.Path)
	return file{name: folder + name + b.suffix(), mode: 0o755, data: data}, err
}

func (b binary) suffix() string {
	if b.Goos == "windows" {
		return ".exe"
	}
	return ""
}

func (r *release) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(r.dist, name), data, 0o644)
}

// unreleased are files of the folder that goreleaser keeps for itself.
var unreleased = []string{"artifacts.json", "config.yaml", "metadata.json", "checksums.txt"}

// checksums lists the SHA-256 of each released file as sha256sum does.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.dist)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		if !e.Type().IsRegular() || slices.Contains(unreleased, e.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.dist, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return r.write("checksums.txt", []byte(list.String()))
}
