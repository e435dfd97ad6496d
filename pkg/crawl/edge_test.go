package crawl

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/cmd/mockupstream/upstream"
	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

// The tests below are named after the reports of what real servers do that
// concern listing.

func TestEdge01And02OrderDoesNotCount(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	s.ShuffleTools(true)
	s.ShuffleKeys(true)
	first, second := mustList(t, lister(), endpoint), mustList(t, lister(), endpoint)
	if diff := cmp.Diff(first.Surface, second.Surface); diff != "" {
		t.Error(diff)
	}
	if got, want := names(first, surface.KindTool), []string{"add", "echo", "wipe_database"}; !slices.Equal(got, want) {
		t.Errorf("tools %v, want %v", got, want)
	}
}

func TestEdge03CursorNeverAdvances(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	s.PageSize(1)
	s.RepeatCursor(true)
	_, err := listOnce(t, lister(), endpoint)
	var p *ProtocolError
	if !errors.As(err, &p) || !strings.Contains(p.Detail, "cursor repeats") {
		t.Fatalf("error %v, want a ProtocolError about the cursor", err)
	}
	if n := s.Requests("tools/list"); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestEdge03EndlessPages(t *testing.T) {
	for name, test := range map[string]struct {
		limits Limits
		want   LimitError
	}{
		"pages":       {Limits{Pages: 7}, LimitError{"pages", 7}},
		"definitions": {Limits{Definitions: 9}, LimitError{"definitions", 9}},
		"bytes":       {Limits{Bytes: 8 << 10}, LimitError{"bytes in one listing", 8 << 10}},
	} {
		t.Run(name, func(t *testing.T) {
			s, endpoint := serve(t, upstream.Options{})
			s.EndlessPages(true)
			_, err := listOnce(t, lister(func(o *Options) { o.Limits = test.limits }), endpoint)
			var limit *LimitError
			if !errors.As(err, &limit) || *limit != test.want {
				t.Fatalf("error %v, want %v", err, &test.want)
			}
		})
	}
}

func TestEdge05EveryPageIsRead(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	s.ManyTools(101)
	s.PageSize(50)
	s.HiddenPage(true)
	listing := mustList(t, lister(), endpoint)
	got := names(listing, surface.KindTool)
	if len(got) != 3+101+1 || !slices.Contains(got, "hidden") {
		t.Errorf("%d tools, hidden among them: %v", len(got), slices.Contains(got, "hidden"))
	}
}

// Some servers spell the end of a list as an empty cursor; a client that follows
// it must not see more than was locked.
func TestEdge05EmptyCursor(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	s.Result("tools/list", `{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":""}`)
	if got := names(mustList(t, lister(), endpoint), surface.KindTool); !slices.Equal(got, []string{"a"}) {
		t.Errorf("tools %v, want a alone", got)
	}
	if n := s.Requests("tools/list"); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestEdge08BigDefinitionIsRefusedByItself(t *testing.T) {
	for _, stream := range []bool{false, true} {
		s, endpoint := serve(t, upstream.Options{Stream: stream})
		s.BigTool(canonical.MaxSize + 1)
		listing := mustList(t, lister(), endpoint)
		if len(listing.Surface.Refused) != 1 || listing.Surface.Refused[0].Rule != canonical.RuleSize {
			t.Errorf("stream %v: refused %v", stream, listing.Surface.Refused)
		}
		if n := len(names(listing, surface.KindTool)); n != 3 {
			t.Errorf("stream %v: %d tools, want the other 3", stream, n)
		}
	}
}

func TestEdge07OverTheLimitNothingIsListed(t *testing.T) {
	everyTransport(t, func(t *testing.T, s *upstream.Server, l *Lister, endpoint Endpoint) {
		s.ManyTools(1000)
		l.opts.Limits.Bytes = 32 << 10
		_, err := listOnce(t, l, endpoint)
		var limit *LimitError
		if !errors.As(err, &limit) {
			t.Fatalf("error %v, want a LimitError", err)
		}
	})
}

func TestEdge09ListChangedIsNoReasonToListAgain(t *testing.T) {
	everyTransport(t, func(t *testing.T, s *upstream.Server, l *Lister, endpoint Endpoint) {
		s.NotifyOnList(true)
		mustList(t, l, endpoint)
		if n := s.Requests("tools/list"); n != 1 {
			t.Errorf("%d listings, want 1", n)
		}
	})
}

func TestEdge10EmptyListIsListedOverAFreshConnection(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	s.EmptyFirst(1)
	calls := 0
	job := Job{Endpoint: endpoint, Covers: surface.DefaultCovers(), Differs: func(f surface.Surface) Difference {
		calls++
		if len(f.Lists[surface.KindTool].Definitions) == 0 {
			return Changed
		}
		return Same
	}}
	lister().ListAll(t.Context(), []Job{job}, 0, func(r Result) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		if got := names(r.Listing, surface.KindTool); len(got) != 3 {
			t.Errorf("settled on %v", got)
		}
		var tools []string
		for _, u := range r.Unstable {
			if u.Kind == surface.KindTool {
				tools = append(tools, u.Name)
				if !u.First.IsZero() || u.Second.IsZero() {
					t.Errorf("%v: want no first digest and a second", u)
				}
			}
		}
		if !slices.Equal(tools, []string{"add", "echo", "wipe_database"}) {
			t.Errorf("unstable tools %v", tools)
		}
	})
	if calls != 1 || s.Requests("server/discover") != 2 {
		t.Errorf("%d comparisons, %d connections; want 1 and 2", calls, s.Requests("server/discover"))
	}
}

func TestEdge11TextThatChangesFromListToList(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	s.Flip("echo", "one", "two")
	job := Job{Endpoint: endpoint, Covers: []string{"tools"}, Differs: func(surface.Surface) Difference { return Changed }}
	lister().ListAll(t.Context(), []Job{job}, 0, func(r Result) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		if len(r.Unstable) != 1 || r.Unstable[0].Name != "echo" || r.Unstable[0].First == r.Unstable[0].Second {
			t.Errorf("unstable %v, want echo with two digests", r.Unstable)
		}
		if u := r.Unstable[0]; !strings.Contains(string(u.FirstText), `"one"`) || !strings.Contains(string(u.SecondText), `"two"`) {
			t.Errorf("texts %s and %s", u.FirstText, u.SecondText)
		}
		if d := definition(t, r.Listing, surface.KindTool, "echo"); d.Digest != r.Unstable[0].Second {
			t.Errorf("the listing that counts is not the second")
		}
	})
	if n := s.Requests("server/discover"); n != 2 {
		t.Errorf("%d connections; a change is confirmed by a second", n)
	}
}

