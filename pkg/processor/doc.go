// Package processor says what an agent may see and call: of a policy made of what
// people approved, evidence of what the servers showed, and a message between them
// it makes a verdict. It has no clock, network, file or wire format of its own:
// pkg/serve puts it behind the gateway.
//
// # Policy
//
// A [Policy] is compiled once from an [Input], which is plain data: servers, the
// digest in force of each of their items, and options. It never changes.
// [Processor.SetPolicy] puts another in its place at once; a verdict is made by one
// policy from start to end. What is remembered of verdicts is
// part of the policy value and goes with it.
//
// # Evidence
//
// What the processor has itself seen a server list is kept as digests, never as
// verdicts, apart from the policy: by scope (the gateway's service, and the text
// "scope" of the hook's metadata where there is one) and by origin (listings that
// passed the gateway, and the processor's own probes). A call is allowed only
// where evidence shows the digest in force:
//
//   - The newest gateway listing of the scope that showed the item counts; a
//     probe only where there was none since the start.
//   - A contradiction is cleared only by a later listing of the same scope and
//     origin. A probe can deny, and renews the age of what it agrees with, but
//     clears nothing.
//   - An item that a listing does not show keeps its evidence: a short list is
//     not a removal.
//   - Evidence older than [Options].MaxEvidenceAge does not count.
//   - An item that showed more than 20 digests that were not in force is barred
//     until the policy changes.
//
// Memory is bounded whatever servers send. What had to be forgotten is denied
// until it is listed again.
//
// # Verdicts
//
// [Processor.Judge] takes a [Message], a request or a result, and returns a
// [Verdict]: it passes, it passes with another body, or it is denied. Everything is
// denied that is not known to be allowed: [Denials] lists the codes. A panic is a
// denial, too. Bodies are read strictly, with case-sensitive member names, by
// pkg/canonical. No verdict waits on disk, the network or a reload.
//
// [Hooks] names the methods that there are verdicts about, and when the gateway has
// to ask.
package processor
