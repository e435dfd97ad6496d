// Package published says where the project is published. It is the one place that
// does: the workflow that init writes, reports, pages and release files take it
// from here.
//
// What is empty is not published yet; `make publish-check` lists it.
package published

// The address. Everything else is derived.
const (
	// Repository is the page of the repository, as https://HOST/OWNER/NAME.
	Repository = ""
	// ActionRef is the released action, as OWNER/NAME@COMMIT with a full commit id.
	ActionRef = ""
	// Image is the name of the container image, as HOST/OWNER/NAME.
	Image = ""
	// NPM and PyPI are the names of the packages.
	NPM  = "agentgateway-lock"
	PyPI = "agentgateway-lock"
)

// Page returns the address of a file of a repository, such as
// docs/codes.md#tool-added; empty where the repository has no address.
func Page(repository, path string) string {
	if repository == "" {
		return ""
	}
	return repository + "/blob/main/" + path
}
