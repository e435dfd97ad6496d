package processor_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/surface"
)

// The model of the decision. It shares no code with the processor and keeps all
// that ever happened: a call is judged by reading the history backwards.

// modelKinds are the kinds of the model, by their short names.
var modelKinds = []surface.Kind{surface.KindTool, surface.KindResource, surface.KindResourceTemplate}

const (
	modelTool = iota
	modelResource
	modelTemplate
)

// modelNames are the names of each kind. The template expands to the first two
// resources and to URIs that are no resource.
var modelNames = [][]string{{"a", "b", "c"}, {"m://r/1", "m://r/2", "m://s/1"}, {"m://r/{id}", "m://{id}"}}

// flawed is shown in the place of a text that cannot be approved.
const flawed = -1

// text returns a definition, and its name as a route spells it.
func modelText(kind int, name string, variant int) string {
	switch kind {
	case modelTool:
		return fmt.Sprintf(`{"description":"%d","inputSchema":{"type":"object"},"name":"%s"}`, variant, name)
	case modelResource:
		return fmt.Sprintf(`{"description":"%d","name":"n","uri":"%s"}`, variant, name)
	}
	return fmt.Sprintf(`{"description":"%d","name":"n","uriTemplate":"%s"}`, variant, name)
}

var modelDigests = map[string]canonical.Digest{}

func modelDigest(kind int, name string, variant int) canonical.Digest {
	text := modelText(kind, name, variant)
	d, ok := modelDigests[text]
	if !ok {
		d = canonical.SumString(text)
		modelDigests[text] = d
	}
	return d
}

type modelItem struct {
	known   bool
	state   processor.State
	inForce int // variant
	stopped bool
}

type modelServer struct {
	known, paused, source, stopped bool
	covers                         [3]bool
	items                          [3]map[string]modelItem
}

type modelPolicy struct {
	id      int
	pass    bool // what is not covered passes
	maxAge  time.Duration
	servers map[string]*modelServer
}

// modelEvent is one listing of one service: what it showed of one kind.
type modelEvent struct {
	service, scope string
	probe          bool
	kind           int
	at             time.Time
	shown          map[string]int
	policy         *modelPolicy
}

type model struct {
	random *rand.Rand
	policy *modelPolicy
	events []modelEvent
	now    time.Time
	texts  int  // how many texts an item may have
	storm  bool // servers change their texts all the time
	bars   int  // how often the model denied for too many texts
	p      *processor.Processor
	ids    int
}

func (m *model) chance(percent int) bool { return m.random.IntN(100) < percent }

func pick[T any](m *model, from []T) T { return from[m.random.IntN(len(from))] }

// served says which text of an item is in force, if any.
func (s *modelServer) served(kind int, name string) (variant int, ok bool) {
	it := s.items[kind][name]
	ok = it.known && !it.stopped && (it.state == processor.StateApproved || it.state == processor.StateChanged)
	return it.inForce, ok
}

// newest returns what the last listing of an origin showed of an item.
func (m *model) newest(service, scope string, probe bool, kind int, name string) (variant int, at time.Time, ok bool) {
	for _, e := range slices.Backward(m.events) {
		if e.service == service && e.probe == probe && (probe || e.scope == scope) && e.kind == kind {
			if v, shown := e.shown[name]; shown {
				return v, e.at, true
			}
		}
	}
	return 0, time.Time{}, false
}

// barred says that an item showed more than twenty texts that were not in force,
// under policies of the present ID.
func (m *model) barred(service string, kind int, name string) bool {
	texts := map[int]bool{}
	for _, e := range m.events {
		v, shown := e.shown[name]
		it := e.policy.servers[service].items[kind][name]
		if e.policy.id == m.policy.id && e.service == service && e.kind == kind && shown && v != flawed && it.known && (it.inForce != v || it.state == processor.StateNew) {
			texts[v] = true
		}
	}
	return len(texts) > 20
}

// callable says that an item that is in force has the evidence for it.
func (m *model) callable(service, scope string, kind int, name string) bool {
	want, ok := m.policy.servers[service].served(kind, name)
	if !ok {
		return false
	}
	if m.barred(service, kind, name) {
		m.bars++
		return false
	}
	listed, listedAt, haveListed := m.newest(service, scope, false, kind, name)
	probed, probedAt, haveProbed := m.newest(service, scope, true, kind, name)
	if !haveListed && !haveProbed || haveListed && listed != want || haveProbed && probed != want {
		return false
	}
	age := m.now.Sub(listedAt)
	if haveProbed && (!haveListed || probedAt.After(listedAt)) {
		age = m.now.Sub(probedAt)
	}
	return m.policy.maxAge == 0 || age <= m.policy.maxAge
}

