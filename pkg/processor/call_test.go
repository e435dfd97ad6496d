package processor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/surface"
)

// probe records what a probe of a server sees.
func (w *world) probe(name string, kind surface.Kind, definitions ...string) {
	w.t.Helper()
	raws := make([][]byte, 0, len(definitions))
	for _, d := range definitions {
		raws = append(raws, []byte(d))
	}
	listed, refused := surface.NewList(kind, raws)
	if !w.p.RecordProbe(name, surface.Surface{Lists: map[surface.Kind]surface.List{kind: listed}, Refused: refused}, w.now) {
		w.t.Fatalf("no server %q to probe", name)
	}
}

func (w *world) list(a ask, definitions ...string) {
	w.t.Helper()
	if _, code := w.response(a, "tools/list", tools(definitions...)); code != "" {
		w.t.Fatalf("the list is denied: %s", code)
	}
}

// An evidence step lists, probes, lets time pass or calls.
type step func(w *world)

func lists(a ask, definitions ...string) step { return func(w *world) { w.list(a, definitions...) } }
func probes(definitions ...string) step {
	return func(w *world) { w.probe("files", surface.KindTool, definitions...) }
}
func passes(d time.Duration) step { return func(w *world) { w.now = w.now.Add(d) } }
func calls(a ask, want processor.Code) step {
	return func(w *world) { w.wantRequest(a, "tools/call", call("echo"), want) }
}

