package crawl

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

// scripted is a Starter of processes that answer each line by a function; no line
// returned means silence, io.EOF that the process ends.
func scripted(answer func(process int, method string, id json.RawMessage) (string, error)) Starter {
	var mu sync.Mutex
	count := 0
	return func(ProcessSpec) (*Process, error) {
		mu.Lock()
		count++
		n := count
		mu.Unlock()
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { _ = outW.Close(); _ = inR.Close() }()
			lines := bufio.NewScanner(inR)
			for lines.Scan() {
				var m struct {
					ID     json.RawMessage
					Method string
				}
				_ = json.Unmarshal(lines.Bytes(), &m)
				text, err := answer(n, m.Method, m.ID)
				if _, w := io.WriteString(outW, text); err != nil || w != nil {
					return
				}
			}
		}()
		return &Process{
			Stdin: inW, Stdout: outR, Stderr: io.NopCloser(strings.NewReader("first line\nlast words\n")), Done: done,
			Status: func() string { return "exit status 7" },
			Stop:   func(bool) { _ = inW.Close(); _ = outR.Close(); <-done },
		}, nil
	}
}

func result(id json.RawMessage, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, text)
}

const oldGreeting = `{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"},"instructions":"hi"}`

// What servers do with server/discover that do not know it: end (rmcp), answer with
// an error, answer with what cannot be used, say nothing at all, or answer late. Only
// the first has to be started again, and no error doubles a time-out.
func TestEdge29And49OneStartWhateverTheProbeMeets(t *testing.T) {
	once := []string{"1 server/discover", "1 initialize", "1 notifications/initialized", "1 tools/list"}
	for name, test := range map[string]struct {
		probe func(id json.RawMessage) (string, error)
		want  []string
	}{
		"it ends": {func(json.RawMessage) (string, error) { return "", io.EOF },
			[]string{"1 server/discover", "2 initialize", "2 notifications/initialized", "2 tools/list"}},
		"it answers with an error": {func(id json.RawMessage) (string, error) {
			return `{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32602,"message":"no"}}` + "\n", nil
		}, once},
		"its answer cannot be used": {func(id json.RawMessage) (string, error) { return result(id, `{"ok":true}`), nil }, once},
		"it says nothing":           {func(json.RawMessage) (string, error) { return "", nil }, once},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var seen []string
			start := scripted(func(process int, method string, id json.RawMessage) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, fmt.Sprint(process, " ", method))
				switch method {
				case "server/discover":
					return test.probe(id)
				case "initialize":
					return result(id, oldGreeting), nil
				case "tools/list":
					return result(id, `{"tools":[{"name":"a","inputSchema":{}}]}`), nil
				}
				return "", nil
			})
			l := lister(func(o *Options) { o.Start = start; o.Limits.Probe = 50 * time.Millisecond })
			s, err := l.Open(t.Context(), Endpoint{Transport: source.Stdio, Command: "old"})
			if err != nil {
				t.Fatal(err)
			}
			listing, err := s.List(t.Context(), []string{"instructions", "tools"})
			s.Close()
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(seen, test.want) {
				t.Errorf("messages %q, want %q", seen, test.want)
			}
			if listing.Version != "2024-11-05" || listing.ServerInfo != (ServerInfo{"old", "1"}) || listing.Surface.Instructions.Text != "hi" {
				t.Errorf("%+v", listing)
			}
		})
	}
}