// allows judges a call.
func (m *model) allows(service, scope string, kind int, name string) bool {
	s := m.policy.servers[service]
	if !s.known || s.paused || s.stopped || !s.source || s.items[kind][name].stopped {
		return false
	}
	if kind == modelTool {
		if !s.covers[kind] {
			return m.policy.pass
		}
		return m.callable(service, scope, kind, name)
	}
	_, served := s.served(kind, name)
	if s.items[kind][name].known && !served {
		return false
	}
	if s.covers[modelResource] {
		if served {
			return m.callable(service, scope, kind, name)
		}
		_, _, listed := m.newest(service, scope, false, kind, name)
		_, _, probed := m.newest(service, scope, true, kind, name)
		if listed || probed {
			return false
		}
	}
	expands := false
	if s.covers[modelTemplate] {
		if t := s.items[modelTemplate]["m://r/{id}"]; t.known && strings.HasPrefix(name, "m://r/") {
			if t.stopped {
				return false
			}
			if m.callable(service, scope, modelTemplate, "m://r/{id}") {
				return true
			}
			expands = true
		}
		// m://{id} holds no authority, and expands to nothing with a slash.
	}
	return !expands && !s.covers[modelResource] && m.policy.pass
}

var modelServices = []string{"one", "two"}

func (m *model) reload() {
	p := &modelPolicy{id: m.ids, pass: m.chance(20), servers: map[string]*modelServer{}}
	if m.policy == nil || m.chance(50) {
		m.ids++
		p.id = m.ids
	}
	if m.chance(50) {
		p.maxAge = time.Duration(1+m.random.IntN(4)) * time.Hour
	}
	in := processor.Input{ID: fmt.Sprint(p.id), Options: processor.Options{MaxEvidenceAge: p.maxAge}}
	if p.pass {
		in.Uncovered = processor.UncoveredPass
	}
	states := []processor.State{processor.StateApproved, processor.StateApproved, processor.StateApproved, processor.StateChanged, processor.StateNew, processor.StateRejected, processor.StateAbsent}
	for _, name := range modelServices {
		s := &modelServer{known: m.chance(95), paused: m.chance(5), source: m.chance(95), stopped: m.chance(3)}
		p.servers[name] = s
		server := processor.Server{Name: "server " + name, Target: name, Paused: s.paused, SourceApproved: s.source}
		for kind, names := range modelNames {
			s.items[kind] = map[string]modelItem{}
			if s.covers[kind] = m.chance(90); s.covers[kind] {
				k, _ := surface.ListKindOf(modelKinds[kind])
				server.Covers = append(server.Covers, k.Cover)
			}
			for _, item := range names {
				it := modelItem{known: s.known && m.chance(80), state: pick(m, states), inForce: m.random.IntN(min(m.texts, 3)), stopped: m.chance(4)}
				if !it.known {
					it.stopped = false
					continue
				}
				s.items[kind][item] = it
				i := processor.Item{Kind: modelKinds[kind], Name: item, State: it.state}
				if it.state != processor.StateNew {
					i.InForce = modelDigest(kind, item, it.inForce)
				}
				server.Items = append(server.Items, i)
				if it.stopped {
					in.Deny = append(in.Deny, processor.Ref{Server: server.Name, Kind: i.Kind, Name: item})
				}
			}
		}
		if s.known {
			in.Servers = append(in.Servers, server)
		}
		if s.stopped {
			in.Deny = append(in.Deny, processor.Ref{Server: server.Name})
		}
	}
	policy, err := processor.NewPolicy(in)
	if err != nil {
		panic(err)
	}
	m.p.SetPolicy(policy)
	m.policy = p
}

// modelLine is one definition of a list.
type modelLine struct {
	service, name string
	variant       int
	text          string // as the route spells it
}

// spell gives a name the prefix of a route.
func spell(prefixed bool, kind int, service, name string) string {
	switch {
	case !prefixed:
		return name
	case kind == modelTool:
		return service + "_" + name
	default:
		return service + "+" + name
	}
}

