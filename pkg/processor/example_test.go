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
			fmt.Println(v.Reason())
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
	// tool "echo" of the server "files" is denied (no-evidence). The processor has not seen the server list it since it started. Approved is the digest fbb842820d6f25dff5405db1479d4a93ed29e840c79d395471b5732357cb0725.
	// {"tools":[{"description":"Repeats.","inputSchema":{"type":"object"},"name":"echo"}]}
	// the call passes
}