// A server that is slow to start reads both questions at once, and is taken at its
// first answer; what it then says to the other is passed over.
func TestASlowServerOfTheNewestVersion(t *testing.T) {
	var first json.RawMessage
	start := scripted(func(_ int, method string, id json.RawMessage) (string, error) {
		switch method {
		case "server/discover":
			first = id
		case "initialize":
			return result(first, `{"supportedVersions":["2026-07-28"],"capabilities":{}}`) +
				`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32601,"message":"no"}}` + "\n", nil
		case "tools/list":
			return result(id, `{"tools":[]}`), nil
		}
		return "", nil
	})
	l := lister(func(o *Options) { o.Start = start; o.Limits.Probe = 20 * time.Millisecond })
	s, err := l.Open(t.Context(), Endpoint{Transport: source.Stdio, Command: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if listing, err := s.List(t.Context(), []string{"tools"}); err != nil || listing.Version != "2026-07-28" {
		t.Errorf("%+v, %v", listing, err)
	}
}

func TestEdge29AnOlderVersionIsTriedWhereTheServerAsks(t *testing.T) {
	for name, test := range map[string]struct{ refusal, want string }{
		"it names one":    {`{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2024-11-05","2025-06-18"]}}`, "2025-06-18"},
		"it names none":   {`{"code":-32602,"message":"Unsupported protocol version"}`, "2024-11-05"},
		"another reason":  {`{"code":-32603,"message":"no database"}`, ""},
		"it refuses them": {`{"code":-32022,"message":"no","data":{"supported":["2025-11-25"]}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			start := scripted(func(_ int, method string, id json.RawMessage) (string, error) {
				if asked++; asked < 3 {
					return `{"jsonrpc":"2.0","id":` + string(id) + `,"error":` + test.refusal + `}` + "\n", nil
				}
				return result(id, strings.Replace(oldGreeting, "2024-11-05", test.want, 1)), nil
			})
			s, err := lister(func(o *Options) { o.Start = start }).Open(t.Context(), Endpoint{Transport: source.Stdio, Command: "old"})
			if (err == nil) != (test.want != "") {
				t.Fatal(err)
			}
			if err == nil {
				defer s.Close()
				if s.Version() != test.want {
					t.Errorf("version %s", s.Version())
				}
			}
		})
	}
}

// While a list is waited for, a server may ping, ask for what was not advertised,
// notify, and answer something that nobody asked.
func TestServerSpeaksBetween(t *testing.T) {
	answers := make(chan string, 2)
	start := scripted(func(_ int, method string, id json.RawMessage) (string, error) {
		switch method {
		case "server/discover":
			return result(id, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`), nil
		case "tools/list":
			return `{"jsonrpc":"2.0","id":"p","method":"ping"}` + "\r\n" +
				`{"jsonrpc":"2.0","id":99,"result":{"tools":[{"name":"forged"}]}}` + "\n" +
				`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n" +
				"\ufeff" + result(id, `{"tools":[]}`), nil
		case "prompts/list", "resources/list", "resources/templates/list":
			return `{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32601,"message":"no"}}` + "\n", nil
		case "":
			answers <- string(id)
		}
		return "", nil
	})
	l := lister(func(o *Options) { o.Start = start })
	listing := mustList(t, l, Endpoint{Transport: source.Stdio, Command: "chatty"})
	if got := <-answers; got != `"p"` {
		t.Errorf("answered %s", got)
	}
	if len(names(listing, surface.KindTool)) != 0 || !listing.ListChanged || listing.Noise != 0 {
		t.Errorf("%+v", listing)
	}
}

func TestEdge30NoiseIsSkippedAndCounted(t *testing.T) {
	listing := mustList(t, lister(), stdioEndpoint(t, "--noise"))
	if listing.Noise < 3 || len(listing.Notes) != 1 || listing.Notes[0].Code != finding.StdoutNoise {
		t.Errorf("noise %d, notes %v", listing.Noise, listing.Notes)
	}
	if len(names(listing, surface.KindTool)) != 3 {
		t.Errorf("tools %v", names(listing, surface.KindTool))
	}
}

func TestEdge32SilentStart(t *testing.T) {
	start := scripted(func(int, string, json.RawMessage) (string, error) { return "", nil })
	l := lister(func(o *Options) { o.Start = start; o.Limits.StartTimeout = 30 * time.Millisecond })
	_, err := listOnce(t, l, Endpoint{Transport: source.Stdio, Command: "npx"})
	var e *StartError
	if !errors.As(err, &e) || !e.Silent || !strings.Contains(e.Hint(), "--start-timeout") || !strings.Contains(err.Error(), "no answer within 30ms") || !strings.Contains(err.Error(), "last words") {
		t.Errorf("error %v", err)
	}
}

func TestEdge32TheLastLineOfStderrIsShownMeanwhile(t *testing.T) {
	lines := make(chan string, 10)
	l := lister(func(o *Options) {
		o.Progress = func(e Event) {
			if e.Kind == EventStderr {
				lines <- e.Text
			}
		}
	})
	mustList(t, l, stdioEndpoint(t, "--stderr", "added 12 packages", "--start-delay", "200ms"))
	if got := <-lines; got != "added 12 packages" {
		t.Errorf("shown %q", got)
	}
}

func TestEdge33CommandNotFound(t *testing.T) {
	_, err := listOnce(t, lister(), Endpoint{Transport: source.Stdio, Command: "no-such-command-anywhere"})
	var e *StartError
	if !errors.As(err, &e) || !e.NotFound || !strings.Contains(e.Hint(), "PATH") {
		t.Errorf("error %v", err)
	}
	endpoint := stdioEndpoint(t)
	endpoint.Cwd = filepath.Join(t.TempDir(), "missing")
	if _, err := listOnce(t, lister(), endpoint); !errors.As(err, &e) || !strings.Contains(err.Error(), "its folder") {
		t.Errorf("error %v, want one about the folder", err)
	}
}

func TestCommandOfARelativePathEntryIsNotFound(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "evil"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	l := lister(func(o *Options) { o.Environ = []string{"PATH=.:"} })
	_, err := listOnce(t, l, Endpoint{Transport: source.Stdio, Command: "evil", Cwd: dir})
	var e *StartError
	if !errors.As(err, &e) || !e.NotFound {
		t.Errorf("error %v", err)
	}
}

func TestEdge34EndsBeforeItsFirstAnswer(t *testing.T) {
	_, err := listOnce(t, lister(), stdioEndpoint(t, "--need-env", "MOCK_TOKEN"))
	var e *StartError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "exit status 1") || !strings.Contains(err.Error(), "MOCK_TOKEN is not set") {
		t.Errorf("error %v", err)
	}
	endpoint := stdioEndpoint(t, "--need-env", "MOCK_TOKEN")
	endpoint.Env = map[string]string{"MOCK_TOKEN": "x"}
	mustList(t, lister(), endpoint)
}

func TestEdge34EndsWhileListed(t *testing.T) {
	_, err := listOnce(t, lister(), stdioEndpoint(t, "--exit-before-list"))
	if err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v", err)
	}
}

func TestEdge34EnvironmentIsAnAllowlist(t *testing.T) {
	endpoint := stdioEndpoint(t, "--env-tool")
	endpoint.Env = map[string]string{"NAMED": "1", "HOME": "/elsewhere"}
	l := lister(func(o *Options) {
		o.Environ = append(o.Environ, "GITHUB_TOKEN=s3cret", "HTTPS_PROXY=http://p", "LC_ALL=C", "HOME=/root",
			"npm_config_cache=/c", "npm_config_//registry.example.com/:_authToken=x", "UV_CACHE_DIR=/u", "UV_PUBLISH_TOKEN=x", "AWS_SECRET_ACCESS_KEY=x")
	})
	d := definition(t, mustList(t, l, endpoint), surface.KindTool, "env")
	got := string(d.Canonical)
	for _, want := range []string{"NAMED", "HTTPS_PROXY", "LC_ALL", "PATH", "HOME", "npm_config_cache", "UV_CACHE_DIR"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	for _, not := range []string{"TOKEN", "authToken", "AWS"} {
		if strings.Contains(got, not) {
			t.Errorf("%s is in %s", not, got)
		}
	}
	if env := childEnviron([]string{"HOME=/root"}, endpoint.Env); !slices.Equal(env, []string{"HOME=/elsewhere", "NAMED=1"}) {
		t.Errorf("environment %v", env)
	}
}

func TestIsMessage(t *testing.T) {
	for line, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:     true,
		`{"id":1,"result":"\"}","jsonrpc":"2.0" }`: true,
		`{"level":"info","message":"jsonrpc"}`:     false,
		`[INFO] jsonrpc`:                           false,
		`[{"jsonrpc":"2.0"}]`:                      false,
		`{"jsonrpc":"2.0"} trailing`:               false,
		`{"jsonrpc":"2.0"`:                         false,
		`{'jsonrpc': '2.0'}`:                       false,
		`{}`:                                       false,
		``:                                         false,
	} {
		if got := isMessage([]byte(line)); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}

func FuzzStdioFraming(f *testing.F) {
	f.Add([]byte("noise\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n\n[x]\n"), uint16(1000))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":\"\\\"}"), uint16(10))
	f.Add([]byte("\ufeff{\"jsonrpc\":1}"), uint16(100))
	f.Fuzz(func(t *testing.T, input []byte, limit uint16) {
		r := &framer{src: bufio.NewReaderSize(bytes.NewReader(input), 16), closer: io.NopCloser(nil), budget: newBudget(int64(limit)), cause: &cause{}}
		out, err := io.ReadAll(r)
		var over *LimitError
		if (len(input) > int(limit)) != errors.As(err, &over) {
			t.Fatalf("%d bytes of %d: %v", len(input), limit, err)
		}
		lines := 0
		for line := range bytes.Lines(out) {
			lines++
			if !isMessage(bytes.TrimSpace(line)) || line[len(line)-1] != '\n' {
				t.Fatalf("passed on: %q", line)
			}
		}
		if err == nil && lines+int(r.noise.Load()) > 1+bytes.Count(input, []byte("\n")) {
			t.Fatalf("%d lines and %d of noise out of %q", lines, r.noise.Load(), input)
		}
	})
}

// A shell that writes UTF-16 is named; without that it looks silent.
func TestEdge15UTF16IsNamed(t *testing.T) {
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		for _, mark := range []string{"", "\ufeff"} {
			start := scripted(func(_ int, _ string, id json.RawMessage) (string, error) {
				var out []byte
				for _, unit := range utf16.Encode([]rune(mark + result(id, oldGreeting))) {
					out = order.AppendUint16(out, unit)
				}
				return string(out), nil
			})
			l := lister(func(o *Options) { o.Start = start; o.Limits.StartTimeout = 50 * time.Millisecond })
			_, err := listOnce(t, l, Endpoint{Transport: source.Stdio, Command: "pwsh"})
			var e *StartError
			if !errors.As(err, &e) || !e.UTF16 || !strings.Contains(err.Error(), "UTF-16") || !strings.Contains(e.Hint(), "UTF-8") {
				t.Errorf("%s endian, mark %q: %v", name, mark, err)
			}
		}
	}
}

// The last line of standard error is shown whatever came before it.
func TestTheLastLineOfStderrIsAlwaysShown(t *testing.T) {
	for _, before := range []int{0, 1, 9, 10, 11, 1000} {
		for _, width := range []int{1, 80, stderrLine, 100_000} {
			text := strings.Repeat(strings.Repeat("x", width)+"\n", before) + "Error: no API key\n\n"
			e := &StartError{Command: "x", Detail: "ended", Stderr: text}
			if !strings.HasSuffix(e.Error(), "Error: no API key") || len(e.Error()) > 11*(stderrLine+10) {
				t.Errorf("%d lines of %d: %d bytes, ending with %q", before, width, len(e.Error()), lastLines(e.Error(), 1))
			}
		}
	}
}

func TestACommandWithItsArguments(t *testing.T) {
	_, err := listOnce(t, lister(), Endpoint{Transport: source.Stdio, Command: "npx -y @scope/server"})
	var e *StartError
	if !errors.As(err, &e) || !strings.Contains(e.Hint(), `"command": "npx", "args": ["-y","@scope/server"]`) {
		t.Errorf("%v", err)
	}
}