func TestEvidence(t *testing.T) {
	here := from("files")
	alice, bob := here.by("alice"), here.by("bob")
	const day = 24 * time.Hour
	for name, steps := range map[string][]step{
		"a call before any list":                {calls(here, processor.DeniedNoEvidence)},
		"listed":                                {lists(here, echo), calls(here, "")},
		"another was listed":                    {lists(here, add), calls(here, processor.DeniedNoEvidence)},
		"changed":                               {lists(here, echoEvil), calls(here, processor.DeniedEvidenceContradicts)},
		"the newest listing counts":             {lists(here, echo), lists(here, echoEvil), calls(here, processor.DeniedEvidenceContradicts)},
		"the way back":                          {lists(here, echoEvil), lists(here, echo), calls(here, "")},
		"a remembered page counts again":        {lists(here, echo), lists(here, echoEvil), lists(here, echo), calls(here, ""), lists(here, echoEvil), calls(here, processor.DeniedEvidenceContradicts)},
		"a short list is not a removal":         {lists(here, echo, add), lists(here, add), lists(here), calls(here, "")},
		"a short list clears nothing":           {lists(here, echoEvil), lists(here, add), calls(here, processor.DeniedEvidenceContradicts)},
		"twice in a list":                       {lists(here, echo), lists(here, echo, echo), calls(here, processor.DeniedEvidenceContradicts)},
		"unreadable in a list":                  {lists(here, echo), lists(here, `{"name":"echo","a":1,"a":2}`), calls(here, processor.DeniedEvidenceContradicts)},
		"a member the profile does not know":    {lists(here, strings.Replace(echo, "{", `{"x":1,`, 1)), calls(here, processor.DeniedEvidenceContradicts)},
		"another scope":                         {lists(alice, echo), calls(bob, processor.DeniedNoEvidence), calls(here, processor.DeniedNoEvidence), calls(alice, "")},
		"two clients that see different lists":  {lists(alice, echo), lists(bob, echoEvil), calls(alice, ""), calls(bob, processor.DeniedEvidenceContradicts)},
		"probed":                                {probes(echo), calls(here, ""), calls(alice, "")},
		"a probe shows another":                 {probes(echoEvil), calls(here, processor.DeniedEvidenceContradicts)},
		"a probe denies":                        {lists(here, echo), probes(echoEvil), calls(here, processor.DeniedEvidenceContradicts)},
		"a listing does not clear a probe":      {probes(echoEvil), lists(here, echo), calls(here, processor.DeniedEvidenceContradicts)},
		"a later probe clears a probe":          {probes(echoEvil), lists(here, echo), probes(echo), calls(here, "")},
		"a probe does not clear a listing":      {lists(here, echoEvil), probes(echo), calls(here, processor.DeniedEvidenceContradicts)},
		"a cloaking server":                     {probes(echo), lists(here, echoEvil), calls(here, processor.DeniedEvidenceContradicts)},
		"another scope does not clear":          {lists(alice, echoEvil), lists(bob, echo), lists(here, echo), calls(alice, processor.DeniedEvidenceContradicts)},
		"a probe that lists it twice":           {lists(here, echo), probes(echo, echo), calls(here, processor.DeniedEvidenceContradicts)},
		"a probe without it":                    {lists(here, echo), probes(add), calls(here, "")},
		"just recent enough":                    {lists(here, echo), passes(day), calls(here, "")},
		"too old":                               {lists(here, echo), passes(day + 1), calls(here, processor.DeniedEvidenceTooOld)},
		"listed again":                          {lists(here, echo), passes(day + 1), lists(here, echo), calls(here, "")},
		"age counts from what showed it":        {lists(here, echo, add), passes(day / 2), lists(here, add), passes(day), calls(here, processor.DeniedEvidenceTooOld)},
		"a probe renews the age":                {lists(here, echo), passes(day), probes(echo), passes(day), calls(here, ""), passes(1), calls(here, processor.DeniedEvidenceTooOld)},
		"a probe that disagrees renews nothing": {lists(here, echo), passes(day), probes(echoEvil), calls(here, processor.DeniedEvidenceContradicts)},
		"an old probe":                          {probes(echo), passes(day + 1), calls(here, processor.DeniedEvidenceTooOld)},
		"an old contradiction":                  {lists(here, echoEvil), passes(9 * day), calls(here, processor.DeniedEvidenceContradicts)},
		"a remembered page renews the age":      {lists(here, echo), passes(day), lists(here, echo), passes(day), calls(here, "")},
		"a denied list is no evidence": {func(w *world) {
			w.wantDenied(here, "tools/list", `{"tools":[`+echo+`]`, processor.DeniedUnreadable)
		}, calls(here, processor.DeniedNoEvidence)},
		"a reload keeps evidence": {lists(here, echoEvil), calls(here, processor.DeniedEvidenceContradicts), func(w *world) {
			in := files()
			in.ID, in.MaxEvidenceAge = "2", day
			in.Servers[0].Items[0].InForce = canonical.SumString(echoEvil)
			w.load(in)
		}, calls(here, ""), lists(here, echo), calls(here, processor.DeniedEvidenceContradicts)},
	} {
		t.Run(name, func(t *testing.T) {
			in := files()
			in.MaxEvidenceAge = day
			w := newWorld(t, in)
			for _, s := range steps {
				s(w)
			}
		})
	}
	t.Run("no limit of age", func(t *testing.T) {
		w := newWorld(t, files())
		for _, s := range []step{lists(here, echo), passes(1000 * day), calls(here, "")} {
			s(w)
		}
	})
}

func TestTooManyDigests(t *testing.T) {
	w := newWorld(t, files())
	here := from("files")
	for i := range 20 {
		w.list(here, strings.Replace(echo, "Repeats.", fmt.Sprint("Repeats ", i), 1))
		w.list(here.by("x"), strings.Replace(echo, "Repeats.", fmt.Sprint("Repeats ", i), 1))
		w.list(here, echo)
	}
	w.wantRequest(here, "tools/call", call("echo"), "")
	w.probe("files", surface.KindTool, strings.Replace(echo, "Repeats.", "Repeats 20", 1))
	w.probe("files", surface.KindTool, echo)
	w.wantRequest(here, "tools/call", call("echo"), processor.DeniedTooManyDigests)
	in := files()
	in.Deny = []processor.Ref{{Server: "other"}}
	w.load(in)
	w.wantRequest(here, "tools/call", call("echo"), processor.DeniedTooManyDigests)
	in.ID = "2"
	w.load(in)
	w.wantRequest(here, "tools/call", call("echo"), "")
}

