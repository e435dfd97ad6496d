package lockfile

import (
	"io/fs"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// Folder is the folder beside a lockfile that holds what belongs to it.
const Folder = ".agentgateway"

// DefinitionsFolder is the folder of the readable copies. It belongs to one
// lockfile.
const DefinitionsFolder = Folder + "/definitions"

// CleanPath reports a path that a format may hold: relative, with slashes, its own
// shortest form, and below its folder.
func CleanPath(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.ContainsAny(name, "\\\x00")
}

// A Copy is where the text of one item stands. Paths are relative to the folder
// of the lockfile, with slashes.
type Copy struct {
	surface.Key
	Path string
	// Approved is where the text in force stands while it differs from the locked
	// one.
	Approved string

	server *Server
	item   *Item // nil for instructions
}

// A Layout says where the readable copies of a lockfile stand: one for each item
// that has a digest and for all instructions, absent ones included.
//
// A definition stands at .agentgateway/definitions/SERVER/KIND/NAME.json, where
// SERVER and NAME are file names made from the names of the server and the item:
// see [FileNames]. They depend on which names there are and not on their order.
type Layout struct {
	// Copies are in the order of the lockfile.
	Copies []Copy
	index  map[surface.Key]int
}

// NewLayout returns the layout of f.
func NewLayout(f *File) *Layout {
	l := &Layout{index: map[surface.Key]int{}}
	names := make([]string, len(f.Servers))
	for i, s := range f.Servers {
		names[i] = s.Name
	}
	for i, folder := range FileNames(names) {
		l.addServer(DefinitionsFolder+"/"+folder+"/", f.Servers[i])
	}
	return l
}

func (l *Layout) addServer(folder string, s *Server) {
	if s.Instructions != nil {
		l.add(Copy{surface.Key{Server: s.Name, Kind: surface.KindInstructions}, folder + "instructions.txt", folder + "instructions.approved.txt", s, nil})
	}
	for _, kind := range surface.ListKinds() {
		items := s.Lists[kind.Kind]
		names := make([]string, len(items))
		for i := range items {
			names[i] = items[i].Name
		}
		for i, name := range FileNames(names) {
			if items[i].Digest.IsZero() {
				continue
			}
			base := folder + string(kind.Kind) + "/" + name
			l.add(Copy{surface.Key{Server: s.Name, Kind: kind.Kind, Name: items[i].Name}, base + ".json", base + ".approved.json", s, &items[i]})
		}
	}
}

func (l *Layout) add(c Copy) {
	l.index[c.Key] = len(l.Copies)
	l.Copies = append(l.Copies, c)
}

// Copy returns where the text of an item stands; ok is false where it has none.
func (l *Layout) Copy(key surface.Key) (c Copy, ok bool) {
	i, ok := l.index[key]
	if !ok {
		return Copy{}, false
	}
	return l.Copies[i], true
}

// hash is the hash that identifies the locked text of a copy.
func (c *Copy) hash() canonical.Digest {
	if c.item == nil {
		return c.server.Instructions.Hash
	}
	return c.item.Digest
}

// line is where the item of a copy stands in the lockfile.
func (c *Copy) line() int {
	if c.item == nil {
		return c.server.Instructions.Line
	}
	return c.item.Line
}

// nameDigits is how many digits of a name's hash make a file name its own.
const nameDigits = 12

// FileNames returns a file name, without extension, for each of the names that
// stand in one folder, whatever their order. A name stands for itself where it is
// safe on every common system and differs from all others in more than case. Any
// other is cleaned and followed by "~" and the first 12 digits of the SHA-256 of
// the name; by all 64 where two would still be one file.
func FileNames(names []string) []string {
	files := make([]string, len(names))
	count := make(map[string]int, len(names))
	for i, name := range names {
		if safeFileName(name) {
			files[i] = foldCase(name)
			count[files[i]]++
		}
	}
	for i, name := range names {
		if files[i] != "" && count[files[i]] == 1 {
			files[i] = name
			continue
		}
		files[i] = cleanFileName(name) + "~" + canonical.SumString(name).String()[:nameDigits]
	}
	return apart(names, files)
}

// apart gives the names whose files are one file, but for case, their whole hash.
func apart(names, files []string) []string {
	count := make(map[string]int, len(files))
	for _, file := range files {
		count[foldCase(file)]++
	}
	for i, name := range names {
		if count[foldCase(files[i])] > 1 {
			files[i] = cleanFileName(name) + "~" + canonical.SumString(name).String()
		}
	}
	return files
}

// foldCase returns what is equal for two names that one file system or another
// takes for the same.
func foldCase(name string) string {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return cases.Fold().String(norm.NFC.String(name))
		}
	}
	return strings.ToLower(name)
}

const (
	// maxFileName bounds a name that stands for itself, in bytes; file systems
	// allow 255, and an extension follows.
	maxFileName = 120
	// maxCleanName bounds what is kept of another one.
	maxCleanName = 60
)

// reserved are the device names of Windows, which mean a device with any
// extension.
var reserved = regexp.MustCompile(`^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)`)

// safeFileName reports whether a name may stand for itself: it has no character
// that a common file system forbids or a reader cannot see, is normalised, and
// cannot be taken for a name that this package makes.
func safeFileName(name string) bool {
	if name == "" || len(name) > maxFileName || !utf8.ValidString(name) || !norm.NFC.IsNormalString(name) {
		return false
	}
	if strings.ContainsFunc(name, unsafeRune) || strings.Trim(name, ". ") != name {
		return false
	}
	lower := foldCase(name)
	return !strings.HasSuffix(lower, ".approved") && !reserved.MatchString(lower)
}

// unsafeRune reports whether a character may not stand in a file name. The tilde
// marks names that hold a hash.
func unsafeRune(r rune) bool {
	return strings.ContainsRune(`/\:*?"<>|~`, r) || r == utf8.RuneError || textcheck.Invisible(r)
}

// cleanFileName returns what is kept of a name that may not stand for itself.
func cleanFileName(name string) string {
	clean := norm.NFC.String(strings.Map(func(r rune) rune {
		if unsafeRune(r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_")))
	for len(clean) > maxCleanName {
		_, size := utf8.DecodeLastRuneInString(clean)
		clean = clean[:len(clean)-size]
	}
	if clean = strings.Trim(clean, ". "); clean == "" {
		return "_"
	}
	return clean
}
