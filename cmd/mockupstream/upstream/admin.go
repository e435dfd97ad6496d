package upstream

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A change is one thing that can be done to a running server from outside.
type change struct {
	name  string
	usage string
	apply func(s *Server, q url.Values, body string) error
}

// changes are the same for POST /admin/NAME and for [Server.Apply].
var changes = []change{
	{"annotations", "?tool=NAME, body: the annotations as JSON", func(s *Server, q url.Values, body string) error {
		return s.SetAnnotations(q.Get("tool"), body)
	}},
	{"describe", "?tool=NAME, body: the description", func(s *Server, q url.Values, body string) error {
		return s.Describe(q.Get("tool"), body)
	}},
	{"discover-error", "?code=N&message=TEXT", func(s *Server, q url.Values, _ string) error {
		return s.setError("server/discover", q)
	}},
	{"duplicate", "?tool=NAME", func(s *Server, q url.Values, _ string) error { return s.Duplicate(q.Get("tool")) }},
	{"empty-first", "?n=N: the next N listings are empty", number("n", (*Server).EmptyFirst)},
	{"endless-pages", "?on=true", onOff((*Server).EndlessPages)},
	{"flip", "?tool=NAME&a=TEXT&b=TEXT", func(s *Server, q url.Values, _ string) error {
		s.Flip(q.Get("tool"), q.Get("a"), q.Get("b"))
		return nil
	}},
	{"hidden-page", "?on=true", onOff((*Server).HiddenPage)},
	{"ignore-eof", "?on=true (stdio)", onOff((*Server).IgnoreEOF)},
	{"instructions", "body: the instructions", func(s *Server, _ url.Values, body string) error {
		s.SetInstructions(body)
		return nil
	}},
	{"list-error", "?method=tools/list&code=N&message=TEXT", func(s *Server, q url.Values, _ string) error {
		return s.setError(q.Get("method"), q)
	}},
	{"many-tools", "?n=N", number("n", (*Server).ManyTools)},
	{"member", "?tool=NAME&name=MEMBER, body: JSON", func(s *Server, q url.Values, body string) error {
		return s.SetMember(q.Get("tool"), q.Get("name"), body)
	}},
	{"not-offered", "?method=prompts/list", func(s *Server, q url.Values, _ string) error {
		s.NotOffered(q.Get("method"))
		return nil
	}},
	{"notify", "sends tools/list_changed", func(s *Server, _ url.Values, _ string) error {
		s.NotifyListChanged()
		return nil
	}},
	{"page-size", "?n=N", number("n", (*Server).PageSize)},
	{"remove", "?tool=NAME", func(s *Server, q url.Values, _ string) error { return s.Remove(q.Get("tool")) }},
	{"repeat-cursor", "?on=true", onOff((*Server).RepeatCursor)},
	{"reset", "takes every change back", func(s *Server, _ url.Values, _ string) error {
		s.Reset()
		return nil
	}},
	{"schema", "?tool=NAME, body: the input schema as JSON", func(s *Server, q url.Values, body string) error {
		return s.SetSchema(q.Get("tool"), body)
	}},
	{"shuffle", "?on=true: keys and tools change their order", onOff(func(s *Server, on bool) {
		s.ShuffleKeys(on)
		s.ShuffleTools(on)
	})},
	{"slow", "?ms=N: every answer waits", number("ms", func(s *Server, n int) {
		s.Delay(time.Duration(n) * time.Millisecond)
	})},
	{"slow-first", "?ms=N: the next answer waits", number("ms", func(s *Server, n int) {
		s.DelayFirst(time.Duration(n) * time.Millisecond)
	})},
	{"tool", "body: a whole definition", func(s *Server, _ url.Values, body string) error {
		s.SetTool(body)
		return nil
	}},
}

func onOff(set func(*Server, bool)) func(*Server, url.Values, string) error {
	return func(s *Server, q url.Values, _ string) error {
		on, err := strconv.ParseBool(q.Get("on"))
		if err != nil {
			return fmt.Errorf("on=%q: use true or false", q.Get("on"))
		}
		set(s, on)
		return nil
	}
}

func number(key string, set func(*Server, int)) func(*Server, url.Values, string) error {
	return func(s *Server, q url.Values, _ string) error {
		n, err := strconv.Atoi(q.Get(key))
		if err != nil || n < 0 || n > 1_000_000 {
			return fmt.Errorf("%s=%q: use a number from 0 to 1000000", key, q.Get(key))
		}
		set(s, n)
		return nil
	}
}

func (s *Server) setError(method string, q url.Values) error {
	code, err := strconv.Atoi(q.Get("code"))
	if err != nil {
		return fmt.Errorf("code=%q: use a number, 0 for no error", q.Get("code"))
	}
	s.ListError(method, code, q.Get("message"))
	return nil
}

// Apply makes one change by its name, as POST /admin/NAME does.
func (s *Server) Apply(name string, query url.Values, body string) error {
	i, ok := slices.BinarySearchFunc(changes, name, func(c change, n string) int { return strings.Compare(c.name, n) })
	if !ok {
		return fmt.Errorf("there is no change %q", name)
	}
	return changes[i].apply(s, query, body)
}

// Changes lists what [Server.Apply] knows, one per line with its parameters.
func Changes() string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%-15s %s\n", c.name, c.usage)
	}
	return b.String()
}

// serveAdmin takes changes. A page in a browser must not reach it, neither by a
// name that was made to resolve to loopback nor across origins.
func (s *Server) serveAdmin(w http.ResponseWriter, r *http.Request) {
	if !loopbackHost(r.Host) || r.Header.Get("Origin") != "" {
		http.Error(w, "the admin address is for local tools only", http.StatusForbidden)
		return
	}
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, "/admin"), "/")
	switch {
	case r.Method == http.MethodGet && name == "":
		_, _ = io.WriteString(w, Changes())
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "use GET /admin or POST /admin/NAME", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
		return
	}
	if err := s.Apply(name, r.URL.Query(), string(body)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func loopbackHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
