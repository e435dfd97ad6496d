package report

import (
	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

// sample is a report with something of every kind. Every text that another could
// have chosen is text.
func sample(text string) *Report {
	changes := []drift.Change{
		{Kind: surface.KindTool, Name: text, Status: drift.Changed,
			Old: []byte(`{"description":"old","name":"t"}`), New: []byte(`{"description":"new","name":"t"}`),
			Aspects: []drift.Aspect{
				{Code: finding.ParameterRemoved, Grade: finding.Critical, Path: "inputSchema.properties." + text, Summary: text + " removed", Old: `{"type":"string"}`, Whole: true},
				{Code: finding.DescriptionChanged, Grade: finding.Warning, Path: "description", Summary: "description changed", Old: "Echoes " + text, New: text, Words: true},
			}},
		{Kind: surface.KindPrompt, Name: "p", Status: drift.Added, New: []byte(`{"description":"a prompt","name":"p"}`),
			Aspects: []drift.Aspect{{Code: finding.ItemAdded, Grade: finding.Warning, Summary: "new"}}},
		{Kind: surface.KindInstructions, Status: drift.Removed, Old: []byte(text),
			Aspects: []drift.Aspect{{Code: finding.InstructionsChanged, Grade: finding.Warning, Summary: "the server gives no instructions any more", Old: text, Words: true}}},
	}
	r := &Report{
		Command: "ci", Program: "agentgateway", Version: "0.1.0", Lockfile: "agentgateway.lock", Subject: "agentgateway.lock against " + text,
		Servers: []Server{
			{Name: text, State: Differs, Era: "2025-11-25", Counts: map[surface.Kind]int{surface.KindTool: 3, surface.KindPrompt: 1}, Changes: changes,
				Source: &source.Source{Transport: source.Stdio, Command: "npx", Args: []string{"-y", text}, Env: map[string]string{"TOKEN": "${TOKEN}"}}},
			{Name: "quiet", State: Unchanged},
		},
		FailOn: finding.Info,
		Advice: []string{"run `agentgateway lock " + text + "`"},
	}
	r.Findings = FindingsOf(text, changes)
	config := finding.New(finding.ConfigUnread, finding.Place{File: "sub/" + text, Line: 7}, "not read: "+text)
	config.Detail, config.Hint = "first line\n"+text, "pass "+text
	r.Findings = append(r.Findings, config,
		finding.New(finding.ServerUnreachable, finding.Place{Server: text, File: ".mcp.json", Line: 3}, "could not be listed: "+text))
	r.Conclude()
	return r
}
