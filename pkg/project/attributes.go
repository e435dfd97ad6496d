package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/internal/bounded"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/trust"
)

// hidden reports attributes in HEAD that hide what is reviewed, or convert what is
// hashed: a pull request brings its own .gitattributes, and with it "Binary files
// differ" in place of the words of its copies.
func (p *Project) hidden(ctx context.Context, file *lockfile.File) ([]finding.Finding, error) {
	if p.repo == nil {
		return nil, nil
	}
	head, err := p.repo.Resolve(ctx, "HEAD")
	if errors.Is(err, gitrepo.ErrNotFound) {
		return nil, nil // no commit yet
	}
	if err != nil {
		return nil, err
	}
	tree, err := p.repo.FS(ctx, head, "")
	if err != nil {
		return nil, err
	}
	reviewed := []string{p.Path, trust.VersionPath(1), trust.DecisionPath(canonical.Digest{})}
	for _, c := range lockfile.NewLayout(file).Copies {
		reviewed = append(reviewed, c.Path, c.Approved)
	}
	for i, name := range reviewed {
		reviewed[i] = path.Join(p.folder(), name)
	}
	attributes, problem, err := attributesFor(tree, reviewed)
	if err != nil || problem != "" {
		return hiddenFindings(map[string][]string{problem: {path.Join(p.folder(), attributesPath)}}, err)
	}
	by := map[string][]string{}
	for _, name := range reviewed {
		for _, text := range attributes.Unwanted(name) {
			by[text] = append(by[text], name)
		}
	}
	return hiddenFindings(by, nil)
}

// attributesFor reads the files of attributes that are above others, from the root
// down. problem says what is wrong with one as it is committed.
func attributesFor(tree fs.FS, names []string) (a *gitrepo.Attributes, problem string, err error) {
	folders := map[string]bool{}
	for _, name := range names {
		for dir := path.Dir(name); !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	sorted := slices.Sorted(maps.Keys(folders))
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(depth(a), depth(b)) })
	a = &gitrepo.Attributes{}
	for _, dir := range sorted {
		text, err := bounded.File(tree, path.Join(dir, attributesPath), maxAttributes)
		_, link := errors.AsType[*bounded.LinkError](err)
		_, size := errors.AsType[*bounded.SizeError](err)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case link || size:
			return a, err.Error(), nil
		case err != nil:
			return a, "", err
		}
		if dir == "." {
			dir = ""
		}
		if many := a.Add(dir, string(text)); many != nil {
			return a, many.Error(), nil //nolint:nilerr // so is this
		}
	}
	return a, "", nil
}

// depth is how many folders are above what is in a folder.
func depth(folder string) int {
	if folder == "." {
		return 0
	}
	return 1 + strings.Count(folder, "/")
}

// hiddenFindings tells of each attribute how many files it is about.
func hiddenFindings(by map[string][]string, err error) ([]finding.Finding, error) {
	if err != nil {
		return nil, err
	}
	var findings []finding.Finding
	for _, text := range slices.Sorted(maps.Keys(by)) {
		files := by[text]
		summary := "of " + files[0]
		if len(files) > 1 {
			summary = fmt.Sprintf("of %s and %d more", files[0], len(files)-1)
		}
		findings = append(findings, finding.New(finding.AttributesHide, finding.Place{File: files[0]}, text+", "+summary))
	}
	return findings, nil
}
