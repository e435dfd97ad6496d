package config

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"agentgateway-lock/pkg/finding"
)

// The bounds of what is read. A user's own files grow with use, those of a
// repository are written by hand.
const (
	maxFile     = 1 << 20
	maxUserFile = 32 << 20
	maxFolder   = 1000   // files of one folder
	maxNames    = 20_000 // of a folder in which other spellings are looked for
)

// loader reads files into entries.
type loader struct {
	o       *Options
	entries []*entry
	failed  []error
	noted   []finding.Finding // what is no server and must not go in silence
	read    map[string]bool   // names of places, of configurations that were read

	folders map[string][]string // names in folders of the repository, by path
}

// file is a configuration while it is read.
type file struct {
	name   string // in places: from the root with slashes, or absolute
	inside bool   // of the repository
	client *client
	named  bool // by Options.Files
	loader *loader
}

func (l *loader) files(ctx context.Context) error {
	if len(l.o.Files) > 0 {
		for _, name := range l.o.Files {
			l.named(name)
		}
	} else {
		for i := range clients {
			for _, name := range clients[i].repository {
				if err := ctx.Err(); err != nil {
					return err
				}
				l.known(&clients[i], name, true)
			}
		}
	}
	if !l.o.UserConfigs {
		return nil
	}
	folders := userFolders(l.o)
	for i := range clients {
		for _, name := range clients[i].user {
			if err := ctx.Err(); err != nil {
				return err
			}
			folder, rest, _ := strings.Cut(name, "/")
			if folder = folders[folder]; folder == "" {
				continue
			}
			l.known(&clients[i], filepath.ToSlash(folder)+"/"+rest, false)
		}
	}
	return nil
}

// known reads a file of the table where it exists, or all that a pattern fits.
func (l *loader) known(c *client, name string, inside bool) {
	for _, found := range l.matching(name, inside) {
		spelled := []string{found}
		if inside {
			spelled = l.spelled(found)
		}
		for _, name := range spelled {
			l.load(&file{name: name, inside: inside, client: c, loader: l})
		}
	}
}

// spelled are the paths of the repository that are a path in upper or lower case:
// where file systems do not tell them apart, clients read each of them. The path
// itself where nothing is there.
func (l *loader) spelled(name string) []string {
	found := []string{""}
	for element := range strings.SplitSeq(name, "/") {
		var next []string
		for _, at := range found {
			for _, other := range l.namesIn(path.Clean(at)) {
				if strings.EqualFold(other, element) {
					next = append(next, path.Join(at, other))
				}
			}
			if exact := path.Join(at, element); len(l.folders[path.Clean(at)]) == maxNames && !slices.Contains(next, exact) {
				next = append(next, exact) // it may be among those that were not listed
			}
		}
		found = next
	}
	if len(found) == 0 {
		return []string{name} // a link that leads to nothing is an error, too
	}
	return found
}

// namesIn are the names in a folder of the repository; none where it cannot be read.
func (l *loader) namesIn(folder string) []string {
	names, ok := l.folders[folder]
	if ok {
		return names
	}
	entries, _ := l.list(folder, maxNames) // one that cannot be read has the spelling of the table
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if l.folders == nil {
		l.folders = map[string][]string{}
	}
	l.folders[folder] = names
	return names
}

// matching are the paths that a pattern may mean: one without * itself, whether or
// not it exists, else what is there.
func (l *loader) matching(pattern string, inside bool) []string {
	at := strings.IndexByte(pattern, '*')
	if at < 0 {
		return []string{pattern}
	}
	dir := strings.TrimSuffix(pattern[:at], "/")
	element, rest, below := strings.Cut(pattern[at:], "/")
	prefix := dir + "/"
	if dir == "" {
		dir, prefix = ".", ""
	}
	found, err := l.folder(dir, inside)
	if err != nil {
		if !absent(err) {
			l.fail(&FileError{File: dir, Detail: "the folder cannot be read", Hint: "look at its permissions", Err: err})
		}
		return nil
	}
	if len(found) > maxFolder {
		if dir != "." {
			l.fail(&FileError{File: dir, Detail: "the folder holds more than 1000 files", Hint: "name the right ones with --config"})
		}
		return nil
	}
	var names []string
	for _, f := range found {
		switch name := prefix + f.Name(); {
		case !strings.HasSuffix(f.Name(), element[1:]):
		case below:
			names = append(names, l.matching(name+"/"+rest, inside)...)
		default:
			names = append(names, name)
		}
	}
	return names
}