func TestUnchangedIsListedOnce(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	job := Job{Endpoint: endpoint, Covers: []string{"tools"}, Differs: func(surface.Surface) Difference { return Same }}
	lister().ListAll(t.Context(), []Job{job}, 0, func(r Result) {
		if r.Err != nil || r.Unstable != nil {
			t.Errorf("%v, %v", r.Err, r.Unstable)
		}
	})
	if n := s.Requests("tools/list"); n != 1 {
		t.Errorf("%d listings, want 1", n)
	}
}

// What is hashed are the exact bytes: no decoder in between may round, repair or
// drop.
func TestEdge12To15And25ExactBytes(t *testing.T) {
	defs := raws(
		`{"name":"big","inputSchema":{"maximum":9223372036854775807},"x-unknown":[1.50,"\u0041\/"]}`,
		`{"name":"rounded","inputSchema":{"maximum":9007199254740993.0}}`,
		`{"name":"infinite","inputSchema":{"maximum":1e999}}`,
		`{"name":"twice","description":"a","description":"b","inputSchema":{}}`,
		`{"name":"surrogate","description":"\ud800","inputSchema":{}}`,
		"{\"name\":\"byte\",\"description\":\"\xff\",\"inputSchema\":{}}",
		`{"name":"replacement","description":"\ufffd","inputSchema":{}}`,
		`{"name":"deep","inputSchema":`+strings.Repeat(`{"a":`, 128)+`1`+strings.Repeat(`}`, 128)+`}`,
	)
	want := []surface.Refused{
		{Kind: surface.KindTool, Name: "byte", Rule: canonical.RuleUnicode, Raw: canonical.Sum(defs[5])},
		{Kind: surface.KindTool, Name: "deep", Rule: canonical.RuleDepth, Raw: canonical.Sum(defs[7])},
		{Kind: surface.KindTool, Name: "infinite", Rule: canonical.RuleNumber, Raw: canonical.Sum(defs[2])},
		{Kind: surface.KindTool, Name: "rounded", Rule: canonical.RuleNumber, Raw: canonical.Sum(defs[1])},
		{Kind: surface.KindTool, Name: "surrogate", Rule: canonical.RuleUnicode, Raw: canonical.Sum(defs[4])},
		{Kind: surface.KindTool, Name: "twice", Rule: canonical.RuleDuplicateKey, Raw: canonical.Sum(defs[3])},
	}
	everyTransport(t, func(t *testing.T, s *upstream.Server, l *Lister, endpoint Endpoint) {
		s.SetToolsRaw(defs)
		checkExact(t, mustList(t, l, endpoint), want)
	})
}

