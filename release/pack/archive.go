package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
)

// tar writes files with the time of the release and no owner.
func (r *release) tar(w io.Writer, files []file) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: r.time, Format: tar.FormatUSTAR, Typeflag: tar.TypeReg}
		switch {
		case f.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
		case f.name[len(f.name)-1] == '/':
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return t.Close()
}

func (r *release) tarGz(files []file) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := r.tar(z, files); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}
