package processor_test

import (
	"context"
	"fmt"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/surface"
)

// A processor in front of one server with one approved tool. The server's list is
// the evidence that its call needs.
func Example() {
	const definition = `{"description":"Repeats.","inputSchema":{"type":"object"},"name":"echo"}`
	policy, err := processor.NewPolicy(processor.Input{Servers: []processor.Server{{
		Name: "files", SourceApproved: true, Covers: []string{"tools"},
		Items: []processor.Item{{
			Kind: surface.KindTool, Name: "echo", State: processor.StateApproved, InForce: canonical.SumString(definition),
		}},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := processor.New(processor.Config{})
	p.SetPolicy(policy)

	call := func() {
		answer, _ := p.CheckRequest(context.Background(), &extmcp.McpRequest{
			ServiceNames: []string{"files"}, Method: "tools/call", McpRequest: []byte(`{"name":"echo","arguments":{}}`),
		})
		fmt.Println(answer.GetPass() != nil, answer.GetError().GetReason())
	}
	call()
	list, _ := p.CheckResponse(context.Background(), &extmcp.McpResponse{
		ServiceNames: []string{"files"}, Method: "tools/list", McpResponse: []byte(`{"tools":[` + definition + `,{"name":"new"}]}`),
	})
	fmt.Println(string(list.GetMutated()))
	call()
	// Output:
	// false tool "echo" of the server "files" is denied (no-evidence). The processor has not seen the server list it since it started. Approved is the digest fbb842820d6f25dff5405db1479d4a93ed29e840c79d395471b5732357cb0725.
	// {"tools":[{"description":"Repeats.","inputSchema":{"type":"object"},"name":"echo"}]}
	// true
}
