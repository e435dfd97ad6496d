package finding

// Code is the stable name of one kind of finding.
type Code string

// A Description says what a code means.
type Description struct {
	Code      Code
	Grade     Grade  // where a finding does not say otherwise
	Undecided bool   // the check could not be made
	Meaning   string // one sentence
	Action    string // what to do
}

// The codes of reading, locking and comparing.
const (
	ToolAdded           Code = "tool-added"
	ToolRemoved         Code = "tool-removed"
	ItemAdded           Code = "item-added"
	ItemRemoved         Code = "item-removed"
	ServerAdded         Code = "server-added"
	ServerRemoved       Code = "server-removed"
	DescriptionChanged  Code = "description-changed"
	InstructionsChanged Code = "instructions-changed"
	SchemaChanged       Code = "schema-changed"
	ParameterAdded      Code = "parameter-added"
	ParameterRemoved    Code = "parameter-removed"
	ParameterRetyped    Code = "parameter-retyped"
	ParameterRequired   Code = "parameter-required"
	OutputSchemaChanged Code = "output-schema-changed"
	HintLoosened        Code = "hint-loosened"
	AnnotationsChanged  Code = "annotations-changed"
	MetaChanged         Code = "meta-changed"
	TitleChanged        Code = "title-changed"
	IconsChanged        Code = "icons-changed"
	DefinitionChanged   Code = "definition-changed"
	TooLargeToGrade     Code = "too-large-to-grade"
	RefusedChanged      Code = "refused-changed"
	DefinitionRefused   Code = "definition-refused"
	Unstable            Code = "unstable"
	GatewayUnstable     Code = "gateway-unstable"
	SourceChanged       Code = "source-changed"
	SourceNew           Code = "source-new"
	SurroundingsChanged Code = "surroundings-changed"
	SourceUnrecorded    Code = "source-unrecorded"
	SecretInSource      Code = "secret-in-source"
	ServerDisabled      Code = "server-disabled"
	ServerUnreachable   Code = "server-unreachable"
	ServerOverLimit     Code = "server-over-limit"
	ServerNotStarted    Code = "server-not-started"
	EgressDenied        Code = "egress-denied"
	StdoutNoise         Code = "stdout-noise"
	ServerEmpty         Code = "server-empty"
	MachineText         Code = "machine-text"
	ConfigInvalid       Code = "config-invalid"
	ConfigEntryInvalid  Code = "config-entry-invalid"
	ConfigConflict      Code = "config-conflict"
	ConfigUnread        Code = "config-unread"
	VariableUnset       Code = "variable-unset"
	SourceCapability    Code = "source-capability"
	ServerSkipped       Code = "server-skipped"
	SourceFloating      Code = "source-floating"
	SourcePlaintext     Code = "source-plaintext"
	SourceMachinePath   Code = "source-machine-path"
	LockfileMissing     Code = "lockfile-missing"
	LockfileInvalid     Code = "lockfile-invalid"
	LockfileOrder       Code = "lockfile-order"
	LockfileSecond      Code = "lockfile-second"
	LockfileSymlink     Code = "lockfile-symlink"
	HashMismatch        Code = "hash-mismatch"
	DefinitionMismatch  Code = "definition-mismatch"
	DefinitionMissing   Code = "definition-missing"
	DefinitionForm      Code = "definition-form"
	DefinitionStray     Code = "definition-stray"
	LockfileRemoved     Code = "lockfile-removed"
	AttributesHide      Code = "attributes-hide"
	CoverageReduced     Code = "coverage-reduced"
	LockfileOlder       Code = "lockfile-older"
	HistoryShallow      Code = "history-shallow"
	HistoryRewritten    Code = "history-rewritten"
	Unsigned            Code = "unsigned"
)

// The codes of contacting servers.
const (
	ServerUnauthorized Code = "server-unauthorized"
)

// The codes of runs that end with an error in place of a report.
const (
	ConfigMissing      Code = "config-missing"
	LockfileUnwritable Code = "lockfile-unwritable"
	LockfileBusy       Code = "lockfile-busy"
)

