package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/internal/parallel"
	"agentgateway-lock/pkg/surface"
)

// CheckCopies recomputes every hash of every item of f that has a digest, and
// those of the instructions, from the readable copies: the digests, and of a tool
// its three hashes. read returns the bytes at a path of the [Layout], or an error
// that is [fs.ErrNotExist] where there is nothing; it is called once for each
// path, from several goroutines.
//
// A copy that does not give the locked hashes, or cannot be read, is
// definition-mismatch; one that is not there is definition-missing; one that has
// the hashes but is not written as [FormatCopy] writes it is definition-form,
// because what its reviewers saw may not be what was hashed.
func CheckCopies(f *File, read func(path string) ([]byte, error)) []finding.Finding {
	copies := NewLayout(f).Copies
	results := make([]*finding.Finding, len(copies))
	_ = parallel.EachWith(len(copies), func() func(int) error { // what is wrong is a finding
		c := checker{file: f, read: read}
		return func(i int) error {
			results[i] = c.check(&copies[i])
			return nil
		}
	})
	var findings []finding.Finding
	for _, result := range results {
		if result != nil {
			findings = append(findings, *result)
		}
	}
	return findings
}

// A checker checks copies one after the other and keeps its working memory.
type checker struct {
	file   *File
	read   func(path string) ([]byte, error)
	reader surface.Reader
	form   []byte
}

func (c *checker) check(cp *Copy) *finding.Finding {
	text, err := c.read(cp.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.found(cp, finding.DefinitionMissing, "there is no readable copy at "+cp.Path, "")
	case err != nil:
		return c.found(cp, finding.DefinitionMismatch, "the readable copy cannot be read", err.Error())
	}
	if cp.item == nil {
		return c.checkInstructions(cp, text)
	}
	d, err := readCopy(&c.reader, cp.Kind, text)
	if err != nil {
		return c.found(cp, finding.DefinitionMismatch, "the readable copy "+cp.Path+" is not a definition", err.Error())
	}
	if wrong := differing(cp.item, &d); len(wrong) > 0 {
		return c.found(cp, finding.DefinitionMismatch, "the readable copy "+cp.Path+" does not have the hashes of the lockfile",
			"These differ: "+strings.Join(wrong, ", ")+".")
	}
	if c.form = appendCopy(c.form[:0], d.Canonical); !bytes.Equal(c.form, unixLines(text)) {
		return c.found(cp, finding.DefinitionForm, "the readable copy "+cp.Path+" is not in the form that the tool writes", "")
	}
	return nil
}

// differing names what the copy of an item gives otherwise than the lockfile.
func differing(it *Item, d *surface.Definition) []string {
	var wrong []string
	compare := func(name string, same bool) {
		if !same {
			wrong = append(wrong, name)
		}
	}
	compare("the name", it.Name == d.Name)
	if it.Tool != nil && d.Tool != nil {
		compare("nameHash", it.Tool.Name == d.Tool.Name)
		compare("descriptionHash", it.Tool.Description == d.Tool.Description)
		compare("inputSchemaHash", it.Tool.InputSchema == d.Tool.InputSchema)
	}
	compare("digest", it.Digest == d.Digest)
	compare("gatewayDigest", it.GatewayDigest == d.GatewayDigest)
	return wrong
}

func (c *checker) checkInstructions(cp *Copy, text []byte) *finding.Finding {
	instructions, err := ParseInstructions(text)
	if err != nil {
		return c.found(cp, finding.DefinitionMismatch, "the readable copy "+cp.Path+" is not one of instructions", err.Error())
	}
	if hash := canonical.SumString(instructions); hash != cp.hash() {
		return c.found(cp, finding.DefinitionMismatch, "the readable copy "+cp.Path+" does not have the hash of the lockfile",
			fmt.Sprintf("The lockfile says %v; the copy gives %v.", cp.hash(), hash))
	}
	return nil
}

// found makes a finding about a copy, with its line in the lockfile.
func (c *checker) found(cp *Copy, code finding.Code, summary, detail string) *finding.Finding {
	place := c.file.place(cp.line())
	place.Server, place.Kind, place.Name = cp.Server, cp.Kind, cp.Name
	f := finding.New(code, place, summary)
	f.Detail = detail
	return &f
}

// StrayCopies reports the files of the definitions folder that belong to no item
// of f, as notes. paths are all files below it, as in a [Layout].
func StrayCopies(f *File, paths []string) []finding.Finding {
	used := map[string]bool{}
	for _, c := range NewLayout(f).Copies {
		used[c.Path], used[c.Approved] = true, true
	}
	folder := path.Dir(f.place(0).File)
	var findings []finding.Finding
	for _, p := range paths {
		if !used[p] {
			findings = append(findings, finding.New(finding.DefinitionStray, finding.Place{File: path.Join(folder, p)}, "the file belongs to no item of the lockfile"))
		}
	}
	return findings
}
