package bounded

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Memory is a file system of regular files that are at hand. It is immutable.
type Memory struct {
	files   map[string][]byte
	folders map[string][]fs.DirEntry
}

// NewMemory returns the file system of files by their paths, which must be valid
// (see [fs.ValidPath]) and lead through none of each other.
func NewMemory(files map[string][]byte) *Memory {
	m := &Memory{files: files, folders: map[string][]fs.DirEntry{".": nil}}
	for name, data := range files {
		m.enter(name, memoryInfo{path.Base(name), int64(len(data)), 0o444})
	}
	for _, entries := range m.folders {
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return m
}

// enter lists something in its folder, and that in its own.
func (m *Memory) enter(name string, info memoryInfo) {
	folder := path.Dir(name)
	_, there := m.folders[folder]
	m.folders[folder] = append(m.folders[folder], fs.FileInfoToDirEntry(info))
	if !there {
		m.enter(folder, memoryInfo{path.Base(folder), 0, fs.ModeDir | 0o555})
	}
}

// Open implements [fs.FS].
func (m *Memory) Open(name string) (fs.File, error) {
	if data, ok := m.files[name]; ok {
		return NewFile(memoryInfo{path.Base(name), int64(len(data)), 0o444}, data), nil
	}
	if entries, ok := m.folders[name]; ok {
		return NewFolder(memoryInfo{path.Base(name), 0, fs.ModeDir | 0o555}, entries), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

type memoryInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i memoryInfo) Name() string       { return i.name }
func (i memoryInfo) Size() int64        { return i.size }
func (i memoryInfo) Mode() fs.FileMode  { return i.mode }
func (i memoryInfo) ModTime() time.Time { return time.Time{} }
func (i memoryInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memoryInfo) Sys() any           { return nil }

// NewFile returns an open file of bytes that are at hand.
func NewFile(info fs.FileInfo, data []byte) fs.File {
	return &memoryFile{bytes.NewReader(data), info}
}

type memoryFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *memoryFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *memoryFile) Close() error               { return nil }

// NewFolder returns an open folder of entries that are at hand.
func NewFolder(info fs.FileInfo, entries []fs.DirEntry) fs.ReadDirFile {
	return &memoryFolder{info: info, left: entries}
}

type memoryFolder struct {
	info fs.FileInfo
	left []fs.DirEntry
}

func (f *memoryFolder) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *memoryFolder) Close() error               { return nil }

func (f *memoryFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.Name(), Err: fs.ErrInvalid}
}

func (f *memoryFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(f.left)
	} else if len(f.left) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.left))
	out := slices.Clone(f.left[:n])
	f.left = f.left[n:]
	return out, nil
}
