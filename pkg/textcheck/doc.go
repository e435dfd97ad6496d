// Package textcheck deals with text that somebody else wrote: it shows such
// text safely, and it finds in it what a person who reads it would not see.
//
// # Showing text
//
// Text from a server, a file name or a commit is never written out as it is.
// Each medium has one function, and its result is safe in that medium only:
//
//	Terminal          one line for a terminal or a log
//	TerminalLines     the same, keeping line feeds
//	Markdown          inline Markdown, also in a table cell
//	MarkdownCode      a code span
//	MarkdownBlock     a fenced code block
//	HTML              HTML text, or an attribute value in quotes
//	WorkflowData      the message of a GitHub workflow command
//	WorkflowProperty  a property value of a GitHub workflow command
//	EscapeUnicode     the readable copy of a definition in a repository
//
// Every one of them makes characters that a reader cannot see visible by their
// code point, as \u{200B} (EscapeUnicode: as \u200b), and shows a byte that
// is not UTF-8 as \xFF. Their result is at most [MaxGrowth] times as long as
// their input, besides a constant for fences. To shorten a text, call [Clip]
// first and escape what it returns.
//
// Lines that GitHub Actions would read as commands ("::error", "##[group]")
// are defused in all of them: results are printed in CI logs, too.
//
// # Judging text
//
// [Check] reports places in a text by stable rule names. [Skeleton] and what
// builds on it ([Confusable], [ConfusableText], [ConfusableNames]) find
// look-alikes by the table of Unicode Technical Standard #39.
//
// All functions are pure, are safe for concurrent use, and accept any bytes.
package textcheck
