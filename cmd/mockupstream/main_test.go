//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asCommand makes this test binary run as the command.
const asCommand = "MOCKUPSTREAM_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

const (
	initBody        = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}` + "\n"
	initializedBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	listBody        = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
	session         = initBody + initializedBody + listBody
)

// command runs the command to its end.
func command(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

func TestStdio(t *testing.T) {
	t.Setenv("MOCKUPSTREAM_TEST_NAME", "1")
	for _, tc := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"plain", nil, 0, `"description":"Deletes every row of every table."`, ""},
		{"describe", []string{"--describe", "echo=a=b, c"}, 0, `"description":"a=b, c"`, ""},
		{"change", []string{"--change", "describe?tool=echo&body=x%20y,z"}, 0, `"description":"x y,z"`, ""},
		{"noise", []string{"--noise"}, 0, "mockupstream is starting\n", ""},
		{"start delay", []string{"--start-delay", "1ms"}, 0, `"tools":[`, ""},
		{"exit before list", []string{"--exit-before-list"}, 3, `"protocolVersion":"2025-06-18"`, ""},
		{"stderr", []string{"--stderr", "a warning"}, 0, "", "a warning\n"},
		{"environment", []string{"--env-tool"}, 0, " MOCKUPSTREAM_TEST_NAME ", ""},
		{"needed variable", []string{"--need-env", "MOCKUPSTREAM_TEST_NONE"}, 1, "", "MOCKUPSTREAM_TEST_NONE is not set"},
		{"bad describe", []string{"--describe", "echo"}, 1, "", "use TOOL=TEXT"},
		{"bad tool", []string{"--describe", "else=x"}, 1, "", `there is no tool "else"`},
		{"bad change", []string{"--change", "else"}, 1, "", `there is no change "else"`},
		{"bad flag", []string{"--else"}, 2, "", "unknown flag --else"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := command(t, session, append([]string{"--stdio"}, tc.args...)...)
			if code != tc.code {
				t.Errorf("exit %d, want %d", code, tc.code)
			}
			if !strings.Contains(stdout, tc.stdout) {
				t.Errorf("stdout lacks %q: %s", tc.stdout, stdout)
			}
			if !strings.Contains(stderr, tc.stderr) {
				t.Errorf("stderr lacks %q: %s", tc.stderr, stderr)
			}
		})
	}
}

// process starts the command as a process of its own in a new process group.
func process(t *testing.T, args ...string) (cmd *exec.Cmd, stdin io.WriteCloser, stdout *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	return cmd, stdin, bufio.NewReader(out)
}

func TestSpawnChild(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	cmd, stdin, stdout := process(t, "--stdio", "--spawn-child", "--pid-file", file)
	if _, err := io.WriteString(stdin, initBody); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(data))
	if len(fields) != 2 || fields[0] != strconv.Itoa(cmd.Process.Pid) {
		t.Fatalf("pid file %q, want %d and the child's", data, cmd.Process.Pid)
	}
	child, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	if group, err := syscall.Getpgid(child); err != nil || group != cmd.Process.Pid {
		t.Errorf("the child's group is %d (%v), want its parent's, %d", group, err, cmd.Process.Pid)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.Process.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(child, 0); err != nil {
		t.Errorf("the child ended with its parent: %v", err)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Its standard output was the last to be held open.
	if _, err := io.Copy(io.Discard, stdout); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Errorf("reading to the end: %v", err)
	}
}

func TestIgnoreEOF(t *testing.T) {
	cmd, stdin, stdout := process(t, "--stdio", "--ignore-eof")
	if _, err := io.WriteString(stdin, initBody); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("it ended by itself: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

func TestHTTP(t *testing.T) {
	cmd, _, stdout := process(t)
	var urls []string
	for range 3 {
		line, err := stdout.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, strings.TrimSpace(line))
	}
	client := &http.Client{Timeout: 30 * time.Second}
	resp, err := client.Post(urls[2]+"/describe?tool=echo", "text/plain", strings.NewReader("Changed."))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Errorf("admin: %s", resp.Status)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}
