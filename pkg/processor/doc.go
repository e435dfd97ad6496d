// Package processor decides what an agent sees and may call. It is the core of
// an ExtMCP processor: a policy made of what people approved, evidence of what
// the servers showed, and the hooks of the gateway that are answered from both.
//
// # Policy
//
// A [Policy] is compiled once from an [Input], which is plain data: servers, the
// digest in force of each of their items, and options. It never changes.
// [Processor.SetPolicy] puts another in its place at once; a hook takes the
// policy at its start and uses it to its end. What is remembered of verdicts is
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
// # Hooks
//
// [Processor] implements the ExtMCP service. Everything is denied that is not
// known to be allowed: [Denials] lists the codes. A denial is an ExtMCP error and
// never a gRPC status, which the gateway takes for an outage; a panic becomes a
// denial, too. Bodies are read strictly, with case-sensitive member names, by
// pkg/canonical. No hook waits on disk, the network or a reload.
//
// # Running
//
// A [Daemon] is a processor with everything around it. A [Loader] reads a [Source]
// (a tag, a branch or a bundle) and verifies trust chain, seal and decisions; a
// [Refresher] does that again and again and puts what verified in force, unless it
// is older than the [Floor]: lacks a decision, a signature or a trust version that
// was in force before, also before a restart. A [Prober] lists servers by itself,
// a [DecisionLog] and [Metrics] tell what was decided.
package processor
