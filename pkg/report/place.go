package report

import (
	"path"
	"path/filepath"
)

// inRepository is the path of a file from the root of its git repository. Files
// outside the project have absolute paths and keep them.
func (r *Report) inRepository(file string) string {
	if r.Folder == "" || file == "" || path.IsAbs(file) || filepath.IsAbs(file) {
		return file
	}
	return path.Join(r.Folder, file)
}
