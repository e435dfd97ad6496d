package report

import (
	"path"
	"path/filepath"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
)

// Locate gives findings about a server of a lockfile, where they have no file
// yet, the lockfile's path and the line of what they are about.
func Locate(findings []finding.Finding, f *lockfile.File) {
	file := f.Path
	if file == "" {
		file = lockfile.DefaultName
	}
	for i := range findings {
		p := &findings[i].Place
		if p.File != "" || p.Server == "" {
			continue
		}
		if s := f.Server(p.Server); s != nil {
			p.File, p.Line = file, lineOf(s, p.Kind, p.Name)
		}
	}
}

// lineOf is the line of an item, or of the entry where the item stands in none.
func lineOf(s *lockfile.Server, kind surface.Kind, name string) int {
	line := 0
	switch item := s.Item(kind, name); {
	case item != nil:
		line = item.Line
	case kind == surface.KindSource:
		line = s.SourceLine
	case kind == surface.KindInstructions && s.Instructions != nil:
		line = s.Instructions.Line
	}
	if line == 0 {
		return s.Line
	}
	return line
}

// inRepository is the path of a file from the root of its git repository. Files
// outside the project have absolute paths and keep them.
func (r *Report) inRepository(file string) string {
	if r.Folder == "" || file == "" || path.IsAbs(file) || filepath.IsAbs(file) {
		return file
	}
	return path.Join(r.Folder, file)
}
