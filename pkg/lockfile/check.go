package lockfile

import (
	"bytes"
	"fmt"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
)

// Check recomputes what a lockfile says of itself, without anything but the file:
// surfaceHash from the hashes of the tools, nameHash from the names (the code
// hash-mismatch), and for a file that was read its order and form (the code
// lockfile-order). It judges the form of what was read, so it is called before
// the file is changed. [CheckCopies] recomputes the other hashes.
func Check(f *File) []finding.Finding {
	var findings []finding.Finding
	for _, s := range f.Servers {
		findings = append(findings, checkHashes(f, s)...)
	}
	if f.src == nil {
		return findings
	}
	for _, d := range f.disorders {
		place := f.place(d.line)
		place.Server = d.server
		findings = append(findings, finding.New(finding.LockfileOrder, place, "the lockfile is not sorted: "+d.what))
	}
	if len(f.disorders) == 0 {
		if line, ok := otherForm(f); ok {
			findings = append(findings, finding.New(finding.LockfileOrder, f.place(line), "the lockfile is not in the form that the tool writes, from this line on"))
		}
	}
	return findings
}

// formatAnew is Format without regard to what was read.
func formatAnew(f *File) []byte { return format(f, (*writer).server) }

// otherForm returns the first line that is not as it would be written.
func otherForm(f *File) (line int, ok bool) {
	want := formatAnew(f)
	if bytes.Equal(want, f.src) {
		return 0, false
	}
	n := 0
	for n < min(len(want), len(f.src)) && want[n] == f.src[n] {
		n++
	}
	line, _ = canonical.Position(f.src, n)
	return line, true
}

func checkHashes(f *File, s *Server) []finding.Finding {
	var findings []finding.Finding
	tools, ok := s.Lists[surface.KindTool]
	if !ok {
		return nil
	}
	for i := range tools {
		it := &tools[i]
		if it.Tool != nil && it.Tool.Name != canonical.SumString(it.Name) {
			place := f.place(it.Line)
			place.Server, place.Kind, place.Name = s.Name, surface.KindTool, it.Name
			findings = append(findings, finding.New(finding.HashMismatch, place, "nameHash is not the hash of the name"))
		}
	}
	if want := hashTools(tools); want != s.SurfaceHash {
		place := f.place(s.Line)
		place.Server = s.Name
		mismatch := finding.New(finding.HashMismatch, place, "surfaceHash is not the hash of the tools")
		mismatch.Detail = fmt.Sprintf("The entry says %v; its tools give %v.", s.SurfaceHash, want)
		findings = append(findings, mismatch)
	}
	return findings
}

// place is a line of the lockfile.
func (f *File) place(line int) finding.Place {
	path := f.Path
	if path == "" {
		path = DefaultName
	}
	return finding.Place{File: path, Line: line}
}