// The codes of trust and decisions.
const (
	TrustMissing      Code = "trust-missing"
	TrustUnpinned     Code = "trust-unpinned"
	TrustRootMismatch Code = "trust-root-mismatch"
	TrustInvalid      Code = "trust-invalid"
	TrustWaiting      Code = "trust-waiting"
	TrustLost         Code = "trust-lost"
	TrustForked       Code = "trust-forked"
	DecisionInvalid   Code = "decision-invalid"
	DecisionLost      Code = "decision-lost"
	DecisionForked    Code = "decision-forked"
	DecisionForeign   Code = "decision-foreign"
	StatementForeign  Code = "statement-foreign"
	ItemConflict      Code = "item-conflict"
	ItemDropped       Code = "item-dropped"
	ApprovalMissing   Code = "approval-missing"
	ApprovalOutdated  Code = "approval-outdated"
	ItemRejected      Code = "item-rejected"
	ThresholdUnmet    Code = "threshold-unmet"
	SelfApproval      Code = "self-approval"
	SignerUnknown     Code = "signer-unknown"
	DecisionFuture    Code = "decision-future"
	DecisionExpired   Code = "decision-expired"
	DecisionOutdated  Code = "decision-outdated"
	DecisionOvertaken Code = "decision-overtaken"
	SerialLowered     Code = "serial-lowered"
	ProposerMissing   Code = "proposer-missing"
	GradeUnderstated  Code = "grade-understated"
)

// The codes of seals.
const (
	SealMissing  Code = "seal-missing"
	SealInvalid  Code = "seal-invalid"
	SealSigner   Code = "seal-signer"
	SealMismatch Code = "seal-mismatch"
)

// The codes of history.
const (
	HeadLost          Code = "head-lost"
	CommitInvalid     Code = "commit-invalid"
	CommitUnsigned    Code = "commit-unsigned"
	DecisionChanged   Code = "decision-changed"
	CheckpointInvalid Code = "checkpoint-invalid"
)

