package main

import (
	"bytes"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"agentgateway-lock/internal/published"
)

// image writes an OCI image layout for Linux on each architecture: the program,
// the certificate authorities that Mozilla trusts, a folder for temporary files,
// and the notices. Nothing in it is for another user than its own.
func (r *release) image() error {
	folder, err := os.MkdirTemp("", name)
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range r.binaries {
		if b.Goos != "linux" {
			continue
		}
		img, err := r.platformImage(b)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.Goos, Architecture: b.Goarch}}})
	}
	// The layout names one index, so that the image is one thing with one digest.
	outer := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index, Descriptor: v1.Descriptor{
		Annotations: map[string]string{"org.opencontainers.image.ref.name": r.version},
	}})
	if _, err := layout.Write(folder, outer); err != nil {
		return err
	}
	files, err := filesOf(folder)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := r.tar(&b, files); err != nil {
		return err
	}
	return r.write(name+"_"+r.version+"_image.tar", b.Bytes())
}

func (r *release) platformImage(b binary) (v1.Image, error) {
	program, err := b.program("usr/bin/")
	if err != nil {
		return nil, err
	}
	files := []file{
		{name: "etc/", mode: 0o755}, {name: "etc/ssl/", mode: 0o755}, {name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: roots()},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755}, {name: "usr/bin/", mode: 0o755}, program,
		{name: "usr/bin/agentgateway", mode: 0o777, link: name},
		{name: "usr/share/", mode: 0o755}, {name: "usr/share/doc/", mode: 0o755}, {name: "usr/share/doc/" + name + "/", mode: 0o755},
	}
	for _, n := range r.notices {
		n.name = "usr/share/doc/" + name + "/" + n.name
		files = append(files, n)
	}
	packed, err := r.tarGz(files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: name}}); err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = b.Goos, b.Goarch, v1.Time{Time: r.time}
	config.Config = v1.Config{
		User: "65532:65532", Entrypoint: []string{"/usr/bin/" + name}, WorkingDir: "/tmp",
		Labels: map[string]string{"org.opencontainers.image.title": name, "org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0"},
	}
	if published.Repository != "" {
		config.Config.Labels["org.opencontainers.image.source"] = published.Repository
	}
	return mutate.ConfigFile(img, config)
}

// roots are the certificate authorities, without those that are trusted under
// conditions, which a file of certificates cannot say.
func roots() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}

// filesOf reads a folder, in the order of its names.
func filesOf(folder string) (files []file, err error) {
	walk := func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(folder, path)
		if err = errors.Join(err, relErr); err != nil || rel == "." {
			return err
		}
		f := file{name: filepath.ToSlash(rel), mode: 0o644}
		if d.IsDir() {
			f.name, f.mode = f.name+"/", 0o755
		} else if f.data, err = os.ReadFile(path); err != nil {
			return err
		}
		files = append(files, f)
		return nil
	}
	err = filepath.WalkDir(folder, walk)
	return files, err
}