func checkExact(t *testing.T, listing *Listing, want []surface.Refused) {
	t.Helper()
	if diff := cmp.Diff(want, listing.Surface.Refused); diff != "" {
		t.Error(diff)
	}
	if got := names(listing, surface.KindTool); !slices.Equal(got, []string{"big", "replacement"}) {
		t.Errorf("hashed %v", got)
	}
	const big = `{"inputSchema":{"maximum":9223372036854775807},"name":"big","x-unknown":[1.5,"A/"]}`
	if d := definition(t, listing, surface.KindTool, "big"); string(d.Canonical) != big {
		t.Errorf("canonical %s", d.Canonical)
	}
}

func TestEdge18To20NullIsNotAbsent(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	s.SetToolsRaw(raws(
		`{"name":"a","description":null,"inputSchema":{}}`,
		`null`,
		`{"name":"b","inputSchema":null}`,
		`{"name":"c","inputSchema":{"required":null}}`,
		`"text"`,
	))
	listing := mustList(t, lister(), endpoint)
	if got := names(listing, surface.KindTool); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("tools %v", got)
	}
	if n := len(listing.Surface.Refused); n != 2 {
		t.Errorf("%d refused, want null and the text", n)
	}
	const want = `{"description":null,"inputSchema":{},"name":"a"}`
	if d := definition(t, listing, surface.KindTool, "a"); d.Digest != canonical.SumString(want) {
		t.Errorf("the digest is not over %s", want)
	}
}

// What a reader cannot see or a terminal obeys is hashed as it is; escaping is for
// those who show it.
func TestEdge16And17TextIsKept(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	s.SetToolsRaw(raws("{\"name\":\"a\",\"description\":\"x\U000e0041\\u001b[2J\u202e\",\"inputSchema\":{}}"))
	d := definition(t, mustList(t, lister(), endpoint), surface.KindTool, "a")
	if !strings.Contains(string(d.Canonical), "\"x\U000e0041\\u001b[2J\u202e\"") {
		t.Errorf("canonical %q", d.Canonical)
	}
}

func TestEdge22ReferencesAreNotResolved(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	s.SetToolsRaw(raws(
		`{"name":"inlined","inputSchema":{"properties":{"x":{"type":"string"}}}}`,
		`{"name":"referred","inputSchema":{"properties":{"x":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}}`,
	))
	listing := mustList(t, lister(), endpoint)
	a, b := definition(t, listing, surface.KindTool, "inlined"), definition(t, listing, surface.KindTool, "referred")
	if a.Tool.InputSchema == b.Tool.InputSchema {
		t.Error("the two forms share a hash")
	}
}

func TestEdge23DuplicateName(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	if err := s.Duplicate("echo"); err != nil {
		t.Fatal(err)
	}
	s.PageSize(1)
	listing := mustList(t, lister(), endpoint)
	if got := names(listing, surface.KindTool); slices.Contains(got, "echo") {
		t.Errorf("tools %v", got)
	}
	if r := listing.Surface.Refused; len(r) != 2 || r[0].Rule != canonical.RuleDuplicateName {
		t.Errorf("refused %v", r)
	}
}

func TestEdge26AnnotationsThatComeAndGo(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	job := Job{Endpoint: endpoint, Covers: []string{"tools"}, Differs: func(surface.Surface) Difference {
		if err := s.SetAnnotations("echo", `{"readOnlyHint":false}`); err != nil {
			t.Error(err)
		}
		return Changed
	}}
	lister().ListAll(t.Context(), []Job{job}, 0, func(r Result) {
		if r.Err != nil || len(r.Unstable) != 1 || r.Unstable[0].Kind != surface.KindTool || r.Unstable[0].Name != "echo" {
			t.Errorf("%v, unstable %v", r.Err, r.Unstable)
		}
	})
}

