// Package serve is the daemon at the gateway: it loads policies, keeps them
// current, and answers the hooks of the agentgateway MCP gateway with the verdicts
// of pkg/processor.
package serve
