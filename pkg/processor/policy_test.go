package processor_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/lockfile"
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

func TestDecisionsAreReported(t *testing.T) {
	w := newWorld(t, files())
	a := from("files").with("scope", "alice")
	w.list(a, echo)
	w.wantRequest(a, "tools/call", call("echo"), "")
	digest := canonical.SumString(echo)
	want := processor.Decision{
		At: start, Phase: processor.PhaseRequest, Method: "tools/call", Services: []string{"files"}, Scope: "alice", Server: "files",
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
		"one name twice": {func(in *processor.Input) { in.Servers = append(in.Servers, server("files")) }, "stands twice"},
		"one target twice": {func(in *processor.Input) {
			in.Servers = append(in.Servers, processor.Server{Name: "x", Target: "files"})
		}, "one target"},
		"an item twice":      {func(in *processor.Input) { in.Servers[0].Items = append(in.Servers[0].Items, echoTool) }, "stands twice"},
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

func lockedTool(t *testing.T, text string) lockfile.Item {
	t.Helper()
	d, err := surface.Read(surface.KindTool, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return lockfile.Item{Name: d.Name, Tool: d.Tool, Digest: d.Digest, GatewayDigest: d.GatewayDigest}
}

func TestFromLockfile(t *testing.T) {
	extra := `{"description":"Adds.","inputSchema":{"type":"object"},"name":"add","x-vendor":1}`
	gone := lockedTool(t, `{"name":"gone"}`)
	gone.Absent = true
	file := &lockfile.File{}
	file.Put(&lockfile.Server{
		Name: "files", Target: "files-prod", Source: &lockfile.Source{Transport: lockfile.HTTP, URL: "https://example.com"},
		Covers: []string{"instructions", "tools"}, Instructions: &lockfile.Instructions{Hash: canonical.SumString("Hi.")},
		Lists:   map[surface.Kind][]lockfile.Item{surface.KindTool: {lockedTool(t, extra), lockedTool(t, echo), gone}},
		Refused: []surface.Refused{{Kind: surface.KindTool, Name: "bad", Rule: canonical.RuleNumber}, {Kind: surface.KindTool, Name: "bad"}, {Kind: surface.KindTool}},
	})
	file.Put(&lockfile.Server{Name: "old", Absent: true})
	copies := func(_ string, kind surface.Kind, name string) []byte {
		switch {
		case kind == surface.KindInstructions:
			return []byte("Hi.")
		case name == "echo":
			return []byte(echo)
		}
		return nil
	}
	in, err := processor.FromLockfile(file, copies)
	if err != nil {
		t.Fatal(err)
	}
	digest := func(text string) canonical.Digest { return canonical.SumString(text) }
	want := processor.Input{Servers: []processor.Server{{
		Name: "files", Target: "files-prod", SourceApproved: true, Covers: []string{"instructions", "tools"}, Instructions: instructions("Hi."),
		Items: []processor.Item{
			{Kind: surface.KindTool, Name: "bad", State: processor.StateRefused},
			{Kind: surface.KindTool, Name: "add", State: processor.StateApproved, InForce: digest(add), Locked: digest(add)},
			{Kind: surface.KindTool, Name: "echo", State: processor.StateApproved, InForce: digest(echo), Locked: digest(echo)},
			{Kind: surface.KindTool, Name: "gone", State: processor.StateAbsent},
		},
	}}}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Fatal(diff)
	}
	w := newWorld(t, in)
	w.wantResponse(from("files-prod"), "tools/list", tools(echo, add, `{"name":"gone"}`, `{"name":"bad"}`), tools(echo, add))
	w.wantRequest(from("files-prod"), "tools/call", call("gone"), processor.DeniedAbsent)
	w.wantRequest(from("old"), "tools/call", call("echo"), processor.DeniedUnknownServer)
}

func TestFromLockfileRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(s *lockfile.Server, file *lockfile.File)
		copies string
		says   string
	}{
		"no digest": {func(s *lockfile.Server, _ *lockfile.File) { s.Lists[surface.KindTool][0].Digest = canonical.Digest{} }, "", "needs digests"},
		"no gateway digest": {func(s *lockfile.Server, _ *lockfile.File) {
			s.Lists[surface.KindTool][0].GatewayDigest = canonical.Digest{}
		}, "", "needs digests"},
		"one target": {func(_ *lockfile.Server, f *lockfile.File) {
			f.Put(&lockfile.Server{Name: "x", Target: "files"})
		}, "", "one target"},
		"another copy":       {func(*lockfile.Server, *lockfile.File) {}, echoEvil, "locked digests"},
		"a broken copy":      {func(*lockfile.Server, *lockfile.File) {}, "{", "cannot be read"},
		"other gateway hash": {func(s *lockfile.Server, _ *lockfile.File) { s.Lists[surface.KindTool][0].GatewayDigest[0]++ }, echo, "locked digests"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &lockfile.Server{Name: "files", Covers: []string{"tools"}, Lists: map[surface.Kind][]lockfile.Item{surface.KindTool: {lockedTool(t, echo)}}}
			file := &lockfile.File{}
			file.Put(s)
			tc.change(s, file)
			_, err := processor.FromLockfile(file, func(string, surface.Kind, string) []byte {
				if tc.copies == "" {
					return nil
				}
				return []byte(tc.copies)
			})
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v, want one about %q", err, tc.says)
			}
		})
	}
}

// Listings, calls, probes and reloads at once: nothing but what one of the
// policies allows passes.
func TestConcurrentUse(t *testing.T) {
	p := processor.New(processor.Config{})
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
				out, _ := p.CheckResponse(context.Background(), &extmcp.McpResponse{ServiceNames: []string{"files"}, Method: "tools/list", McpResponse: []byte(pages[i%2])})
				switch body := string(out.GetMutated()); {
				case out.GetPass() != nil && i%2 == 0, body == tools(add):
				default:
					t.Errorf("the list is %v", out)
				}
				for _, name := range []string{"echo", "add"} {
					_, _ = p.CheckRequest(context.Background(), &extmcp.McpRequest{ServiceNames: []string{"files"}, Method: "tools/call", McpRequest: []byte(call(name))})
				}
			}
		})
	}
	clients.Wait()
	close(done)
	reloader.Wait()
}
