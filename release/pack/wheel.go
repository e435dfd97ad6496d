package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"strings"

	"agentgateway-lock/internal/published"
)

// initPy finds the program, for those who ask for it by the shorter name.
//
//go:embed init.py
var initPy []byte

// wheelTags are Python's names for platforms. The program needs no C library, so
// it fits every Linux; for macOS it is the oldest that Go supports.
var wheelTags = map[string][]string{
	"linux/amd64":   {"manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"},
	"linux/arm64":   {"manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"},
	"darwin/amd64":  {"macosx_12_0_x86_64"},
	"darwin/arm64":  {"macosx_12_0_arm64"},
	"windows/amd64": {"win_amd64"},
	"windows/arm64": {"win_arm64"},
}

// wheels writes one wheel for each platform, which holds the program as a script.
func (r *release) wheels() error {
	for _, b := range r.binaries {
		if err := r.wheel(b, wheelTags[b.Goos+"/"+b.Goarch]); err != nil {
			return err
		}
	}
	return nil
}

var candidate = regexp.MustCompile(`-rc\.?(\d+)$`)

// pythonVersion spells a version as PEP 440 has it.
func pythonVersion(version string) string { return candidate.ReplaceAllString(version, "rc$1") }

func (r *release) wheel(b binary, tags []string) error {
	version := pythonVersion(r.version)
	module := strings.ReplaceAll(published.PyPI, "-", "_")
	base := module + "-" + version
	info := base + ".dist-info/"
	program, err := b.program(base + ".data/scripts/")
	if err != nil {
		return err
	}
	metadata := "Metadata-Version: 2.4\nName: " + published.PyPI + "\nVersion: " + version + "\nSummary: " + description +
		"\nLicense-Expression: Apache-2.0\nLicense-File: LICENSE\nLicense-File: THIRD_PARTY_NOTICES.md\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n"
	if published.Repository != "" {
		metadata += "Project-URL: Repository, " + published.Repository + "\n"
	}
	wheel := "Wheel-Version: 1.0\nGenerator: " + name + "\nRoot-Is-Purelib: false\nTag: py3-none-" + strings.Join(tags, "\nTag: py3-none-") + "\n"
	files := []file{
		program,
		{name: module + "/__init__.py", data: initPy},
		{name: info + "METADATA", data: []byte(metadata + "\n" + string(r.readme))},
		{name: info + "WHEEL", data: []byte(wheel)},
		{name: info + "entry_points.txt", data: []byte("[console_scripts]\nagentgateway = " + module + ":main\n")},
	}
	for _, n := range r.notices {
		n.name = info + "licenses/" + n.name
		files = append(files, n)
	}
	files = append(files, record(files, info+"RECORD"))
	data, err := r.zip(files)
	if err != nil {
		return err
	}
	return r.write(base+"-py3-none-"+strings.Join(tags, ".")+".whl", data)
}

// record is the list of a wheel's files and their hashes.
func record(files []file, path string) file {
	var b strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&b, "%s,,\n", path)
	return file{name: path, data: []byte(b.String())}
}

func (r *release) zip(files []file) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.time}
		mode := f.mode
		if mode == 0 {
			mode = 0o644
		}
		h.CreatorVersion = 3 << 8 // Unix, so that the mode counts
		h.ExternalAttrs = uint32(0o100000|mode) << 16
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
