package gitrepo

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// looseReader is what reading one loose object needs, kept for the next one:
// making an inflater costs more than most objects.
type looseReader struct {
	file *bufio.Reader
	zlib io.ReadCloser
	text *bufio.Reader
}

var looseReaders = sync.Pool{New: func() any {
	return &looseReader{file: bufio.NewReaderSize(nil, 4096), text: bufio.NewReaderSize(nil, 4096)}
}}

// readLoose reads the object file of id below an objects folder. found is false
// where there is none. Unlike go-git's own reading it is bounded by what comes,
// not by what a header says, and does not need go-git's lock.
func readLoose(objects string, id Hash, max int64) (kind Kind, body []byte, found bool, err error) {
	name := id.String()
	f, err := os.Open(filepath.Join(objects, name[:2], name[2:]))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, false, nil
	}
	if err != nil {
		return "", nil, true, &IntegrityError{ID: id, Err: err}
	}
	defer func() { _ = f.Close() }()
	r := looseReaders.Get().(*looseReader)
	defer looseReaders.Put(r)
	kind, body, err = r.read(f, id, max)
	var large *TooLargeError
	if err != nil && !errors.As(err, &large) {
		err = &IntegrityError{ID: id, Err: err}
	}
	return kind, body, true, err
}

func (r *looseReader) read(f io.Reader, id Hash, max int64) (Kind, []byte, error) {
	r.file.Reset(f)
	var err error
	if r.zlib == nil {
		r.zlib, err = zlib.NewReader(r.file)
	} else {
		err = r.zlib.(zlib.Resetter).Reset(r.file, nil)
	}
	if err != nil {
		return "", nil, err
	}
	r.text.Reset(r.zlib)
	head, err := r.text.ReadSlice(0)
	if err != nil {
		return "", nil, fmt.Errorf("its header does not end: %w", err)
	}
	kind, digits, _ := bytes.Cut(head[:len(head)-1], []byte(" "))
	size, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || size < 0 {
		return "", nil, fmt.Errorf("its header reads %q", clip(head))
	}
	if size > max {
		return "", nil, &TooLargeError{ID: id, Size: size, Max: max}
	}
	out := Kind(kind) // before head is overwritten
	body := make([]byte, size)
	if _, err := io.ReadFull(r.text, body); err != nil {
		return "", nil, err
	}
	// The end is read too: that checks zlib's own checksum.
	if _, err := r.text.ReadByte(); err != io.EOF {
		return "", nil, errors.New("it does not end where its header says")
	}
	return out, body, nil
}
