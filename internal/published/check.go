package published

import "regexp"

// A Field is one part of the address.
type Field struct {
	Name, Value string
	Meaning     string // what to fill in
	form        *regexp.Regexp
}

// Fields returns the parts of the address, and what each has to be.
func Fields() []Field {
	return []Field{
		{"Repository", Repository, "the page of the repository, as https://HOST/OWNER/NAME", regexp.MustCompile(`^https://[a-z0-9.-]+(/[\w.-]+)+$`)},
		{"ActionRef", ActionRef, "the released action, as OWNER/NAME@COMMIT with all 40 digits of the commit that holds its checksums", regexp.MustCompile(`^[\w.-]+/[\w.-]+@[0-9a-f]{40}$`)},
		{"Image", Image, "the name of the container image, as HOST/OWNER/NAME without a tag", regexp.MustCompile(`^[a-z0-9.-]+(/[a-z0-9._-]+)+$`)},
		{"NPM", NPM, "the name of the npm package", regexp.MustCompile(`^[a-z0-9-]+$`)},
		{"PyPI", PyPI, "the name of the PyPI package", regexp.MustCompile(`^[a-z0-9-]+$`)},
	}
}

// Problem says what is wrong with a field: empty for nothing.
func (f Field) Problem() string {
	switch {
	case f.Value == "":
		return "not filled in"
	case !f.form.MatchString(f.Value):
		return "not of the right form"
	}
	return ""
}
