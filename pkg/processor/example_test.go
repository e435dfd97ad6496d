package processor_test

import (
	"fmt"
	"time"

	"agentgateway-lock/pkg/canonical"
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
	p := processor.New()
	p.SetPolicy(policy)

	call := func() {
		v := p.Judge(&processor.Message{
			At: time.Now(), Phase: processor.PhaseRequest, Targets: []string{"files"}, Method: "tools/call", Body: []byte(`{"name":"echo","arguments":{}}`),
		})
		if v.Denied() {
			fmt.Println("denied:", v.Code)
			return
		}
		fmt.Println("the call passes")
	}
	call()
	list := p.Judge(&processor.Message{
		At: time.Now(), Phase: processor.PhaseResponse, Targets: []string{"files"}, Method: "tools/list", Body: []byte(`{"tools":[` + definition + `,{"name":"new"}]}`),
	})
	fmt.Println(string(list.Body))
	call()
	// Output:
	// denied: no-evidence
	// {"tools":[{"description":"Repeats.","inputSchema":{"type":"object"},"name":"echo"}]}
	// the call passes
}