// What a server sends in order to push evidence out is denied, and never lets an
// older or weaker evidence count.
func TestEvidenceIsBounded(t *testing.T) {
	here := from("files")
	t.Run("scopes", func(t *testing.T) {
		w := newWorld(t, files())
		first := here.by("first")
		w.probe("files", surface.KindTool, echo)
		w.list(first, echoEvil)
		for i := range 5000 {
			w.list(here.by(fmt.Sprint(i)), echo)
		}
		w.wantRequest(first, "tools/call", call("echo"), processor.DeniedNoEvidence)
		w.wantRequest(here.by("4999"), "tools/call", call("echo"), "")
		w.list(first, echo)
		w.wantRequest(first, "tools/call", call("echo"), "")
	})
	t.Run("names", func(t *testing.T) {
		in := files()
		in.Servers[0].Items = in.Servers[0].Items[1:]
		w := newWorld(t, in)
		var many []string
		for i := range 2000 {
			many = append(many, fmt.Sprintf(`{"name":"n%d"}`, i))
		}
		w.list(here, append(many, echoEvil)...)
		w.probe("files", surface.KindTool, echo)
		w.list(here, add)
		w.wantRequest(here, "tools/call", call("add"), "")
		w.load(files())
		w.wantRequest(here, "tools/call", call("echo"), processor.DeniedNoEvidence)
		w.list(here, echo)
		w.wantRequest(here, "tools/call", call("echo"), "")
	})
}

// A server that is on purpose not covered is denied whole, whatever the policy says
// of kinds that are not covered.
func TestSkippedServer(t *testing.T) {
	in := files()
	in.Uncovered = processor.UncoveredPass
	in.Servers = append(in.Servers, processor.Server{Name: "skipped", SourceApproved: true, Skipped: true})
	w := newWorld(t, in)
	for _, method := range []string{"tools/call", "prompts/get", "resources/read", "ping", "initialize"} {
		w.wantRequest(from("skipped"), method, call("echo"), processor.DeniedSkipped)
	}
	for _, method := range []string{"tools/list", "resources/list", "initialize", "tools/call"} {
		w.wantDenied(from("skipped"), method, tools(echo), processor.DeniedSkipped)
	}
}

