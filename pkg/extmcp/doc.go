// Package extmcp is the wire between the agentgateway MCP gateway and an
// external processor: the ExtMCP gRPC service, as Go types and stubs.
//
// # The protocol
//
// The gateway calls the processor for each MCP method that its configuration
// names, in the phases that it names:
//
//   - CheckRequest before an upstream sees a request. Its mcp_request holds the
//     params, without _meta; for methods that go to every target (the lists,
//     initialize, server/discover, ping) it is absent.
//   - CheckResponse before the client sees a result. Its mcp_response holds the
//     result. It carries no request id, params or headers.
//
// The answer is one of pass, mutated (new JSON text) and error. An answer
// without any of them violates the protocol, and is handled as an outage is: the
// gateway refuses the message unless the processor is configured failOpen.
// Therefore a processor denies with an error in the answer and never with a gRPC
// status.
//
// # The files
//
// ext_mcp.proto is the source; ext_mcp.pb.go and ext_mcp_grpc.pb.go are made
// from it by the program in internal/gen, which needs no protoc: go generate
// writes them, and a test of that program holds that they are current.
//
// [NewServer] gives a gRPC server with this service, the standard health service
// and reflection, and a receive limit that large merged lists fit into.
package extmcp

//go:generate go run ./internal/gen
