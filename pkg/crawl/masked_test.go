package crawl

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agentgateway-lock/cmd/mockupstream/upstream"
	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/config"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

const secretValue = `s3cr3t/"value"+x`

func hiddenValues() *config.Values { return config.NewValues(map[string]string{"TOKEN": secretValue}) }

// A server repeats what it was given, in every place of an answer and in every
// error that leads to.
func TestValuesInErrors(t *testing.T) {
	quoted := fmt.Sprintf("%q", secretValue)
	answers := map[string]http.HandlerFunc{
		"realm": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm=`+quoted)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"status": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no such key "+secretValue, http.StatusInternalServerError)
		},
		"content type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; x="+quoted)
			_, _ = fmt.Fprint(w, secretValue)
		},
		"redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://elsewhere.example/"+secretValue)
			w.WriteHeader(http.StatusFound)
		},
		"RPC error": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%q}}`, idOf(r), "bad token "+secretValue)
		},
		"version": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{}}}`, idOf(r), secretValue)
		},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			defer server.Close()
			endpoint := Endpoint{Name: "a", Transport: source.HTTP, URL: server.URL + "/" + "x", AllowPrivate: true, Values: hiddenValues()}
			_, err := listOnce(t, lister(), endpoint)
			checkHidden(t, err)
		})
	}
	t.Run("standard error", func(t *testing.T) {
		var events []string
		l := lister(func(o *Options) {
			o.Progress = func(e Event) { events = append(events, e.Text) }
		})
		endpoint := Endpoint{Name: "a", Transport: source.Stdio, Command: "/bin/sh", Args: []string{"-c", `echo "bad token $TOKEN" >&2; exit 1`},
			Env: map[string]string{"TOKEN": secretValue}, Values: hiddenValues()}
		_, err := listOnce(t, l, endpoint)
		checkHidden(t, err)
		if !strings.Contains(err.Error(), "bad token ${TOKEN}") || strings.Contains(fmt.Sprint(events), "s3cr3t") {
			t.Errorf("error %v, events %q", err, events)
		}
	})
	t.Run("command", func(t *testing.T) {
		endpoint := Endpoint{Name: "a", Transport: source.Stdio, Command: "/" + secretValue, Values: hiddenValues()}
		_, err := listOnce(t, lister(), endpoint)
		checkHidden(t, err)
	})
	t.Run("host", func(t *testing.T) {
		endpoint := Endpoint{Name: "a", Transport: source.HTTP, URL: "http://host-of-secret.invalid/", Values: config.NewValues(map[string]string{"HOST": "host-of-secret.invalid"})}
		_, err := listOnce(t, lister(), endpoint)
		if err == nil || strings.Contains(err.Error(), "host-of-secret") {
			t.Errorf("%v", err)
		}
	})
}

// idOf is the id of a request.
func idOf(r *http.Request) string {
	var request struct{ ID json.RawMessage }
	if json.NewDecoder(r.Body).Decode(&request) != nil || request.ID == nil {
		return "null"
	}
	return string(request.ID)
}

func checkHidden(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	found := fmt.Sprintf("%+v", FindingOf("a", err)) + finding.HintOf(err)
	for _, text := range []string{err.Error(), found} {
		if strings.Contains(text, "s3cr3t") {
			t.Errorf("the value is in %s", text)
		}
	}
}

// A definition or instructions that hold a value are refused, not rewritten, and
// the name of one that has it there is left out.
func TestValuesInDefinitions(t *testing.T) {
	s := upstream.New(upstream.Options{Surface: &upstream.Surface{Instructions: "Use " + secretValue, Tools: raws(
		`{"name":"fine","inputSchema":{}}`,
		`{"name":"told","description":"the key is s3cr3t/\"v\u0061lue\"+x","inputSchema":{}}`,
		`{"name":"deep","inputSchema":{"properties":{"s3cr3t%2F%22value%22%2Bx":{}}}}`,
		`{"name":"s3cr3t/\"value\"+x","inputSchema":{}}`,
	)}})
	l := lister(func(o *Options) { o.Start = inProcess(s) })
	listing := mustList(t, l, Endpoint{Name: "a", Transport: source.Stdio, Command: "x", Values: hiddenValues()})
	if have := names(listing, surface.KindTool); len(have) != 1 || have[0] != "fine" {
		t.Errorf("tools %q", have)
	}
	if listing.Surface.Instructions != nil {
		t.Error("the instructions passed")
	}
	var refused []string
	for _, r := range listing.Surface.Refused {
		refused = append(refused, fmt.Sprintf("%s %s %s", r.Kind, r.Name, r.Rule))
		if r.Raw == (canonical.Digest{}) {
			t.Errorf("%v has no hash", r)
		}
	}
	if have := strings.Join(refused, ", "); have != "instructions  secret, tool  secret, tool deep secret, tool told secret" {
		t.Errorf("refused %s", have)
	}
}