func TestCallsOfItems(t *testing.T) {
	here := from("files")
	in := files()
	in.Servers = append(in.Servers, server("paused", approved(surface.KindTool, echo)), server("unsettled", approved(surface.KindTool, echo)))
	in.Servers[1].Paused = true
	in.Servers[2].SourceApproved = false
	for name, state := range map[string]processor.State{
		"new": processor.StateNew, "rejected": processor.StateRejected, "disabled": processor.StateDisabled,
		"refused": processor.StateRefused, "absent": processor.StateAbsent, "conflict": processor.StateConflict,
	} {
		it := approved(surface.KindTool, `{"name":"`+name+`"}`)
		it.State = state
		in.Servers[0].Items = append(in.Servers[0].Items, it)
	}
	noDigest := approved(surface.KindTool, `{"name":"no-digest"}`)
	noDigest.InForce = canonical.Digest{}
	stopped := approved(surface.KindTool, `{"name":"stopped"}`)
	in.Servers[0].Items = append(in.Servers[0].Items, noDigest, stopped)
	in.Deny = []processor.Ref{{Server: "files", Name: "stopped"}, {Server: "files", Kind: surface.KindPrompt, Name: "add"}}
	w := newWorld(t, in)
	all := []string{echo, add}
	for _, name := range []string{"new", "rejected", "disabled", "refused", "absent", "conflict", "no-digest", "stopped"} {
		all = append(all, `{"name":"`+name+`"}`)
	}
	w.wantResponse(here, "tools/list", tools(all...), tools(echo, add))
	w.wantResponse(from("unsettled"), "tools/list", tools(echo), tools(echo))
	w.wantResponse(here, "prompts/list", list("prompts", greet), list("prompts", greet))
	w.wantDenied(from("paused"), "tools/list", tools(echo), processor.DeniedPaused)

	for _, tc := range []struct {
		a              ask
		method, params string
		want           processor.Code
	}{
		{here, "tools/call", call("echo"), ""},
		{here, "tools/call", ` { "arguments" : {"a":[1,{"b":null}]} , "name" : "echo" } `, ""},
		{here, "tools/call", `{"name":"\u0065cho"}`, ""},
		{here, "tools/call", `{"name":"echo","Name":"new"}`, ""},
		{here, "tools/call", call("Echo"), processor.DeniedNotApproved},
		{here, "tools/call", call("files_echo"), processor.DeniedNotApproved},
		{here, "tools/call", call("greet"), processor.DeniedNotApproved},
		{here, "prompts/get", call("greet"), ""},
		{here, "prompts/get", call("echo"), processor.DeniedNotApproved},
		{here, "prompts/get", call("add"), processor.DeniedByFile},
		{here, "tools/call", call("add"), ""},
		{here, "tools/call", call("new"), processor.DeniedNotApproved},
		{here, "tools/call", call("rejected"), processor.DeniedRejected},
		{here, "tools/call", call("disabled"), processor.DeniedDisabled},
		{here, "tools/call", call("refused"), processor.DeniedRefused},
		{here, "tools/call", call("absent"), processor.DeniedAbsent},
		{here, "tools/call", call("conflict"), processor.DeniedConflict},
		{here, "tools/call", call("no-digest"), processor.DeniedNotApproved},
		{here, "tools/call", call("stopped"), processor.DeniedByFile},
		{here, "tools/call", "", processor.DeniedUnreadable},
		{here, "tools/call", `{}`, processor.DeniedUnreadable},
		{here, "tools/call", `{"name":""}`, processor.DeniedUnreadable},
		{here, "tools/call", `{"Name":"echo"}`, processor.DeniedUnreadable},
		{here, "tools/call", `{"name":"echo","name":"new"}`, processor.DeniedUnreadable},
		{here, "tools/call", `{"name":"new","\u006eame":"echo"}`, processor.DeniedUnreadable},
		{here, "tools/call", `{"name":["echo"]}`, processor.DeniedUnreadable},
		{here, "tools/call", `{"name":"echo","arguments":{"a":}}`, processor.DeniedUnreadable},
		{here, "tools/call", `{"name":"echo"}{"name":"new"}`, processor.DeniedUnreadable},
		{here, "tools/call", `["echo"]`, processor.DeniedUnreadable},
		{here, "tools/call", "{\"name\":\"echo\",\"arguments\":\"\xff\"}", processor.DeniedUnreadable},
		{from("files", "unsettled"), "tools/call", call("echo"), processor.DeniedUnreadable},
		{from(), "tools/call", call("echo"), processor.DeniedUnknownServer},
		{from("other"), "tools/call", call("echo"), processor.DeniedUnknownServer},
		{from("paused"), "tools/call", call("echo"), processor.DeniedPaused},
		{from("unsettled"), "tools/call", call("echo"), processor.DeniedSource},
		{here, "ping", "", ""},
		{here, "logging/setLevel", "", ""},
		{here, "subscriptions/listen", "", ""},
		{here, "tools/list", "", ""},
		{here, "initialize", "", ""},
		{from("paused"), "ping", "", processor.DeniedPaused},
		{from("other"), "initialize", "", processor.DeniedUnknownServer},
		{here, "tools/Call", call("echo"), processor.DeniedUnknownMethod},
		{here, "sampling/createMessage", "", processor.DeniedUnknownMethod},
		{here, "", "", processor.DeniedUnknownMethod},
	} {
		w.wantRequest(tc.a, tc.method, tc.params, tc.want)
	}
	for _, method := range []string{"tools/call", "prompts/get", "resources/read", "completion/complete", "tasks/get", "tasks/update", "tasks/cancel", "resources/subscribe", "resources/unsubscribe", "ping"} {
		w.wantResponse(here, method, `{}`, `{}`)
		w.wantDenied(from("paused"), method, `{"content":[]}`, processor.DeniedPaused)
		w.wantDenied(from("other"), method, `{"content":[]}`, processor.DeniedUnknownServer)
	}
	w.wantDenied(here, "other", `{}`, processor.DeniedUnknownMethod)
}

func TestKillSwitch(t *testing.T) {
	in := files()
	in.Deny = []processor.Ref{{Server: "files"}}
	w := newWorld(t, in)
	w.wantRequest(from("files"), "tools/call", call("echo"), processor.DeniedByFile)
	w.wantDenied(from("files"), "tools/list", tools(echo), processor.DeniedByFile)
}

