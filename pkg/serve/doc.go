// Package serve is the daemon at the gateway: it answers the hooks of the
// agentgateway MCP gateway with the verdicts of pkg/processor.
//
// A [Loader] reads an [Origin] (a tag, a branch, commits of a clone, or a bundle)
// and verifies trust chain, seal and decisions. A [Refresher] does that again and
// again and puts what verified in force, unless it is older than the [Floor]: lacks
// a decision, a signature or a trust version that was in force before, also before a
// restart. A [Prober] lists servers by itself, which is evidence that can deny.
//
// A [Daemon] is all of that with the gRPC server that the gateway asks, the admin
// server, the verdict log and the metrics. docs/operations.md is written for whoever
// runs it.
package serve
