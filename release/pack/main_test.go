package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// builtFor are the platforms that goreleaser is told to build for.
var builtFor = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64"}

// packed makes a release of programs that are short texts, and returns its folder.
func packed(t *testing.T) string {
	t.Helper()
	dist := t.TempDir()
	type artifact struct{ Name, Path, Goos, Goarch, Type string }
	list := []artifact{{Name: "x.tar.gz", Type: "Archive"}}
	for _, p := range builtFor {
		goos, goarch, _ := strings.Cut(p, "/")
		path := filepath.Join(dist, goos+"_"+goarch, "program")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("program for "+p), 0o755); err != nil {
			t.Fatal(err)
		}
		list = append(list, artifact{"program", path, goos, goarch, "Binary"})
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dist, "artifacts.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1796040000")
	t.Chdir(filepath.Join("..", ".."))
	if err := run(dist, "1.2.3-rc.4"); err != nil {
		t.Fatal(err)
	}
	return dist
}

func read(t *testing.T, elem ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The same binaries give the same bytes, and each file is in the list.
func TestSameBytes(t *testing.T) {
	sums := ""
	for range 2 {
		t.Run("run", func(t *testing.T) {
			got := string(read(t, packed(t), "checksums.txt"))
			if sums != "" && got != sums {
				t.Errorf("another run gives\n%s\nand not\n%s", got, sums)
			}
			sums = got
		})
	}
	if got, want := strings.Count(sums, "\n"), 7+6+1; got != want {
		t.Errorf("%d files, want %d:\n%s", got, want, sums)
	}
}

// untar returns the files of an archive, and their modes.
func untar(t *testing.T, r io.Reader) (files map[string]string, modes map[string]int64) {
	t.Helper()
	files, modes = map[string]string{}, map[string]int64{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files, modes
		}
		data, readErr := io.ReadAll(tr)
		if err = errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		files[h.Name], modes[h.Name] = string(data)+h.Linkname, h.Mode
	}
}

func TestNPM(t *testing.T) {
	dist := packed(t)
	open := func(name string) (map[string]string, npmPackage) {
		z, err := gzip.NewReader(bytes.NewReader(read(t, dist, name)))
		if err != nil {
			t.Fatal(err)
		}
		files, modes := untar(t, z)
		for _, n := range []string{"package/LICENSE", "package/THIRD_PARTY_NOTICES.md", "package/README.md"} {
			if files[n] == "" {
				t.Errorf("%s lacks %s", name, n)
			}
		}
		for n, mode := range modes {
			if strings.HasPrefix(n, "package/bin/") && mode != 0o755 {
				t.Errorf("%s: %s has mode %o", name, n, mode)
			}
		}
		var p npmPackage
		if err := json.Unmarshal([]byte(files["package/package.json"]), &p); err != nil {
			t.Fatal(err)
		}
		return files, p
	}
	_, top := open("agentgateway-lock-1.2.3-rc.4.tgz")
	if top.Bin["agentgateway-lock"] != "run.js" || len(top.Optional) != len(builtFor) {
		t.Errorf("the package is %+v", top)
	}
	for dependency, version := range top.Optional {
		files, p := open(dependency + "-" + version + ".tgz")
		if p.Name != dependency || p.Version != "1.2.3-rc.4" || len(p.OS) != 1 || len(p.CPU) != 1 {
			t.Errorf("%s is %+v", dependency, p)
		}
		program := "package/bin/agentgateway-lock"
		if p.OS[0] == "win32" {
			program += ".exe"
		}
		goos := map[string]string{"win32": "windows"}[p.OS[0]]
		if goos == "" {
			goos = p.OS[0]
		}
		if want := "program for " + goos + "/" + map[string]string{"x64": "amd64", "arm64": "arm64"}[p.CPU[0]]; files[program] != want {
			t.Errorf("%s holds %q, want %q", dependency, files[program], want)
		}
	}
}

func TestWheels(t *testing.T) {
	dist := packed(t)
	found, err := filepath.Glob(filepath.Join(dist, "agentgateway_lock-1.2.3rc4-py3-none-*.whl"))
	if err != nil || len(found) != len(builtFor) {
		t.Fatalf("%q, %v", found, err)
	}
	for _, path := range found {
		z, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		var names, listed []string
		for _, f := range z.File {
			names = append(names, f.Name)
			if strings.Contains(f.Name, "/scripts/") && f.Mode().Perm() != 0o755 {
				t.Errorf("%s: %s has mode %o", path, f.Name, f.Mode())
			}
			if strings.HasSuffix(f.Name, "/RECORD") {
				r, err := f.Open()
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(r)
				if err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(string(text)) {
					listed = append(listed, line[:strings.Index(line, ",")])
				}
			}
		}
		if !slices.Equal(names, listed) {
			t.Errorf("%s holds %q, and lists %q", path, names, listed)
		}
		_ = z.Close()
	}
}

// The image is one index of the two architectures, and holds what it should.
// RELEASE_IMAGE names one that was released, to be looked at in the same way.
func TestImage(t *testing.T) {
	folder := t.TempDir()
	image, program := os.Getenv("RELEASE_IMAGE"), "\x7fELF"
	if image == "" {
		image, program = filepath.Join(packed(t), "agentgateway-lock_1.2.3-rc.4_image.tar"), "program for linux/"
	}
	files, _ := untar(t, bytes.NewReader(read(t, image)))
	for name, data := range files {
		if path := filepath.Join(folder, name); !strings.HasSuffix(name, "/") {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(data), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	outer, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(outer); err != nil {
		t.Error(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%+v, %v", manifest, err)
	}
	inner, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err = inner.IndexManifest(); err != nil || len(manifest.Manifests) != 2 {
		t.Fatalf("%+v, %v", manifest, err)
	}
	for _, m := range manifest.Manifests {
		img, err := inner.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, img, m.Platform, program)
	}
}

func checkImage(t *testing.T, img v1.Image, platform *v1.Platform, program string) {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.OS != platform.OS || config.Architecture != platform.Architecture {
		t.Errorf("%v: %+v", platform, config)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatal(layers, err)
	}
	r, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	files, modes := untar(t, r)
	if program == "program for linux/" {
		program += platform.Architecture
	}
	if got := files["usr/bin/agentgateway-lock"]; !strings.HasPrefix(got, program) || modes["usr/bin/agentgateway-lock"] != 0o755 {
		t.Errorf("the program begins with %.20q and has mode %o, want %q", got, modes["usr/bin/agentgateway-lock"], program)
	}
	if n := strings.Count(files["etc/ssl/certs/ca-certificates.crt"], "BEGIN CERTIFICATE"); n < 50 {
		t.Errorf("%d certificate authorities", n)
	}
	if files["usr/bin/agentgateway"] != "agentgateway-lock" {
		t.Error("the shorter name does not lead to the program")
	}
}
