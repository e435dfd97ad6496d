// Command mockupstream is a small MCP server whose surface can be changed while
// it runs. It exists for the demo and the tests; see package upstream.
//
// Over HTTP it listens on a loopback address and prints the URLs of its
// endpoints, one per line, before it serves. With --stdio it speaks MCP on its
// standard input and output.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"agentgateway-lock/cmd/mockupstream/upstream"

	"github.com/alecthomas/kong"
)

// childLife bounds a child that nobody ended.
const childLife = 10 * time.Minute

// exitHungUp is the status after --exit-before-list.
const exitHungUp = 3

type flags struct {
	Stdio bool   `help:"Speak MCP on standard input and output."`
	Addr  string `default:"127.0.0.1:0" help:"Loopback address to listen on."`

	Name         string `help:"Name the server gives itself."`
	NoDiscover   bool   `help:"Leave the 2026-07-28 era out."`
	NoInitialize bool   `help:"Leave the era of the initialize handshake out."`
	Stream       bool   `help:"Answer HTTP requests with event streams."`
	SSEOnly      bool   `name:"sse-only" help:"Serve the HTTP+SSE transport alone."`

	Describe []string `sep:"none" placeholder:"TOOL=TEXT" help:"Give a tool another description."`
	Change   []string `sep:"none" placeholder:"NAME?QUERY" help:"Make a change that POST /admin/NAME?QUERY makes; body=TEXT in the query is the body."`

	Noise          bool          `help:"Write lines that are no JSON-RPC to standard output, at the start and before each answer."`
	Stderr         string        `help:"Write a line to standard error at the start."`
	StartDelay     time.Duration `help:"Wait that long before the first answer."`
	ExitBeforeList bool          `help:"Exit with status 3 when the tools are listed."`
	IgnoreEOF      bool          `name:"ignore-eof" help:"Go on after the end of standard input."`
	SpawnChild     bool          `help:"Start a child process that outlives its parent and holds its standard output."`
	PIDFile        string        `name:"pid-file" help:"Write the process ids of this process and its child to a file, one per line."`
	NeedEnv        string        `help:"Exit with status 1 unless this environment variable is set."`
	EnvTool        bool          `help:"List a tool named env whose description is the names of the environment variables."`

	Child bool `hidden:"" help:"Be the child of --spawn-child."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command: arguments and streams in, exit status out.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var f flags
	code := -1
	parser, err := kong.New(&f, kong.Name("mockupstream"), kong.Writers(stdout, stderr),
		kong.Description("A small MCP server for demos and tests, whose surface can be changed while it runs."),
		kong.Exit(func(c int) { code = c }))
	if err != nil {
		return fail(stderr, err)
	}
	if _, err := parser.Parse(args); code >= 0 || err != nil {
		if err != nil && code < 0 {
			fail(stderr, err)
			return 2
		}
		return code
	}
	if f.Child {
		select {
		case <-ctx.Done():
		case <-time.After(childLife):
		}
		return 0
	}
	return f.serve(ctx, stdin, stdout, stderr)
}

func fail(stderr io.Writer, err error) int {
	fmt.Fprintln(stderr, "mockupstream:", err)
	return 1
}

func (f *flags) serve(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	if f.Stderr != "" {
		fmt.Fprintln(stderr, f.Stderr)
	}
	if f.NeedEnv != "" && os.Getenv(f.NeedEnv) == "" {
		return fail(stderr, fmt.Errorf("%s is not set", f.NeedEnv))
	}
	if err := f.processes(); err != nil {
		return fail(stderr, err)
	}
	s := upstream.New(upstream.Options{
		Name: f.Name, NoDiscover: f.NoDiscover, NoInitialize: f.NoInitialize, Stream: f.Stream, SSEOnly: f.SSEOnly,
	})
	defer func() { _ = s.Close() }()
	if err := f.prepare(s); err != nil {
		return fail(stderr, err)
	}
	if !f.Stdio {
		if _, err := s.Start(ctx, f.Addr); err != nil {
			return fail(stderr, err)
		}
		fmt.Fprintf(stdout, "%s\n%s\n%s\n", s.URL(), s.SSEURL(), s.AdminURL())
		<-ctx.Done()
		return 0
	}
	if f.Noise {
		fmt.Fprint(stdout, "mockupstream is starting\n\n{\"level\":\"info\",\"message\":\"a log line in JSON\"}\n")
	}
	switch err := s.ServeStdio(ctx, stdin, stdout); {
	case errors.Is(err, upstream.ErrHangUp):
		return exitHungUp
	case err != nil && !errors.Is(err, context.Canceled):
		return fail(stderr, err)
	}
	return 0
}

// prepare makes the changes that the flags name.
func (f *flags) prepare(s *upstream.Server) error {
	for _, d := range f.Describe {
		tool, text, ok := strings.Cut(d, "=")
		if !ok {
			return fmt.Errorf("--describe %q: use TOOL=TEXT", d)
		}
		if err := s.Describe(tool, text); err != nil {
			return fmt.Errorf("--describe: %w", err)
		}
	}
	for _, c := range f.Change {
		name, rest, _ := strings.Cut(c, "?")
		query, err := url.ParseQuery(rest)
		if err != nil {
			return fmt.Errorf("--change %q: %w", c, err)
		}
		if err := s.Apply(name, query, query.Get("body")); err != nil {
			return fmt.Errorf("--change %q: %w", c, err)
		}
	}
	if f.EnvTool {
		s.SetTool(`{"name":"env","inputSchema":{"type":"object"}}`)
		if err := s.Describe("env", strings.Join(envNames(os.Environ()), " ")); err != nil {
			return err
		}
	}
	if f.Noise {
		s.StdoutNoise("a line of noise", `{"not":"json-rpc"}`)
	}
	if f.ExitBeforeList {
		s.HangUp("tools/list")
	}
	s.DelayFirst(f.StartDelay)
	s.IgnoreEOF(f.IgnoreEOF)
	return nil
}

func envNames(environ []string) []string {
	names := make([]string, 0, len(environ))
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// processes starts the child and writes the file of process ids.
func (f *flags) processes() error {
	pids := fmt.Sprintln(os.Getpid())
	if f.SpawnChild {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("finding this program: %w", err)
		}
		child := exec.Command(self, "--child") //nolint:noctx // it is there to outlive this process
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return fmt.Errorf("starting the child: %w", err)
		}
		pids += fmt.Sprintln(child.Process.Pid)
	}
	if f.PIDFile == "" {
		return nil
	}
	if err := os.WriteFile(f.PIDFile, []byte(pids), 0o600); err != nil {
		return fmt.Errorf("writing process ids: %w", err)
	}
	return nil
}