// listing lists some definitions of some services, and returns what is wrong with
// the answer.
func (m *model) listing() string {
	kind, likely := m.random.IntN(3), 55
	if m.storm && m.chance(80) {
		kind, likely = modelTool, 95
	}
	services := [][]string{{"one"}, {"two"}, {"one", "two"}}[m.random.IntN(3)]
	prefixed := len(services) > 1 || m.chance(20)
	scope := pick(m, []string{"", "x", "y"})
	var lines []modelLine
	count := map[string]int{}
	for _, service := range services {
		for _, name := range modelNames[kind] {
			for m.chance(likely) {
				line := modelLine{service: service, name: name, variant: m.random.IntN(m.texts)}
				if !m.storm && m.chance(70) {
					line.variant = m.policy.servers[service].items[kind][name].inForce
				}
				line.text = modelText(kind, spell(prefixed, kind, service, name), line.variant)
				if m.chance(4) {
					line.text = line.text[:len(line.text)-1] + `,"x":1}`
					line.variant = flawed
				}
				lines = append(lines, line)
				if count[service+name]++; !m.chance(10) {
					break
				}
			}
		}
	}
	m.random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	var all, kept []string
	deny := false
	for _, service := range services {
		s := m.policy.servers[service]
		deny = deny || !s.known || s.paused || s.stopped
	}
	for _, line := range lines {
		all = append(all, line.text)
		s := m.policy.servers[line.service]
		want, ok := s.served(kind, line.name)
		keep := s.covers[kind] && ok && want == line.variant || !s.covers[kind] && m.policy.pass && !s.items[kind][line.name].stopped
		if keep && count[line.service+line.name] == 1 {
			kept = append(kept, line.text)
		}
	}
	if !deny {
		for _, service := range services {
			e := modelEvent{service: service, scope: scope, kind: kind, at: m.now, shown: map[string]int{}, policy: m.policy}
			for _, line := range lines {
				if line.service == service && m.policy.servers[service].covers[kind] {
					e.shown[line.name] = line.variant
					if count[service+line.name] > 1 {
						e.shown[line.name] = flawed
					}
				}
			}
			m.events = append(m.events, e)
		}
	}
	k, _ := surface.ListKindOf(modelKinds[kind])
	body := `{"` + k.Member + `":[` + strings.Join(all, ",") + `]}`
	a := from(services...).by(scope)
	if prefixed {
		a = a.named(processor.NamesPrefixed)
	}
	v := m.judge(a, processor.PhaseResponse, k.Method, body)
	want := `{"` + k.Member + `":[` + strings.Join(kept, ",") + `]}`
	switch {
	case deny != v.Denied():
		return fmt.Sprintf("list of %v: %+v, denied by the model: %v", services, v, deny)
	case deny:
	case want == body && v.Body != nil, want != body && string(v.Body) != want:
		return fmt.Sprintf("list of %v: %s\n gave %s\n want %s", services, body, v.Body, want)
	}
	return ""
}

func (m *model) probing() {
	service, kind := pick(m, modelServices), m.random.IntN(3)
	shown := map[string]int{}
	var raws [][]byte
	for _, name := range modelNames[kind] {
		if m.chance(60) {
			variant := m.policy.servers[service].items[kind][name].inForce
			if m.chance(20) {
				variant = m.random.IntN(m.texts)
			}
			raws = append(raws, []byte(modelText(kind, name, variant)))
			if shown[name] = variant; m.chance(3) {
				raws, shown[name] = append(raws, raws[len(raws)-1]), flawed
			}
		}
	}
	list, refused := surface.NewList(modelKinds[kind], raws)
	if m.p.RecordProbe("server "+service, surface.Surface{Lists: map[surface.Kind]surface.List{modelKinds[kind]: list}, Refused: refused}, m.now) {
		if !m.policy.servers[service].covers[kind] {
			shown = nil
		}
		m.events = append(m.events, modelEvent{service: service, probe: true, kind: kind, at: m.now, shown: shown, policy: m.policy})
	}
}

func (m *model) judge(a ask, phase processor.Phase, method, body string) processor.Verdict {
	message := a.message(phase, method, body)
	message.At = m.now
	return m.p.Judge(message)
}

func (m *model) calling() (allowed bool, wrong string) {
	service, scope := pick(m, modelServices), pick(m, []string{"", "x", "y"})
	kind := m.random.IntN(2)
	name := pick(m, append([]string{"m://r/other"}, modelNames[kind]...))
	method, param := "tools/call", "name"
	if kind == modelResource {
		method, param = "resources/read", "uri"
	}
	v := m.judge(from(service).by(scope), processor.PhaseRequest, method, `{"`+param+`":"`+name+`","arguments":{}}`)
	want := m.allows(service, scope, kind, name)
	if v.Denied() == want {
		return want, fmt.Sprintf("%s %s of %s in scope %q: %+v, allowed by the model: %v", method, name, service, scope, v, want)
	}
	return want, ""
}

// TestModel compares the processor with the model, step by step: many short
// histories, some of items with so many texts that they are barred.
func TestModel(t *testing.T) {
	steps := 1_000_000
	if testing.Short() || raceEnabled {
		steps = 50_000
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const length = 250
	var calls, allowed, bars int
	for done := 0; done < steps; done += length {
		m := &model{random: random, now: start, texts: 2}
		if random.IntN(4) == 0 {
			m.texts, m.storm = 40, true
		}
		m.p = processor.New()
		m.reload()
		for i := range length {
			wrong := ""
			switch n := random.IntN(100); {
			case n < 2 && (!m.storm || m.chance(20)):
				m.reload()
			case n < 22 || m.storm && n < 60:
				wrong = m.listing()
			case n < 28 || m.storm && n < 62:
				m.probing()
			case n < 40 || m.storm && n < 65:
				m.now = m.now.Add(time.Duration(random.IntN(60)) * time.Minute)
			default:
				var ok bool
				ok, wrong = m.calling()
				calls++
				if ok {
					allowed++
				}
			}
			if wrong != "" {
				t.Fatalf("seed %d, step %d: %s", seed, done+i, wrong)
			}
		}
		bars += m.bars
	}
	t.Logf("%d calls, %d allowed, %d barred", calls, allowed, bars)
	if allowed < calls/20 || allowed > calls*19/20 || bars == 0 {
		t.Errorf("of %d calls %d were allowed and %d barred: the model tests nothing", calls, allowed, bars)
	}
}
