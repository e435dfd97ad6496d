package processor

import "slices"

// Code is the stable name of a reason to deny. The empty code is no denial.
type Code string

// The codes.
const (
	DeniedNotApproved         Code = "not-approved"
	DeniedChanged             Code = "changed"
	DeniedRejected            Code = "rejected"
	DeniedDisabled            Code = "disabled"
	DeniedRefused             Code = "refused"
	DeniedAbsent              Code = "absent"
	DeniedConflict            Code = "conflict"
	DeniedByFile              Code = "denied-by-file"
	DeniedSource              Code = "source-not-approved"
	DeniedPaused              Code = "paused"
	DeniedSkipped             Code = "skipped"
	DeniedUnknownServer       Code = "unknown-server"
	DeniedUnknownMethod       Code = "unknown-method"
	DeniedNotCovered          Code = "not-covered"
	DeniedTemplate            Code = "template-not-approved"
	DeniedTemplateOpen        Code = "template-open"
	DeniedNoEvidence          Code = "no-evidence"
	DeniedEvidenceContradicts Code = "evidence-contradicts"
	DeniedEvidenceTooOld      Code = "evidence-too-old"
	DeniedTooManyDigests      Code = "too-many-digests"
	DeniedDuplicateName       Code = "duplicate-name"
	DeniedGatewayProfile      Code = "gateway-profile"
	DeniedMember              Code = "member-removed"
	DeniedCut                 Code = "member-cut"
	DeniedForeign             Code = "foreign-member"
	DeniedUnreadable          Code = "unreadable"
	DeniedTooLarge            Code = "too-large"
	DeniedMetadata            Code = "bad-metadata"
	DeniedNoPolicy            Code = "no-policy"
	DeniedInternal            Code = "internal"
)

// A Denial describes one code.
type Denial struct {
	Code    Code
	Meaning string // one sentence; what is denied is its subject, "it"
	Action  string // what to do
}

var denials = []Denial{
	{DeniedNotApproved, "Nobody has approved it.", "Read it, lock it and approve it; the processor serves it once that is in its policy."},
	{DeniedChanged, "The server lists another definition than the one that was approved.", "Compare the two with `agentgateway diff`; approve the new one, or have the server restored."},
	{DeniedRejected, "A person rejected it, and nothing else is in force.", "Read the reason with `agentgateway audit log`; a later approval lifts it."},
	{DeniedDisabled, "A person disabled it.", "Run `agentgateway enable`, and approve it again."},
	{DeniedRefused, "Its definition breaks a rule, so it has no digest and is never served.", "Ask the server's authors to fix the definition."},
	{DeniedAbsent, "It was not listed when the server was last locked.", "Run `agentgateway lock` while the server lists it."},
	{DeniedConflict, "Decisions about it contradict one another, so nothing is in force.", "Approve or reject it again, which names both decisions."},
	{DeniedByFile, "The deny file of the processor names it.", "Remove the line from the deny file once the reason for it is gone."},
	{DeniedSource, "Nobody has approved how its server is reached.", "Approve the server's source."},
	{DeniedPaused, "A person paused its server.", "Run `agentgateway resume` for the server."},
	{DeniedSkipped, "Its server is known and on purpose not covered.", "Run `agentgateway lock` for the server, and approve what it shows."},
	{DeniedUnknownServer, "The lockfile has no server for the gateway's target, or the hook names none.", "Lock the server, or set its target to the name the gateway gives it."},
	{DeniedUnknownMethod, "The processor does not know the method.", "Leave the method out of the gateway's configuration, or use a processor that knows it."},
	{DeniedNotCovered, "The server's entry does not cover this kind.", "Run `agentgateway lock` with the kind included, or serve with `--uncovered pass`."},
	{DeniedTemplate, "It is no approved resource, and the template it expands is not approved.", "Approve the resource template."},
	{DeniedTemplateOpen, "It expands an approved template, but one that does not fix scheme and authority, or in a way that leaves the template's path.", "Approve the resource itself, or have the template begin with scheme and authority."},
	{DeniedNoEvidence, "The processor has not seen the server list it since it started.", "List again through the gateway, or wait for the next probe."},
	{DeniedEvidenceContradicts, "The newest listing that showed it showed another definition than the one that was approved.", "Compare the two with `agentgateway diff`; a later listing that shows the approved one clears this."},
	{DeniedEvidenceTooOld, "It was last seen listed longer ago than evidence counts.", "List again through the gateway."},
	{DeniedTooManyDigests, "It showed more than 20 different definitions since the processor started.", "Look at the server; a change of the policy lifts the bar."},
	{DeniedDuplicateName, "Its name is more than once in one list.", "Ask the server's authors to list each name once."},
	{DeniedGatewayProfile, "It has members that the gateway profile does not know: this is another gateway than the one the profile describes.", "Use a gateway version that this processor was tried with."},
	{DeniedMember, "It is a member that is not passed on, because it could carry words to the agent that nobody approved.", "Nothing; the rest of the result is passed on."},
	{DeniedCut, "It is a text that the protocol does not need at this length or with these characters, and that nobody approved.", "Nothing; a short printable part of it is passed on, or none of it."},
	{DeniedForeign, "It has a member that no result of this method has: it may be the answer to another request, put into this one.", "Look at the server, which answers one request inside another, or speaks another protocol than this processor knows."},
	{DeniedUnreadable, "The message cannot be read as what the method says it is.", "Look at what the server or client sends; the log names the place."},
	{DeniedTooLarge, "The message is larger than the processor reads.", "Split the list over several servers or routes."},
	{DeniedMetadata, "The route's metadata holds a value that the processor cannot use.", "Make names one of raw, prefixed and never, and scope a text of at most 1024 bytes."},
	{DeniedNoPolicy, "The processor has no verified policy yet.", "Look at the readiness page of the processor."},
	{DeniedInternal, "The processor failed while it judged the message.", "Report this with the log of the processor."},
}

// Denials returns every code with its description, in the order of docs/codes.md.
func Denials() []Denial { return slices.Clone(denials) }

// describe returns the description of a code.
func describe(code Code) Denial {
	for _, d := range denials {
		if d.Code == code {
			return d
		}
	}
	return Denial{Code: code}
}
