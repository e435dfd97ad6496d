package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"agentgateway-lock/pkg/project"
)

// steps is a run of two servers, of which one fails, with the time of each step.
func steps(p *progress, clock *time.Time) {
	for _, s := range []struct {
		after time.Duration
		step  project.Step
	}{
		{0, project.Step{Server: "files", State: project.StepWaiting, Text: "starting npx files\x1b[2K", Of: 2}},
		{0, project.Step{Server: "notes", State: project.StepWaiting, Text: "contacting https://example.com", Of: 2}},
		{0, project.Step{Server: "files", State: project.StepStarting, Of: 2}},
		{0, project.Step{Server: "notes", State: project.StepStarting, Of: 2}},
		{200 * time.Millisecond, project.Step{Server: "notes", State: project.StepListing, Of: 2}},
		{100 * time.Millisecond, project.Step{Server: "notes", State: project.StepDone, Of: 2}},
		{2 * time.Second, project.Step{Server: "files", State: project.StepFailed, Text: "it ended", Of: 2}},
	} {
		*clock = clock.Add(s.after)
		p.tell(s.step)
	}
}

func newTestProgress(out *bytes.Buffer, clock *time.Time) *progress {
	return &progress{out: out, now: func() time.Time { return *clock }, size: func() (int, int) { return 60, 24 }}
}

func TestProgressLines(t *testing.T) {
	var out bytes.Buffer
	clock := time.Unix(0, 0)
	steps(newTestProgress(&out, &clock), &clock)
	want := "files: starting npx files\\u{001B}[2K\nnotes: contacting https://example.com\nnotes: listed\nfiles: failed after 2.3 s\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestProgressInPlace: on a terminal every server has a line, and none is left when all
// have ended.
func TestProgressInPlace(t *testing.T) {
	var out bytes.Buffer
	clock := time.Unix(0, 0)
	p := newTestProgress(&out, &clock)
	p.inPlace = true
	steps(p, &clock)
	p.close()
	screen, most := []string{}, ""
	for frame := range strings.SplitSeq(out.String(), "\x1b[") {
		if lines, rest, ok := strings.Cut(frame, "A"); ok && len(lines) < 3 && rest == "" {
			screen = screen[:len(screen)-int(lines[0]-'0')]
			continue
		}
		frame = strings.TrimPrefix(frame, "J")
		for line := range strings.Lines(frame) {
			screen = append(screen, strings.TrimRight(line, " \n"))
		}
		if text := strings.Join(screen, "\n"); strings.Contains(text, "1 of 2") {
			most = text
		}
	}
	if len(screen) != 0 {
		t.Errorf("left on the screen: %q", screen)
	}
	want := "  files  starting    0.3 s  npx files\\u{001B}[2K\n  notes  listed      0.3 s  https://example.com\n1 of 2 servers, 0.3 s"
	if most != want {
		t.Errorf("last seen\n%s\nwant\n%s", most, want)
	}
}