// A kind that is offered in one listing only is unstable itself, and so is a
// definition that is refused in one of them.
func TestUnstableKindsAndRefusals(t *testing.T) {
	list := func(raws ...string) surface.Surface {
		parts := make([][]byte, len(raws))
		for i, r := range raws {
			parts[i] = []byte(r)
		}
		l, refused := surface.NewList(surface.KindTool, parts)
		return surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: l}, Refused: refused}
	}
	const a, b = `{"name":"a"}`, `{"name":"a","description":"b"}`
	for name, test := range map[string]struct {
		first, second surface.Surface
		want          []string
	}{
		"the same":             {list(a), list(a), nil},
		"not offered":          {surface.Surface{}, list(), []string{"tool "}},
		"a twin appears":       {list(a), list(a, b), []string{"tool a"}},
		"a twin changes":       {list(a, b), list(a, a), []string{"tool a"}},
		"a null appears":       {list(a), list(a, "null"), []string{"tool "}},
		"instructions appear":  {surface.Surface{}, surface.Surface{Instructions: surface.NewInstructions("")}, []string{"instructions "}},
		"the order is another": {list(a, `{"name":"z"}`, "null"), list("null", `{"name":"z"}`, a), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, u := range compareSurfaces(test.first, test.second) {
				got = append(got, string(u.Kind)+" "+u.Name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("unstable %q, want %q", got, test.want)
			}
		})
	}
}

func TestEdge27And29MembersOfTheResultAreNotHashed(t *testing.T) {
	var first *Listing
	for _, rest := range []string{``, `,"ttlMs":5,"cacheScope":"private"`, `,"_meta":{"at":"12:00"},"resultType":"complete"`} {
		s, endpoint := serve(t, upstream.Options{})
		s.Result("tools/list", `{"tools":[{"name":"a","inputSchema":{}}]`+rest+`}`)
		listing := mustList(t, lister(), endpoint)
		if first == nil {
			first = listing
		}
		if diff := cmp.Diff(first.Surface, listing.Surface); diff != "" {
			t.Errorf("%s: %s", rest, diff)
		}
	}
}

func TestEdge28NoCapabilitiesAreAdvertised(t *testing.T) {
	for _, opts := range []upstream.Options{{}, {NoDiscover: true}} {
		s, endpoint := serve(t, opts)
		seen := make(chan string, 100)
		s.Cloak(func(a upstream.Asker) *upstream.Surface {
			seen <- string(a.Capabilities)
			return nil
		})
		mustList(t, lister(), endpoint)
		close(seen)
		n := 0
		for c := range seen {
			if n++; c != "{}" {
				t.Errorf("capabilities %s, want {}", c)
			}
		}
		if n == 0 {
			t.Error("nothing was asked")
		}
	}
}

func TestEdge29BothEras(t *testing.T) {
	var first *Listing
	for _, test := range []struct {
		name    string
		opts    upstream.Options
		version string
	}{
		{"both", upstream.Options{}, "2026-07-28"},
		{"modern", upstream.Options{NoInitialize: true}, "2026-07-28"},
		{"legacy", upstream.Options{NoDiscover: true, RequireVersionHeader: true}, "2025-11-25"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, endpoint := serve(t, test.opts)
			listing := mustList(t, lister(), endpoint)
			if listing.Version != test.version {
				t.Errorf("version %s, want %s", listing.Version, test.version)
			}
			if first == nil {
				first = listing
			} else if diff := cmp.Diff(first.Surface, listing.Surface); diff != "" {
				t.Error(diff)
			}
			if got := s.Header("tools/list").Get("Mcp-Protocol-Version"); got != test.version {
				t.Errorf("header %q, want %q", got, test.version)
			}
			initialize := 0
			if test.opts.NoDiscover {
				initialize = 1
			}
			if s.Requests("initialize") != initialize || s.Requests("notifications/initialized") != initialize {
				t.Errorf("%d initialize, %d initialized", s.Requests("initialize"), s.Requests("notifications/initialized"))
			}
			if s.Sessions() != 0 {
				t.Errorf("%d sessions were left open", s.Sessions())
			}
		})
	}
}

