package report

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"agentgateway-lock/internal/published"
	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// maxResults is how many results of one run GitHub code scanning takes.
const maxResults = 25000

// SARIF renders the findings of a report in the Static Analysis Results
// Interchange Format, version 2.1.0. A rule's id is the finding's code. A
// result's fingerprint depends on what was found and in which definition, and not
// on lines, so an alert that was closed opens again where the definition changes
// once more, and stays closed where only the lockfile around it does.
func SARIF(w io.Writer, r *Report) error {
	findings := slices.Clone(r.Findings)
	finding.Sort(findings)
	b := sarifBuilder{
		report: r, rules: map[finding.Code]int{}, digests: changeDigests(r),
		seen: map[string]int{}, told: newTellings(r), results: []sarifResult{}, descriptors: []sarifRule{},
	}
	b.addRules(findings)
	for _, f := range findings[:min(len(findings), maxResults)] {
		b.results = append(b.results, b.result(f))
	}
	invocation := sarifInvocation{ExecutionSuccessful: true, ExitCode: r.ExitCode}
	for _, f := range findings {
		if f.Undecided {
			invocation.ExecutionSuccessful = false
		}
	}
	if more := len(findings) - maxResults; more > 0 {
		invocation.Notifications = []sarifNotification{{
			Descriptor: sarifReference{ID: "results-cut"}, Level: "warning",
			Message: sarifText{sarifMessage(fmt.Sprintf("%d more results are left out; `%s diff` shows all", more, r.program()))},
		}}
	}
	return writeJSON(w, sarifLog{
		Version: "2.1.0", Schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Runs: []sarifRun{{
			Tool:              sarifTool{sarifDriver{Name: "agentgateway-lock", Version: r.Version, InformationURI: published.Repository, Rules: b.descriptors}},
			AutomationDetails: sarifAutomation{ID: "agentgateway/" + sarifMessage(r.Command) + "/" + sarifMessage(r.inRepository(r.Lockfile)) + "/"},
			Invocations:       []sarifInvocation{invocation},
			Results:           b.results,
		}},
	}, "")
}

type sarifBuilder struct {
	report      *Report
	rules       map[finding.Code]int // of a code, its place in descriptors
	descriptors []sarifRule
	digests     map[surface.Key]canonical.Digest
	seen        map[string]int // how often a fingerprint stands already
	told        *tellings
	results     []sarifResult
}

// addRules describes the codes that occur, in the order of the code table.
func (b *sarifBuilder) addRules(findings []finding.Finding) {
	used := map[finding.Code]bool{}
	for _, f := range findings {
		used[f.Code] = true
	}
	for _, d := range finding.Codes() {
		if used[d.Code] {
			b.rules[d.Code] = len(b.descriptors)
			b.descriptors = append(b.descriptors, sarifRule{
				ID: string(d.Code), HelpURI: published.Page(published.Repository, "docs/codes.md#"+string(d.Code)), ShortDescription: sarifText{sarifMessage(d.Meaning)}, FullDescription: sarifText{sarifMessage(d.Meaning)},
				Help: sarifText{sarifMessage(d.Action)}, DefaultConfiguration: sarifConfiguration{sarifLevel(d.Grade)},
			})
		}
	}
}

func sarifLevel(g finding.Grade) string {
	switch g {
	case finding.Critical:
		return "error"
	case finding.Warning:
		return "warning"
	}
	return "note"
}

func (b *sarifBuilder) result(f finding.Finding) sarifResult {
	message := f.Summary
	if item := itemOf(f.Place); item != "" {
		message = textcheck.Clip(item, clipName) + ": " + message
	}
	for _, more := range []string{f.Detail, f.Hint} {
		if more != "" {
			message += "\n" + more
		}
	}
	message = textcheck.Clip(message, clipDetail)
	if words := b.told.message(f, messageBound); words != "" {
		message += "\n" + words
	}
	out := sarifResult{
		RuleID: string(f.Code), Level: sarifLevel(f.Grade),
		Message:    sarifText{sarifMessage(message)},
		Locations:  []sarifLocation{b.location(f.Place)},
		Properties: sarifProperties{f.Grade, f.Undecided},
	}
	if index, ok := b.rules[f.Code]; ok {
		out.RuleIndex = &index
	}
	id := b.fingerprint(f)
	out.Fingerprints = sarifFingerprints{Own: id, GitHub: id}
	return out
}

func (b *sarifBuilder) location(p finding.Place) sarifLocation {
	file, line := p.File, p.Line
	if file == "" {
		file, line = b.report.Lockfile, 0
	}
	if file == "" {
		file = lockfile.DefaultName
	}
	out := sarifLocation{Physical: sarifPhysical{
		Artifact: artifactLocation(b.report.inRepository(file)),
		Region:   sarifRegion{max(line, 1)},
	}}
	if item := itemOf(p); item != "" {
		out.Logical = []sarifLogical{{
			Name:     textcheck.Terminal(lastOf(p)),
			FullName: textcheck.Terminal(item),
			Kind:     textcheck.Terminal(kindOf(p)),
		}}
	}
	return out
}

func lastOf(p finding.Place) string {
	if p.Name != "" {
		return p.Name
	}
	return p.Server
}

func kindOf(p finding.Place) string {
	return string(cmp.Or(p.Kind, surface.KindServer))
}

// artifactLocation is a file's URI: relative to the repository, or of its own
// where the file stands elsewhere.
func artifactLocation(file string) sarifArtifact {
	if path.IsAbs(file) || len(file) > 2 && file[1] == ':' && file[2] == '/' {
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: "/" + strings.TrimLeft(file, "/")}).String()}
	}
	return sarifArtifact{URI: (&url.URL{Path: file}).String(), Base: "%SRCROOT%"}
}

// changeDigests has the digest of what each changed item is now.
func changeDigests(r *Report) map[surface.Key]canonical.Digest {
	digests := map[surface.Key]canonical.Digest{}
	for _, s := range r.Servers {
		for _, c := range s.Changes {
			if c.New != nil {
				digests[surface.Key{Server: s.Name, Kind: c.Kind, Name: c.Name}] = canonical.Sum(c.New)
			}
		}
	}
	return digests
}

// fingerprint identifies a finding by its code, its place without lines, its
// summary, and the digest of the definition it is about. Findings that are the
// same in all of them are counted.
func (b *sarifBuilder) fingerprint(f finding.Finding) string {
	item := f.Place.Item()
	parts := []string{string(f.Code), item.Server, string(item.Kind), item.Name, f.Summary}
	if item.Server == "" {
		parts = append(parts, f.Place.File)
	}
	if digest, ok := b.digests[item]; ok {
		parts = append(parts, digest.String())
	}
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(strconv.Itoa(len(p)) + ":" + p)
	}
	sum := canonical.SumString(text.String()).String()
	b.seen[sum]++
	return sum + ":" + strconv.Itoa(b.seen[sum])
}

// sarifMessage returns a text for a plain text message (SARIF 2.1.0, 3.11): its
// lines kept, what cannot be seen made visible, braces doubled because single
// ones hold a placeholder, and nothing that reads as a link.
func sarifMessage(text string) string {
	text = messageEscapes.Replace(textcheck.TerminalLines(text))
	if text == "" {
		return " " // the text of a message is not empty
	}
	return text
}

var messageEscapes = strings.NewReplacer("{", "{{", "}", "}}", "](", "] (")
