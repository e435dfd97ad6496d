package seal

import (
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/textcheck"
)

// The two lines of a sealing tag's message.
const (
	lockfileLine = "lockfile-sha256: "
	trustLine    = "trust: "
)

// TagMessage returns the message of a tag that seals a lockfile: the subject, an
// empty line, and two lines that name the SHA-256 of the lockfile's bytes and
// the digest of the newest trust version. Lines of the subject that would read
// as one of those two make a message that no reader accepts.
func TagMessage(lockfile, trust canonical.Digest, subject string) string {
	return strings.TrimRight(subject, "\n") + "\n\n" + lockfileLine + lockfile.String() + "\n" + trustLine + trust.String() + "\n"
}

// parseTagMessage reads what TagMessage writes. The message ends with the two
// lines, in their order and after an empty line, and no other line begins as
// they do in whatever case: a reader who finds the first such line and one who
// finds the last find the same.
func parseTagMessage(message []byte) (lockfile, trust canonical.Digest, detail string) {
	const tail = len(lockfileLine) + len(trustLine) + 2*(2*len(canonical.Digest{})+1)
	text := string(message)
	at := len(text) - tail
	if at < 2 || text[at-2:at] != "\n\n" {
		return lockfile, trust, "its message does not end with an empty line and the two lines lockfile-sha256: and trust:"
	}
	first, second, _ := strings.Cut(text[at:], "\n")
	digests := [2]canonical.Digest{}
	for i, line := range []struct{ prefix, text string }{{lockfileLine, first}, {trustLine, strings.TrimSuffix(second, "\n")}} {
		value, ok := strings.CutPrefix(line.text, line.prefix)
		d, err := canonical.ParseDigest(value)
		if !ok || err != nil {
			return lockfile, trust, "the last lines of its message are not lockfile-sha256: and trust:, each with 64 lower-case hexadecimal digits"
		}
		digests[i] = d
	}
	for line := range strings.Lines(text[:at]) {
		name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(line)), ":")
		if name = strings.TrimSpace(name); name == "lockfile-sha256" || name == "trust" {
			return lockfile, trust, "its message holds the line " + textcheck.Quote(strings.TrimSpace(line), textcheck.QuoteLength) + " as well"
		}
	}
	return digests[0], digests[1], ""
}