func TestEdge29UnusableDiscover(t *testing.T) {
	for name, result := range map[string]string{
		"not an object": `[]`, "no versions": `{"capabilities":{}}`,
		"older versions": `{"supportedVersions":["2025-11-25"],"capabilities":{"tools":{}}}`,
		"future version": `{"supportedVersions":["2099-01-01"],"capabilities":{}}`,
		"wrong type":     `{"supportedVersions":"2026-07-28"}`,
	} {
		t.Run(name, func(t *testing.T) {
			s, endpoint := serve(t, upstream.Options{})
			s.Result("server/discover", result)
			if v := mustList(t, lister(), endpoint).Version; v != "2025-11-25" {
				t.Errorf("version %s", v)
			}
		})
	}
}

func TestEdge35AbsentIsNotEmpty(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	s.ListError("prompts/list", -32601, "Method not found")
	s.NotOffered("resources/templates/list")
	s.NotOffered("resources/list")
	s.SetToolsRaw(nil)
	listing := mustList(t, lister(), endpoint)
	if list, ok := listing.Surface.Lists[surface.KindTool]; !ok || list.Definitions == nil || len(list.Definitions) != 0 {
		t.Error("tools are not offered and empty")
	}
	for _, kind := range []surface.Kind{surface.KindPrompt, surface.KindResource, surface.KindResourceTemplate} {
		if _, ok := listing.Surface.Lists[kind]; ok {
			t.Errorf("%s is not absent", kind)
		}
	}
	if s.Requests("resources/list") != 1 {
		t.Error("a list was not asked for because no capability declares it")
	}
}

func TestListErrorFailsTheServer(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	s.ListError("prompts/list", -32603, "database is down")
	_, err := listOnce(t, lister(), endpoint)
	var p *ProtocolError
	if !errors.As(err, &p) || p.Code != -32603 || p.Doing != "prompts/list" || !strings.Contains(p.Error(), "database is down") {
		t.Errorf("error %v", err)
	}
}

func TestBrokenResults(t *testing.T) {
	for name, result := range map[string]string{
		"no list": `{}`, "a list of another kind": `{"prompts":[]}`, "not an array": `{"tools":{}}`,
		"null": `null`, "the list twice": `{"tools":[],"tools":[{"name":"a"}]}`,
		"cursor of another type": `{"tools":[],"nextCursor":7}`, "not complete": `{"tools":[],"resultType":"input_required"}`,
		"too deep for any reader": `{"tools":[` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			s, endpoint := serve(t, upstream.Options{})
			s.Result("tools/list", result)
			_, err := listOnce(t, lister(), endpoint)
			var p *ProtocolError
			if !errors.As(err, &p) || p.Doing != "tools/list" {
				t.Errorf("error %v, want a ProtocolError", err)
			}
		})
	}
}

