package project

import (
	"agentgateway-lock/pkg/crawl"
	"agentgateway-lock/pkg/source"
)

// A Step is what happens to one server of a run, for people who wait.
type Step struct {
	Server string
	State  StepState
	// Text is, of StepWaiting, what will happen, as in "starting COMMAND"; of StepFailed,
	// why; else empty. It is not escaped.
	Text string
	// Of is how many servers the run lists.
	Of int
}

// StepState is how far a server is.
type StepState string

// The steps, in the order of a listing that goes well.
const (
	StepWaiting  StepState = "waiting"
	StepStarting StepState = "starting"
	StepListing  StepState = "listing"
	StepDone     StepState = "listed"
	StepFailed   StepState = "failed"
)

// stepOf are the steps that events of a listing tell. What a server says on its
// standard error is shown where it fails, with the failure.
var stepOf = map[crawl.EventKind]StepState{
	crawl.EventStart: StepStarting, crawl.EventContact: StepStarting, crawl.EventList: StepListing,
	crawl.EventDone: StepDone, crawl.EventFail: StepFailed,
}

// announce tells what will be started and contacted.
func (p *Project) announce(subjects []*subject) {
	for _, s := range subjects {
		p.step(Step{Server: s.name, State: StepWaiting, Text: verbOf(s.source) + " " + source.Describe(s.source), Of: len(subjects)})
	}
}

// follow returns what tells the steps of a listing of n servers.
func (p *Project) follow(n int) func(crawl.Event) {
	return func(e crawl.Event) {
		state, ok := stepOf[e.Kind]
		if !ok {
			return
		}
		step := Step{Server: e.Server, State: state, Of: n}
		if state == StepFailed {
			step.Text = e.Text
		}
		p.step(step)
	}
}

func (p *Project) step(s Step) {
	if p.Env.Progress != nil {
		p.Env.Progress(s)
	}
}
