// Command notices writes THIRD_PARTY_NOTICES.md: the licence texts of all that is
// linked into agentgateway, on every platform that is released.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:generate go run . ../../THIRD_PARTY_NOTICES.md

// systems are the systems that are released. What is linked does not depend on
// the architecture.
var systems = []string{"linux", "darwin", "windows"}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(file string) error {
	root := filepath.Dir(file)
	all := notices{}
	for _, system := range systems {
		packages, err := linked(root, system)
		if err != nil {
			return err
		}
		for _, p := range packages {
			if err := all.add(p); err != nil {
				return err
			}
		}
	}
	if err := all.addOwn(root); err != nil {
		return err
	}
	page, err := all.format()
	if err != nil {
		return err
	}
	return os.WriteFile(file, page, 0o644)
}

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath, Dir string
	Standard        bool
	Module          *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// linked lists the packages that agentgateway links on a system.
func linked(root, system string) ([]goPackage, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Standard,Module", "./cmd/agentgateway")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	var all []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// notices maps a text to those that are under it.
type notices map[text]map[string]bool

// text is what a file says, and whether its name is that of a licence. One that
// is not, such as NOTICE, accompanies a licence.
type text struct {
	words   string
	licence bool
}

// goLicence is whose text the standard library is under too: the Go project has
// one for all of its modules.
const goLicence = "golang.org/x/sys"

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying)([.-](txt|bsd|mit|mpl-2\.0|apache))?$`)
	noticeFile  = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright)([.-](txt|md|bsd|mit|mpl-2\.0|apache))?$`)
)

// add takes the notices of a package: those beside it, and in the folders above
// it within its module.
func (n notices) add(p goPackage) error {
	if p.Standard || p.Module == nil || p.Module.Main {
		return nil
	}
	found := false
	for dir := p.Dir; ; dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.IsDir() || !noticeFile.MatchString(e.Name()) {
				continue
			}
			words, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			licence := licenceFile.MatchString(e.Name())
			found = found || licence
			n.put(string(words), licence, p.Module.Path+" "+p.Module.Version)
			if p.Module.Path == goLicence {
				n.put(string(words), licence, "the Go standard library")
			}
		}
		if dir == p.Module.Dir {
			break
		}
	}
	if !found {
		return fmt.Errorf("%s has no licence", p.Module.Path)
	}
	return nil
}

// addOwn takes the notices of what this repository holds of others.
func (n notices) addOwn(root string) error {
	words, err := os.ReadFile(filepath.Join(root, "pkg", "textcheck", "UNICODE-LICENSE.txt"))
	if err == nil {
		n.put(string(words), true, "confusables.txt of the Unicode security data")
	}
	return err
}

func (n notices) put(words string, licence bool, who string) {
	t := text{strings.TrimSpace(strings.ReplaceAll(words, "\r\n", "\n")), licence}
	if n[t] == nil {
		n[t] = map[string]bool{}
	}
	n[t][who] = true
}

// kinds are the licences that may be linked into a program under Apache-2.0, each
// by words that no other has.
var kinds = []struct{ name, words string }{
	{"Apache-2.0", "Apache License"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"BSD-3-Clause", "endorse or promote products derived from"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy of this software"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"Unicode-DFS-2016", "UNICODE, INC. LICENSE AGREEMENT"},
}

// kindOf names the licence that a text is.
func kindOf(t text) (string, error) {
	words := strings.Join(strings.Fields(t.words), " ")
	for _, k := range kinds {
		if strings.Contains(words, k.words) {
			return k.name, nil
		}
	}
	if !t.licence {
		return "Notice", nil
	}
	return "", fmt.Errorf("which licence is this? %.200s", words)
}

func (n notices) format() ([]byte, error) {
	var b strings.Builder
	b.WriteString("# Third-party notices\n\nThe command agentgateway links the modules below, each under the terms that follow it. Written by `make generate`.\n")
	type section struct{ kind, who, words string }
	var sections []section
	for t, who := range n {
		names := slices.Sorted(maps.Keys(who))
		kind, err := kindOf(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names[0], err)
		}
		sections = append(sections, section{kind, strings.Join(names, "\n- "), t.words})
	}
	slices.SortFunc(sections, func(x, y section) int {
		return strings.Compare(x.who+"\x00"+x.kind+"\x00"+x.words, y.who+"\x00"+y.kind+"\x00"+y.words)
	})
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n- %s\n\n````text\n%s\n````\n", s.kind, s.who, s.words)
	}
	return []byte(b.String()), nil
}
