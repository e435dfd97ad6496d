package settled

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/internal/parallel"
)

// maxFilesKept bounds the files of a [Print], so that a memory does not grow with the
// repository.
const maxFilesKept = 400

// A Print is what is remembered of surroundings: their sum, and that of each file
// where they are few.
type Print struct {
	Sum   canonical.Digest            `json:"sum"`
	Files map[string]canonical.Digest `json:"files,omitempty"`
}

// counts reports whether a path is among those that count where all do: neither the
// lockfile, nor what is signed, nor what only git and the host read.
func (p Place) counts(name string) bool {
	signed := path.Join(p.Project, ".agentgateway")
	return name != p.Lockfile && !strings.HasPrefix(name, signed+"/") && path.Base(name) != ".gitattributes" && !strings.HasPrefix(name, ".github/")
}

// inGitHub reports whether a command names a path of what else only the host reads.
func (pl *Plan) inGitHub() bool {
	return slices.ContainsFunc(pl.Paths, func(name string) bool { return strings.HasPrefix(name, ".github/") })
}

// paths are all paths that count on any side, sorted.
func (pl *Plan) paths(place Place, sides []Files) ([]string, error) {
	if pl.Elsewhere {
		return nil, nil
	}
	all := slices.Clone(pl.Paths)
	for _, files := range sides {
		for _, folder := range pl.Folders {
			if folder == "." && pl.All {
				continue
			}
			in, err := Under(files, folder)
			if err != nil {
				return nil, err
			}
			all = append(all, in...)
		}
		if !pl.All {
			continue
		}
		known, err := files.Known()
		if err != nil {
			return nil, err
		}
		for _, name := range known {
			if place.counts(name) || strings.HasPrefix(name, ".github/") && pl.inGitHub() {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Changed compares the surroundings of a plan on disk with those on another side.
func (pl *Plan) Changed(place Place, disk, other Files) Difference {
	names, err := pl.paths(place, []Files{disk, other})
	if err != nil {
		return Difference{Err: err, Any: true}
	}
	var mu sync.Mutex
	var d Difference
	err = parallel.Each(len(names), func(i int) error {
		same, err := sameOn(names[i], disk, other)
		if err != nil || same {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		d.Any, d.Files = true, append(d.Files, names[i])
		return nil
	})
	if err != nil {
		return Difference{Err: err, Any: true}
	}
	slices.Sort(d.Files)
	return d
}

// sameOn compares one path on two sides.
func sameOn(name string, disk, other Files) (bool, error) {
	kind, text, err := disk.Entry(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	otherKind, otherText, otherErr := other.Entry(name)
	if otherErr != nil && !errors.Is(otherErr, fs.ErrNotExist) {
		return false, otherErr
	}
	switch {
	case err != nil || otherErr != nil:
		return err != nil && otherErr != nil, nil
	case kind != otherKind:
		return false, nil
	case kind != File:
		return text == otherText, nil
	}
	data, err := disk.Read(name)
	if err != nil {
		return false, err
	}
	return other.Matches(name, data)
}

// Print sums up the surroundings of a plan.
func (pl *Plan) Print(place Place, disk Files) (Print, error) {
	names, err := pl.paths(place, []Files{disk})
	if err != nil {
		return Print{}, err
	}
	sums := make([]canonical.Digest, len(names))
	err = parallel.Each(len(names), func(i int) error {
		var err error
		sums[i], err = sumOf(disk, names[i])
		return err
	})
	if err != nil {
		return Print{}, err
	}
	var all bytes.Buffer
	if pl.Elsewhere {
		all.WriteString("elsewhere\n")
	}
	out := Print{}
	for i, name := range names {
		all.WriteString(sums[i].String() + " " + name + "\x00")
		if len(names) <= maxFilesKept {
			if out.Files == nil {
				out.Files = map[string]canonical.Digest{}
			}
			out.Files[name] = sums[i]
		}
	}
	out.Sum = canonical.Sum(all.Bytes())
	return out, nil
}

// sumOf is the sum of what is at a path: of a file with LF at the ends of lines.
func sumOf(files Files, name string) (canonical.Digest, error) {
	kind, text, err := files.Entry(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return canonical.Digest{}, nil
	case err != nil:
		return canonical.Digest{}, err
	case kind != File:
		return canonical.SumString(string(kind) + "\x00" + text), nil
	}
	data, err := files.Read(name)
	if err != nil {
		return canonical.Digest{}, err
	}
	return canonical.Sum(append([]byte("file\x00"), LF(data)...)), nil
}

// LF spells the ends of lines as git stores them.
func LF(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }

// Since compares surroundings with those before.
func (p Print) Since(before Print) Difference {
	if p.Sum == before.Sum {
		return Difference{}
	}
	d := Difference{Any: true}
	if p.Files == nil || before.Files == nil {
		return d
	}
	for name, sum := range p.Files {
		if before.Files[name] != sum {
			d.Files = append(d.Files, name)
		}
	}
	for name := range before.Files {
		if _, ok := p.Files[name]; !ok {
			d.Files = append(d.Files, name)
		}
	}
	slices.Sort(d.Files)
	return d
}
