package main

import (
	"bytes"
	"io"
)

// indented writes every line three columns in.
type indented struct {
	to   io.Writer
	line bytes.Buffer
}

// Write implements io.Writer.
func (w *indented) Write(p []byte) (int, error) {
	w.line.Write(p)
	for {
		i := bytes.IndexByte(w.line.Bytes(), '\n')
		if i < 0 {
			return len(p), nil
		}
		if err := w.put(w.line.Next(i + 1)); err != nil {
			return 0, err
		}
	}
}

func (w *indented) put(line []byte) error {
	if len(line) > 1 {
		line = append([]byte("   "), line...)
	}
	_, err := w.to.Write(line)
	return err
}

// end writes what is left without a line end.
func (w *indented) end() error {
	if w.line.Len() == 0 {
		return nil
	}
	return w.put(append(w.line.Next(w.line.Len()), '\n'))
}
