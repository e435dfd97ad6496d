package report

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// JSONType is the type that a report in JSON says it has. A change that a reader
// of the old form could not take raises its version.
const JSONType = "agentgateway-report/v1"

type jsonReport struct {
	Type     string            `json:"type"`
	Command  string            `json:"command"`
	Version  string            `json:"version"`
	Lockfile string            `json:"lockfile"`
	Subject  string            `json:"subject"`
	Verdict  Verdict           `json:"verdict"`
	ExitCode int               `json:"exitCode"`
	FailOn   finding.Grade     `json:"failOn"`
	Servers  []jsonServer      `json:"servers"`
	Findings []finding.Finding `json:"findings"`
	Advice   []string          `json:"advice"`
}

type jsonServer struct {
	Name    string               `json:"name"`
	State   State                `json:"state"`
	Era     string               `json:"era"`
	Source  json.RawMessage      `json:"source"`
	Counts  map[surface.Kind]int `json:"counts"`
	Changes []jsonChange         `json:"changes"`
	Waiting []jsonChange         `json:"waiting"`
}

type jsonChange struct {
	Kind    surface.Kind  `json:"kind"`
	Name    string        `json:"name"`
	Status  drift.Status  `json:"status"`
	Grade   finding.Grade `json:"grade"`
	Aspects []jsonAspect  `json:"aspects"`
	// Old and New are definitions as they are, texts as strings, and null where
	// there is none at hand.
	Old any `json:"old"`
	New any `json:"new"`
}

type jsonAspect struct {
	Code    finding.Code  `json:"code"`
	Grade   finding.Grade `json:"grade"`
	Path    string        `json:"path"`
	Summary string        `json:"summary"`
	Old     string        `json:"old"`
	New     string        `json:"new"`
}

// JSON renders a report as one JSON text of the form schema/report.schema.json
// describes. Texts are as they were found; a character that cannot be seen is
// written as \u escapes, so that the output may be shown on a terminal.
func JSON(w io.Writer, r *Report) error {
	out := jsonReport{
		Type: JSONType, Command: r.Command, Version: r.Version, Lockfile: r.Lockfile, Subject: r.Subject,
		Verdict: r.Verdict, ExitCode: r.ExitCode, FailOn: r.FailOn,
		Servers: make([]jsonServer, len(r.Servers)), Findings: notNil(r.Findings), Advice: notNil(r.Advice),
	}
	for i, s := range r.Servers {
		out.Servers[i] = toJSONServer(s)
	}
	return writeJSON(w, out, "  ")
}

// notNil makes an absent list an empty one.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func toJSONServer(s Server) jsonServer {
	out := jsonServer{Name: s.Name, State: s.State, Era: s.Era, Counts: s.Counts}
	if s.Source != nil {
		out.Source = s.Source.CanonicalJSON()
	}
	if out.Counts == nil {
		out.Counts = map[surface.Kind]int{}
	}
	out.Changes, out.Waiting = toJSONChanges(s.Changes), toJSONChanges(s.Waiting)
	return out
}

func toJSONChanges(changes []drift.Change) []jsonChange {
	out := make([]jsonChange, len(changes))
	for i, c := range changes {
		out[i] = toJSONChange(c)
	}
	return out
}

func toJSONChange(c drift.Change) jsonChange {
	out := jsonChange{Kind: c.Kind, Name: c.Name, Status: c.Status, Grade: c.Grade(),
		Aspects: make([]jsonAspect, len(c.Aspects)), Old: value(c.Old), New: value(c.New)}
	for j, a := range c.Aspects {
		out.Aspects[j] = jsonAspect{a.Code, a.Grade, a.Path, a.Summary, a.Old, a.New}
	}
	return out
}

// value is a definition as it is, and what is none as a string.
func value(text []byte) any {
	switch {
	case text == nil:
		return nil
	case len(text) > 0 && text[0] == '{' && json.Valid(text):
		return json.RawMessage(text)
	}
	return string(text)
}

// writeJSON writes a value as JSON that is safe in a terminal and in the
// log of a CI runner.
func writeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(SafeJSON(b.Bytes()))
	return err
}

// WriteJSON writes a value as indented JSON that is safe in a terminal and in the log
// of a CI runner.
func WriteJSON(w io.Writer, v any) error { return writeJSON(w, v, "  ") }

// SafeJSON returns a text that is JSON with everything in its strings escaped that a
// reader cannot see, or a CI runner would obey. It says the same.
func SafeJSON(text []byte) []byte {
	return defuseJSON(textcheck.EscapeUnicode(make([]byte, 0, len(text)+len(text)/8), string(text), textcheck.KeepLines))
}

// defuseJSON spells as an escape the first hash of what a CI runner reads as a
// command wherever it stands in a line ("##[error]"). In JSON text a hash stands
// in strings only.
func defuseJSON(text []byte) []byte {
	const hash = `\u0023`
	if !bytes.Contains(text, []byte("##")) {
		return text
	}
	out := make([]byte, 0, len(text)+len(text)/16)
	for i, c := range text {
		if c == '#' && startsCommand(text[i:]) {
			out = append(out, hash...)
			continue
		}
		out = append(out, c)
	}
	return out
}

func startsCommand(text []byte) bool {
	const vso = "##vso["
	return bytes.HasPrefix(text, []byte("##[")) || len(text) >= len(vso) && strings.EqualFold(string(text[:len(vso)]), vso)
}