// named reads a file of Options.Files.
func (l *loader) named(name string) {
	f := &file{client: &anyClient, named: true, loader: l}
	f.name, f.inside = l.locate(name)
	if c := clientOf(f.name); c != nil {
		f.client = c
	}
	l.load(f)
}

// locate returns the name of a path in places and whether it stands inside the
// repository.
func (l *loader) locate(name string) (string, bool) {
	abs := name
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(l.o.Root, name)
	}
	rel, err := filepath.Rel(l.o.Root, abs)
	if err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel), true
	}
	return filepath.ToSlash(filepath.Clean(abs)), false
}

// fits reports whether a path ends in a known path, whose last element may be a
// pattern.
func fits(name, known string) bool {
	n := strings.Count(known, "/")
	i := len(name)
	for ; n >= 0 && i >= 0; n-- {
		i = strings.LastIndexByte(name[:i], '/')
	}
	ok, err := path.Match(known, name[i+1:])
	return err == nil && ok
}

func (l *loader) fail(err *FileError) { l.failed = append(l.failed, err) }

// load reads one file into entries. A file of the table that does not exist is
// passed over.
func (l *loader) load(f *file) {
	limit := int64(maxFile)
	if !f.inside {
		limit = maxUserFile
	}
	src, err := l.readFile(f.name, f.inside, limit)
	if err != nil {
		if !absent(err) || f.named {
			l.fail(readError(f.name, err))
		}
		return
	}
	if err := f.parse(src); err != nil {
		l.fail(err)
	}
}

var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = errors.New("larger than the limit")
	errNoAccess   = errors.New("files outside the repository are not read here")
)

// readFile reads a regular file within a limit.
func (l *loader) readFile(name string, inside bool, limit int64) ([]byte, error) {
	if inside {
		// Asked first, since opening a pipe waits for a writer.
		if info, err := fs.Stat(l.o.Repository, name); err != nil {
			return nil, err
		} else if !info.Mode().IsRegular() {
			return nil, errNotRegular
		}
	}
	f, err := l.open(name, inside)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	src, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(src)) > limit {
		err = errTooLarge
	}
	return src, err
}

func (l *loader) open(name string, inside bool) (fs.File, error) {
	switch {
	case inside:
		return l.o.Repository.Open(name)
	case l.o.Open == nil:
		return nil, errNoAccess
	}
	return l.o.Open(filepath.FromSlash(name))
}

func (l *loader) folder(name string, inside bool) ([]fs.DirEntry, error) {
	f, err := l.open(name, inside)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, fs.ErrNotExist
	}
	found, err := dir.ReadDir(maxFolder + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.SortFunc(found, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return found, nil
}

// absent reports whether a file is not there, or a part of its path is no folder.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func readError(name string, err error) *FileError {
	e := &FileError{File: name, Err: err}
	switch {
	case absent(err):
		e.Detail, e.Hint = "the file does not exist", "look at the path given with --config"
	case errors.Is(err, errNotRegular):
		e.Detail, e.Hint = "the configuration is not a regular file", "put a file in its place"
	case errors.Is(err, errTooLarge):
		e.Detail, e.Hint = "the configuration is larger than the limit", "1 MiB in a repository, 32 MiB elsewhere"
	case errors.Is(err, fs.ErrPermission):
		e.Detail, e.Hint = "the configuration may not be read", "look at its permissions"
	default:
		// What is reviewed must be what is read, so a link out of the tree is no
		// configuration.
		e.Detail, e.Hint = "the configuration cannot be read ("+err.Error()+")", "a link must lead to a file inside the repository"
	}
	return e
}