// codes is filled in the order of docs/codes.md.
var codes = []Description{
	{ToolAdded, Warning, false, "A tool is served that the lockfile does not hold.", "Read it, then run `agentgateway lock`."},
	{ToolRemoved, Warning, false, "A tool of the lockfile is no longer served.", "Where that is right, run `agentgateway lock`."},
	{ItemAdded, Warning, false, "A prompt, resource or resource template is served that the lockfile does not hold.", "Read it, then run `agentgateway lock`."},
	{ItemRemoved, Warning, false, "A prompt, resource or resource template of the lockfile is no longer served.", "Where that is right, run `agentgateway lock`."},
	{ServerAdded, Warning, false, "A server is configured that the lockfile does not hold.", "Run `agentgateway lock NAME`."},
	{ServerRemoved, Warning, false, "A server of the lockfile is no longer configured.", "Run `agentgateway lock`, or configure it again."},
	{DescriptionChanged, Warning, false, "The words an agent reads about an item have changed.", "Read the new words, then run `agentgateway lock`."},
	{InstructionsChanged, Warning, false, "The instructions a server gives an agent have changed.", "Read the new words, then run `agentgateway lock`."},
	{SchemaChanged, Warning, false, "An input schema has changed in a way that no other code names.", "Read the change, then run `agentgateway lock`."},
	{ParameterAdded, Warning, false, "A tool takes a parameter more.", "Read the change, then run `agentgateway lock`."},
	{ParameterRemoved, Critical, false, "A tool takes a parameter less.", "Read the change, then run `agentgateway lock`."},
	{ParameterRetyped, Critical, false, "A parameter has another type.", "Read the change, then run `agentgateway lock`."},
	{ParameterRequired, Critical, false, "A parameter is required that was not.", "Read the change, then run `agentgateway lock`."},
	{OutputSchemaChanged, Warning, false, "The schema of a tool's output has changed.", "Read the change, then run `agentgateway lock`."},
	{HintLoosened, Critical, false, "An annotation now claims less safety: read-only lost, destructive or open-world gained.", "Read the change, then run `agentgateway lock`."},
	{AnnotationsChanged, Warning, false, "Annotations have changed.", "Read the change, then run `agentgateway lock`."},
	{MetaChanged, Warning, false, "The _meta of an item has changed.", "Read the change, then run `agentgateway lock`."},
	{TitleChanged, Info, false, "The title of an item has changed.", "Run `agentgateway lock`."},
	{IconsChanged, Info, false, "The icons of an item have changed.", "Run `agentgateway lock`."},
	{DefinitionChanged, Warning, false, "A definition has changed in a member that no other code names, or its text is not at hand.", "Read the change, then run `agentgateway lock`."},
	{TooLargeToGrade, Critical, false, "A change is too large to be told in full, so it counts as critical.", "Read it with `agentgateway diff --full`, then run `agentgateway lock`."},
	{RefusedChanged, Warning, false, "The refused definitions of a server have changed.", "Read the change, then run `agentgateway lock`."},
	{DefinitionRefused, Note, false, "A definition is refused by a rule and is not hashed.", "Ask the server's authors to fix it; it is never served by the processor."},
	{Unstable, Critical, false, "A listing changed within one run: what a person reads is not what an agent gets.", "Run again; where it stays, do not trust this server."},
	{GatewayUnstable, Note, false, "The gateway cannot pass a definition on unchanged.", "Ask the server's authors to fix it, or do not serve it through the gateway."},
	{SourceChanged, Critical, false, "The configuration starts or contacts something else than the lockfile records.", "Look at it with `agentgateway lock --dry-run NAME`, then run `agentgateway lock NAME`."},
	{SourceNew, Critical, true, "A source is new here and nobody has settled it, so it was not started or contacted.", "Look at the command; the finding says what would settle it here."},
	{SurroundingsChanged, Critical, true, "The words of a source are settled, and files that decide what they run are not as they were, so it was not started.", "Look at the files; then have them merged, or pass `--allow-source NAME` for one run."},
	{SourceUnrecorded, Note, false, "The lockfile does not record how a server is reached, so the configuration decides.", "Run `agentgateway lock NAME` to record it."},
	{SecretInSource, Critical, true, "A source holds what looks like a secret: it is neither shown nor written, and nothing is started or contacted.", "Use `${VAR}` and set the variable outside the repository."},
	{ServerDisabled, Note, false, "A server is switched off in the configuration.", "Nothing, where that is meant."},
	{ServerUnreachable, Warning, true, "A server could not be listed.", "Look at the reason, then run again."},
	{ServerOverLimit, Warning, true, "A server sent more than a limit allows.", "Ask the server's authors; the limits are in docs/lockfile.md."},
	{ServerUnauthorized, Warning, true, "A server wants credentials, or others than it got.", "Set the header or variable that the message names."},
	{ServerNotStarted, Warning, true, "A server was not started because the run may start nothing.", "Run without `--no-exec` where starting it is acceptable."},
	{EgressDenied, Warning, true, "A server's address may not be contacted.", "Where a private address is meant, run `agentgateway lock --allow-private NAME`."},
	{StdoutNoise, Note, false, "A server wrote lines to its output that are not messages.", "Ask the server's authors to write them to standard error."},
	{ServerEmpty, Warning, false, "A new server shows nothing: no tool, prompt or template.", "Run the server by hand and see what it waits for; remove it where it is not used."},
	{MachineText, Note, false, "A text differs only in what is of the machine or the day: a folder, a name, a time zone, a date.", "Set what the hint names, so that it is the same everywhere, then lock again."},
	{ConfigInvalid, Critical, true, "A configuration file cannot be read.", "Fix the file at the place named."},
	{ConfigEntryInvalid, Warning, true, "A server's entry in a configuration is not valid.", "Fix the entry at the place named."},
	{ConfigConflict, Warning, true, "One name is configured with two different sources.", "Give the servers different names, or make the entries equal."},
	{ConfigUnread, Note, false, "A file that holds MCP servers, or an entry that no source can record, was not read.", "Pass it with `--config`."},
	{VariableUnset, Warning, true, "A variable that a configuration names is not set.", "Set the variable, or give it a default as in `${VAR:-default}`."},
	{SourceCapability, Note, false, "An address holds a long run that looks generated: whoever knows the address may be able to use the server.", "Where it is a secret, put `${VAR}` in its place."},
	{SourceFloating, Note, false, "A source names no fixed version: what runs can change without any change here.", "Write the version or digest that the message names."},
	{SourcePlaintext, Note, false, "A server is reached by http: over a network, where others can read and change what is said.", "Use https:."},
	{ServerSkipped, Note, false, "A server is known and on purpose not covered: nothing of it is checked, and `serve` and `run` let nothing of it through.", "Run `agentgateway lock NAME` to cover it."},
	{SourceMachinePath, Note, false, "A configuration of the repository starts a server by a full path, which holds on one machine only.", "Name the command without its folder, or relative to `${workspaceFolder}`."},
	{LockfileMissing, Critical, false, "There is no lockfile.", "Run `agentgateway init`."},
	{LockfileInvalid, Critical, false, "The lockfile cannot be read.", "Fix it at the place named, or restore it with `git checkout -- agentgateway.lock`."},
	{LockfileOrder, Warning, false, "The lockfile is not in the form the tool writes.", "Run `agentgateway lock`."},
	{LockfileSecond, Warning, false, "A second lockfile is in the tree.", "Remove the one that is not used."},
	{LockfileSymlink, Critical, false, "The lockfile or a file beside it is a link or differs from what is committed.", "Commit it as a regular file."},
	{HashMismatch, Critical, false, "A hash in the lockfile does not fit the others.", "Restore the lockfile, or run `agentgateway lock`."},
	{DefinitionMismatch, Critical, false, "The readable copy of a definition does not have the hashes of the lockfile.", "Restore the copy with git, or run `agentgateway lock`."},
	{DefinitionMissing, Critical, false, "The readable copy of a definition is missing.", "Restore the copy with git, or run `agentgateway lock`."},
	{DefinitionForm, Warning, false, "The readable copy of a definition has its hashes, but is not written as the tool writes it: what a reviewer saw may not be what was hashed.", "Run `agentgateway lock`."},
	{DefinitionStray, Note, false, "A file in the definitions folder belongs to no item.", "Remove it, or run `agentgateway lock`."},
	{LockfileRemoved, Critical, false, "The base has a lockfile and this tree has none.", "Restore the lockfile."},
	{AttributesHide, Critical, false, "A .gitattributes file hides what changes in the lockfile, a copy or a decision, or makes git convert its bytes.", "Remove the attribute, or narrow its pattern; `agentgateway init` writes the lines that are needed."},
	{CoverageReduced, Critical, false, "An entry covers less, or is less exact, than on the base.", "Run `agentgateway lock` without `--exclude`."},
	{LockfileOlder, Critical, false, "The lockfile is an older one of the base's history.", "Merge the base, then run `agentgateway lock`."},
	{HistoryRewritten, Warning, false, "A push took earlier commits, with another lockfile or other decisions, out of the branch, so nothing says what it changed; the state is judged by itself.", "Look at what was taken out, and push it again where it belongs there."},
	{HistoryShallow, Warning, true, "The clone lacks the commits that the check needs.", "Check out with `fetch-depth: 0`."},
	{ConfigMissing, Critical, true, "No configuration names an MCP server.", "Write an .mcp.json, or name a configuration with `--config`."},
	{LockfileUnwritable, Critical, true, "The lockfile or a readable copy could not be written; the lockfile is as it was.", "Fix the cause that the message names, then run again."},
	{LockfileBusy, Critical, true, "Another run writes the lockfile, or has written it since this one began.", "Run again."},
	{Unsigned, Note, false, "The repository has no trust list: what is locked counts as approved.", "Run `agentgateway trust init` to ask for signed approvals."},
	{TrustMissing, Critical, false, "There are decisions, or there was a trust list, and the trust list is gone.", "Restore the folder .agentgateway/trust with git."},
	{TrustUnpinned, Note, false, "The trust list is taken from the repository itself: no trust root is pinned.", "Pin it with `--trust-root` or AGENTGATEWAY_TRUST_ROOT; `agentgateway trust show` prints it."},
	{TrustRootMismatch, Critical, false, "The trust list does not hold the version that the trust root names.", "Compare the trust root with the one your team pins; do not trust this list."},
	{TrustInvalid, Critical, false, "The trust versions are not a chain that verifies.", "Restore the folder .agentgateway/trust with git."},
	{TrustWaiting, Note, false, "A trust version waits for signatures; the one before it is in force.", "Sign it with `agentgateway trust sign`."},
	{TrustLost, Critical, false, "A trust version that the base or the lockfile has is not in the chain.", "Restore the folder .agentgateway/trust with git, or merge the base."},
	{TrustForked, Critical, false, "A trust version is another one than the base's of the same number.", "Keep the base's, and make the change again on top of it."},
	{DecisionInvalid, Critical, false, "A file of the decisions folder is not a decision, or a signature in it does not verify.", "Restore or remove the file with git."},
	{DecisionLost, Critical, false, "A decision that was there, or that the chain of an item needs, is missing.", "Restore the file with git."},
	{DecisionForked, Critical, false, "The decisions about an item do not form one chain, so nothing is in force for it.", "Decide about the item again: a new decision names all ends."},
	{DecisionForeign, Critical, false, "The decision that the lockfile names for an item says nothing about it.", "Restore the lockfile's entry with git."},
	{StatementForeign, Critical, false, "A decision was made for another repository, another lockfile or another trust list.", "Decide again here: decisions cannot be moved."},
	{ItemConflict, Critical, false, "The serials of the decisions about an item do not rise by one.", "Remove the decision that was not made by this tool."},
	{ItemDropped, Critical, false, "An item that was decided is missing from the lockfile.", "Restore its entry with git: an item that is gone stays in the lockfile, marked absent."},
	{ApprovalMissing, Critical, false, "Nothing is in force for an item.", "Run `agentgateway review`, then `agentgateway approve`."},
	{ApprovalOutdated, Critical, false, "Another text than the locked one is in force for an item.", "Run `agentgateway review`, then `agentgateway approve`."},
	{ItemRejected, Critical, false, "The locked text of an item was rejected.", "Lock another text, or approve this one after all."},
	{ThresholdUnmet, Critical, false, "A decision lacks signatures.", "Have another approver run the same `agentgateway approve --review`."},
	{SelfApproval, Critical, false, "A person who proposed a text approved it.", "Have another approver run the same `agentgateway approve --review`."},
	{SignerUnknown, Note, false, "A decision is signed by a key that the trust list does not have.", "Where the signer was removed and their decisions count no more, decide again."},
	{DecisionFuture, Critical, false, "A decision is dated more than ten minutes ahead.", "Set the clock of who made it right, and decide again."},
	{DecisionExpired, Warning, false, "What is in force is older than the rule maxAge allows.", "Review the item and approve it again."},
	{DecisionOutdated, Critical, false, "A new decision does not name the base's newest trust version.", "Merge the base, then decide again."},
	{DecisionOvertaken, Critical, false, "A signature was added to a decision that a later one had overtaken.", "Remove the signature, and decide again."},
	{SerialLowered, Critical, false, "An item's newest decision is an older one than on the base.", "Merge the base, and restore the item's decision in the lockfile."},
	{ProposerMissing, Critical, false, "A decision does not name a person who brought the text in.", "Decide again: the tool finds the proposers."},
	{GradeUnderstated, Critical, false, "A decision records a lower grade than the change has.", "Decide again: the tool grades the change."},
	{SealMissing, Critical, false, "There is no seal where one is required.", "Make one with `agentgateway seal`."},
	{SealInvalid, Critical, false, "A seal is malformed, or its signature does not fit what it is over.", "Do not use the lockfile; have a deployer seal it again with `agentgateway seal`."},
	{SealSigner, Critical, false, "A seal was made by someone who is not a listed deployer, or under another identity.", "Have a deployer seal the lockfile, or list the signer with `agentgateway trust add --role deployer`."},
	{SealMismatch, Critical, false, "A seal was made for another lockfile, trust version or tag name.", "Seal the lockfile as it is now with `agentgateway seal`."},
	{HeadLost, Critical, false, "The head that was recorded is not in the history.", "Find out who rewrote the branch, and restore it."},
	{CommitInvalid, Critical, false, "A commit has a form that git does not write and that two readers can understand differently.", "Leave the commit out of the history."},
	{CommitUnsigned, Critical, false, "A commit that adds decisions or trust versions is not signed by a listed key, as the rule requireSignedCommits asks.", "Make the commit again with `agentgateway approve`, or end the rule."},
	{DecisionChanged, Critical, false, "The file of a decision or of a trust version lost a signature or says something else.", "Restore the file with git."},
	{CheckpointInvalid, Critical, false, "The checkpoint of the trust list does not fit the history.", "Make one that fits: `agentgateway trust checkpoint --commit C --reason TEXT`."},
}

// Codes returns every code with its description, in the order of docs/codes.md.
func Codes() []Description { return codes }

// Lookup returns the description of a code. A code without one is a programming
// error that the tests find; its grade is then critical, to fail closed.
func Lookup(code Code) Description {
	for _, info := range codes {
		if info.Code == code {
			return info
		}
	}
	return Description{Code: code, Grade: Critical}
}