func TestResources(t *testing.T) {
	template := func(uri string, state processor.State) processor.Item {
		it := approved(surface.KindResourceTemplate, `{"name":"t","uriTemplate":"`+uri+`"}`)
		it.State = state
		return it
	}
	secret := approved(surface.KindResource, `{"name":"s","uri":"mock://notes/secret"}`)
	secret.State = processor.StateRejected
	stale := approved(surface.KindResource, `{"name":"s","uri":"mock://notes/stale"}`)
	in := processor.Input{Servers: []processor.Server{server("files", approved(surface.KindResource, readme), secret, stale,
		template("mock://notes/{id}", processor.StateApproved), template("mock://tree/{+path}/end", processor.StateApproved),
		template("mock://q/find{?a,b}", processor.StateApproved), template("mock://unlisted/{id}", processor.StateApproved),
		template("mock://new/{id}", processor.StateNew), template("{+anything}", processor.StateApproved),
		template("https://{host}/x", processor.StateApproved), template("https://example.com{+rest}", processor.StateApproved),
		template("note:{id}", processor.StateApproved), template("mock://bad/{", processor.StateApproved),
		template("mock://stopped/{id}", processor.StateApproved),
	)}}
	in.Deny = []processor.Ref{{Server: "files", Name: "mock://stopped/{id}"}}
	w := newWorld(t, in)
	here := from("files")
	var listed []string
	for _, it := range in.Servers[0].Items {
		if it.Kind == surface.KindResourceTemplate && it.Name != "mock://unlisted/{id}" {
			listed = append(listed, `{"name":"t","uriTemplate":"`+it.Name+`"}`)
		}
	}
	w.response(here, "resources/templates/list", list("resourceTemplates", listed...))
	w.response(here, "resources/list", list("resources", readme, `{"name":"d","uri":"mock://notes/dropped"}`))
	for uri, want := range map[string]processor.Code{
		"mock://readme":             "",
		"mock://notes/7":            "",
		"mock://notes/a%20b":        "",
		"mock://notes/":             "",
		"mock://notes/secret":       processor.DeniedRejected,
		"mock://notes/stale":        processor.DeniedNoEvidence,
		"mock://notes/dropped":      processor.DeniedNotApproved,
		"mock://notes/a/b":          processor.DeniedTemplateOpen, // {+anything} expands to it
		"mock://notes/..":           processor.DeniedTemplateOpen,
		"mock://notes/%2E%2e":       processor.DeniedTemplateOpen,
		"mock://notes/..%2Fx":       processor.DeniedTemplateOpen,
		"mock://notes/..%5cx":       processor.DeniedTemplateOpen,
		"mock://tree/a/b/end":       "",
		"mock://tree/a/../../x/end": processor.DeniedTemplateOpen,
		"mock://q/find":             "",
		"mock://q/find?a=1&b=2":     "",
		"mock://unlisted/1":         processor.DeniedNoEvidence,
		"mock://new/1":              processor.DeniedTemplateOpen,
		"mock://stopped/1":          processor.DeniedByFile,
		"https://evil.example/x":    processor.DeniedTemplateOpen,
		"https://example.com.evil/": processor.DeniedTemplateOpen,
		"note:1":                    processor.DeniedTemplateOpen,
		"mock://notes/ü":            processor.DeniedNotApproved,
		"mock://notes/a b":          processor.DeniedNotApproved,
		"":                          processor.DeniedUnreadable,
	} {
		w.wantRequest(here, "resources/read", `{"uri":"`+uri+`"}`, want)
	}
	w.wantRequest(here, "resources/read", `{"uri":"mock://notes/`+strings.Repeat("a", 9000)+`"}`, processor.DeniedNotApproved)

	in.Servers[0].Items = in.Servers[0].Items[:8]
	w = newWorld(t, in)
	w.wantRequest(here, "resources/read", `{"uri":"mock://new/1"}`, processor.DeniedTemplate)
	w.wantRequest(here, "resources/read", `{"uri":"mock://unlisted/1"}`, processor.DeniedNoEvidence)
	w.wantRequest(here, "resources/read", `{"uri":"file:///etc/passwd"}`, processor.DeniedNotApproved)
}

