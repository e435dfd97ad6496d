// Package report renders what a run found, one file per output format: text for
// a terminal, json, markdown, sarif and github (workflow commands).
//
// Every renderer takes the same [Report]. All text that came from a server, a
// configuration or a pull request is escaped for its medium here, and nowhere
// else: a Report holds it as it was.
//
//	Text      for a terminal; lines of the width, colours where asked for
//	JSON      for programs; every text whole, schema/report.schema.json
//	Markdown  for a job summary or a pull request; below 900 kB
//	SARIF     for code scanning, version 2.1.0; at most 25,000 results
//	GitHub    workflow commands; at most ten annotations of a level
//
// Where a format leaves something out, it says how much. No output holds a
// character that cannot be seen, or a line that a CI runner would take for a
// command, other than the commands of GitHub and the colours of Text.
package report
