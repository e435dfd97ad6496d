package processor_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/surface"
)

func TestObserveMode(t *testing.T) {
	in := files()
	in.Mode = processor.Observe
	in.Servers = append(in.Servers, server("paused"))
	in.Servers[1].Paused = true
	w := newWorld(t, in)
	evil := tools(echoEvil, add)
	w.wantResponse(from("files"), "tools/list", evil, evil)
	if d := w.last(); d.Enforced || len(d.Removed) != 1 || d.Removed[0].Code != processor.DeniedChanged {
		t.Errorf("the removal is not reported: %+v", d)
	}
	w.wantRequest(from("files"), "tools/call", call("echo"), "")
	if d := w.last(); d.Enforced || d.Code != processor.DeniedEvidenceContradicts {
		t.Errorf("the denial is not reported: %+v", d)
	}
	w.wantResponse(from("files"), "tools/list", "nonsense", "nonsense")
	w.wantResponse(from("files"), "initialize", initialized("x"), initialized("x"))
	w.wantRequest(from("paused"), "tools/call", call("echo"), "")
	w.wantRequest(from("unknown"), "other", "", "")
	w.list(from("files"), echo)
	in.Mode = processor.Enforce
	w.load(in)
	w.wantRequest(from("files"), "tools/call", call("echo"), "")
}

func TestVerdictsAreReported(t *testing.T) {
	w := newWorld(t, files())
	a := from("files").by("alice")
	w.list(a, echo)
	w.wantRequest(a, "tools/call", call("echo"), "")
	digest := canonical.SumString(echo)
	want := processor.Verdict{
		At: start, Phase: processor.PhaseRequest, Method: "tools/call", Targets: []string{"files"}, Scope: "alice", Server: "files",
		Kind: surface.KindTool, Name: "echo", Approved: digest, Seen: digest, Enforced: true,
	}
	if diff := cmp.Diff(want, w.last()); diff != "" {
		t.Error(diff)
	}
}

func TestPolicyIsTakenAway(t *testing.T) {
	w := newWorld(t, files())
	w.wantRequest(from("files"), "ping", "", "")
	w.p.SetPolicy(nil)
	w.wantRequest(from("files"), "ping", "", processor.DeniedNoPolicy)
	w.wantDenied(from("files"), "tools/list", tools(), processor.DeniedNoPolicy)
}

func TestNewPolicyRefuses(t *testing.T) {
	echoTool := approved(surface.KindTool, echo)
	for name, tc := range map[string]struct {
		change func(in *processor.Input)
		says   string
	}{
		"one name twice": {func(in *processor.Input) { in.Servers = append(in.Servers, server("files")) }, "is there twice"},
		"one target twice": {func(in *processor.Input) {
			in.Servers = append(in.Servers, processor.Server{Name: "x", Target: "files"})
		}, "one target"},
		"an item twice":      {func(in *processor.Input) { in.Servers[0].Items = append(in.Servers[0].Items, echoTool) }, "is there twice"},
		"no kind":            {func(in *processor.Input) { in.Servers[0].Items[0].Kind = "source" }, "no kind"},
		"no state":           {func(in *processor.Input) { in.Servers[0].Items[0].State = "" }, "no state"},
		"instructions state": {func(in *processor.Input) { in.Servers[0].Instructions = &processor.Instructions{State: "x"} }, "no state"},
		"no name":            {func(in *processor.Input) { in.Servers[0].Name = "" }, "no name"},
		"uncovered":          {func(in *processor.Input) { in.Uncovered = "allow" }, "not covered"},
		"mode":               {func(in *processor.Input) { in.Mode = "off" }, "mode"},
		"names":              {func(in *processor.Input) { in.Names = "any" }, "names"},
		"age":                {func(in *processor.Input) { in.MaxEvidenceAge = -1 }, "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			in := files()
			tc.change(&in)
			if _, err := processor.NewPolicy(in); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v, want one about %q", err, tc.says)
			}
		})
	}
}

// Listings, calls, probes and reloads at once: nothing but what one of the
// policies allows passes.
func TestConcurrentUse(t *testing.T) {
	p := processor.New()
	first, second := files(), files()
	second.ID, second.Servers[0].Items = "2", second.Servers[0].Items[1:]
	load := func(in processor.Input) {
		policy, err := processor.NewPolicy(in)
		if err != nil {
			t.Error(err)
			return
		}
		p.SetPolicy(policy)
	}
	load(first)
	done := make(chan struct{})
	var clients, reloader sync.WaitGroup
	reloader.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				load([]processor.Input{first, second}[i%2])
				p.RecordProbe("files", surface.Surface{}, time.Now())
			}
		}
	})
	for range 8 {
		clients.Go(func() {
			pages := []string{tools(echo, add), tools(echoEvil, add)}
			for i := range 300 {
				v := judged(p, processor.PhaseResponse, "tools/list", pages[i%2])
				switch body := string(v.Body); {
				case !v.Denied() && (body == "" && i%2 == 0 || body == tools(add)):
				default:
					t.Errorf("the list is %+v", v)
				}
				for _, name := range []string{"echo", "add"} {
					judged(p, processor.PhaseRequest, "tools/call", call(name))
				}
			}
		})
	}
	clients.Wait()
	close(done)
	reloader.Wait()
}