// The decision about a call allocates nothing but a denial.
func TestCallAllocatesNothing(t *testing.T) {
	policy, err := processor.NewPolicy(files())
	if err != nil {
		t.Fatal(err)
	}
	p := processor.New()
	p.SetPolicy(policy)
	if v := judged(p, processor.PhaseResponse, "tools/list", tools(echo)); v.Denied() || v.Body != nil {
		t.Fatal(v)
	}
	m := from("files").message(processor.PhaseRequest, "tools/call", call("echo"))
	m.At = start
	if n := testing.AllocsPerRun(1000, func() {
		if v := p.Judge(m); v.Denied() {
			t.Error(v)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a call", n)
	}
}

func TestNoPolicy(t *testing.T) {
	p := processor.New()
	if v := judged(p, processor.PhaseRequest, "ping", ""); v.Code != processor.DeniedNoPolicy || !v.Denied() {
		t.Errorf("%+v", v)
	}
	if p.RecordProbe("files", surface.Surface{}, start) {
		t.Error("a probe was recorded without a policy")
	}
}

// A denial tells a person and a program what happened, whatever the name holds.
func TestDenialText(t *testing.T) {
	w := newWorld(t, files())
	w.list(from("files"), echoEvil)
	v := judged(w.p, processor.PhaseRequest, "tools/call", call("echo"))
	approved, seen := canonical.SumString(echo).String(), canonical.SumString(echoEvil).String()
	const action = "Compare the two with `agentgateway diff`; a later listing that shows the approved one clears this."
	if want := `{"code":"evidence-contradicts","server":"files","kind":"tool","name":"echo","approved":"` + approved + `","seen":"` + seen + `","hint":"` + action + `","id":"` + v.ID + `"}`; string(v.Data()) != want {
		t.Errorf("data\n have %s\n want %s", v.Data(), want)
	}
	for _, want := range []string{`tool "echo" of the server "files"`, approved, seen} {
		if !strings.Contains(v.Reason(), want) {
			t.Errorf("the reason does not name %s: %s", want, v.Reason())
		}
	}
	v = judged(w.p, processor.PhaseRequest, "tools/call", `{"name":"x\u001b[2J\u202e`+strings.Repeat("y", 10_000)+`"}`)
	if reason := v.Reason(); strings.ContainsAny(reason, "\x1b\u202e") || len(reason) > 1000 {
		t.Errorf("a name is shown as it came: %q", reason)
	}
}

func TestDenialsAreDescribed(t *testing.T) {
	seen := map[processor.Code]bool{}
	for _, d := range processor.Denials() {
		if d.Code == "" || d.Meaning == "" || d.Action == "" || seen[d.Code] {
			t.Errorf("%+v", d)
		}
		seen[d.Code] = true
	}
}

func TestEvidenceState(t *testing.T) {
	in := files()
	in.Servers = append(in.Servers, server("web"))
	w := newWorld(t, in)
	w.list(from("files").by("a"), echo)
	w.now = w.now.Add(time.Minute)
	w.list(from("files"), echo, add)
	w.now = w.now.Add(time.Minute)
	w.probe("files", surface.KindTool, echo)
	want := []processor.EvidenceState{
		{Server: "files", Scopes: 2, Entries: 4, Listed: start.Add(time.Minute), Probed: start.Add(2 * time.Minute)}, {Server: "web"},
	}
	if diff := cmp.Diff(want, w.p.Evidence()); diff != "" {
		t.Error(diff)
	}
}

// A list whose hook began earlier does not overtake one that began later.
func TestHooksThatEndOutOfOrder(t *testing.T) {
	w := newWorld(t, files())
	here := from("files")
	w.now = start.Add(time.Second)
	w.list(here, echoEvil)
	w.now = start
	w.list(here, echo)
	w.wantRequest(here, "tools/call", call("echo"), processor.DeniedEvidenceContradicts)
	w.now = start.Add(2 * time.Second)
	w.list(here, echo)
	w.wantRequest(here, "tools/call", call("echo"), "")
}