func TestEdge39Unauthorized(t *testing.T) {
	challenge := http.Header{"Www-Authenticate": {`Bearer realm="tools", scope="mcp:read"`}}
	for name, test := range map[string]struct {
		headers map[string]string
		header  http.Header
		want    string
		hint    string
	}{
		"no header":     {nil, challenge, `the header Authorization is missing`, `${TOKEN}`},
		"no challenge":  {nil, nil, `answered 401: the header Authorization is missing`, "Authorization"},
		"empty header":  {map[string]string{"Authorization": "Bearer "}, challenge, `the configured header Authorization is empty`, "set the variable"},
		"wrong header":  {map[string]string{"X-Api-Key": "sesame-open"}, challenge, `does not accept the configured header X-Api-Key`, "X-Api-Key"},
		"what it wants": {nil, challenge, `scope=\"mcp:read\"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, endpoint := serve(t, upstream.Options{})
			s.Status("*", http.StatusUnauthorized, test.header)
			endpoint.Headers = test.headers
			_, err := listOnce(t, lister(), endpoint)
			var auth *AuthError
			if !errors.As(err, &auth) || !strings.Contains(err.Error(), test.want) || !strings.Contains(auth.Hint(), test.hint) {
				t.Fatalf("error %v", err)
			}
			if strings.Contains(err.Error(), "sesame") {
				t.Error("the error tells the secret")
			}
			if n := s.Requests("initialize"); n != 0 {
				t.Errorf("it was tried %d times more", n)
			}
		})
	}
}

func TestSlowAnswer(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	l := lister(func(o *Options) { o.Limits.Timeout = 50 * time.Millisecond })
	s.Delay(time.Minute)
	_, err := listOnce(t, l, endpoint)
	var u *UnreachableError
	if !errors.As(err, &u) || u.Timeout == 0 {
		t.Errorf("error %v, want one of time", err)
	}
}

func TestOneFailureDoesNotStopTheOthers(t *testing.T) {
	_, good := serve(t, upstream.Options{})
	bad := good
	bad.URL, bad.Name = "http://127.0.0.1:1/mcp", "bad"
	jobs := []Job{{Endpoint: bad, Covers: []string{"tools"}}, {Endpoint: good, Covers: []string{"tools"}}, {Endpoint: bad}, {Endpoint: good, Covers: []string{"tools"}}}
	var got []bool
	lister().ListAll(t.Context(), jobs, 2, func(r Result) { got = append(got, r.Err == nil) })
	if !slices.Equal(got, []bool{false, true, false, true}) {
		t.Errorf("%v", got)
	}
}

// A server that is met for the first time is listed twice over one connection:
// what moves while it is listed is found, and it is started once.
func TestEdge43And50FirstMetIsListedTwiceOverOneConnection(t *testing.T) {
	met := func(t *testing.T, s *upstream.Server, endpoint Endpoint) Result {
		t.Helper()
		var got Result
		job := Job{Endpoint: endpoint, Covers: []string{"tools"}, Differs: func(surface.Surface) Difference { return Unknown }}
		l := lister(func(o *Options) { o.Limits.Settle = 10 * time.Millisecond })
		l.ListAll(t.Context(), []Job{job}, 0, func(r Result) { got = r })
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		if n := s.Requests("server/discover"); n != 1 {
			t.Errorf("%d connections, want one", n)
		}
		return got
	}
	t.Run("a walk that is another each time", func(t *testing.T) {
		s, endpoint := serve(t, upstream.Options{})
		s.Flip("echo", "one", "two")
		if r := met(t, s, endpoint); len(r.Unstable) != 1 || r.Unstable[0].Name != "echo" {
			t.Errorf("unstable %v", r.Unstable)
		}
	})
	t.Run("nothing at first", func(t *testing.T) {
		s, endpoint := serve(t, upstream.Options{})
		s.EmptyFirst(1)
		if r := met(t, s, endpoint); len(r.Unstable) != 0 || len(names(r.Listing, surface.KindTool)) != 3 {
			t.Errorf("unstable %v, tools %v", r.Unstable, names(r.Listing, surface.KindTool))
		}
	})
	t.Run("nothing ever", func(t *testing.T) {
		s, endpoint := serve(t, upstream.Options{})
		s.SetToolsRaw(nil)
		if r := met(t, s, endpoint); len(r.Unstable) != 0 || !r.Listing.Surface.IsEmpty() || s.Requests("tools/list") != 2 {
			t.Errorf("unstable %v, %d lists", r.Unstable, s.Requests("tools/list"))
		}
	})
}

// Over stdio a server that announces its list is listed again at once.
func TestEdge43AnAnnouncedListIsNotWaitedFor(t *testing.T) {
	lists := 0
	start := scripted(func(_ int, method string, id json.RawMessage) (string, error) {
		switch method {
		case "server/discover":
			return result(id, `{"supportedVersions":["2026-07-28"],"capabilities":{}}`), nil
		case "tools/list":
			if lists++; lists == 1 {
				return result(id, `{"tools":[]}`) + `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n", nil
			}
			return result(id, `{"tools":[{"name":"late","inputSchema":{}}]}`), nil
		}
		return "", nil
	})
	l := lister(func(o *Options) { o.Start = start })
	job := Job{Endpoint: Endpoint{Transport: source.Stdio, Command: "late"}, Covers: []string{"tools"}, Differs: func(surface.Surface) Difference { return Unknown }}
	l.ListAll(t.Context(), []Job{job}, 0, func(r Result) {
		if r.Err != nil || len(names(r.Listing, surface.KindTool)) != 1 {
			t.Errorf("%+v, %v", r.Listing, r.Err)
		}
	})
}
