package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"agentgateway-lock/pkg/project"
	"agentgateway-lock/pkg/textcheck"
)

// newProgress returns what shows the steps of a run on standard error: lines in
// place on a terminal, else a line as a server begins and one as it ends.
func (a *app) newProgress() *progress {
	p := &progress{out: a.rawErr, now: a.now, size: func() (int, int) { return 0, 0 }}
	if f, ok := a.rawErr.(*os.File); ok && term.IsTerminal(int(f.Fd())) && a.env("TERM") != "dumb" {
		p.color = a.env("NO_COLOR") == ""
		p.size = func() (width, height int) {
			width, height, _ = term.GetSize(int(f.Fd()))
			return width, height
		}
		p.inPlace = true
	}
	return p
}

// A progress shows how far the servers of a run are.
type progress struct {
	out     io.Writer
	now     func() time.Time
	size    func() (width, height int)
	inPlace bool
	color   bool

	mu    sync.Mutex
	rows  []*progressRow
	began time.Time
	drawn int           // lines that stand on the terminal
	stop  chan struct{} // closed when the lines are no longer drawn
}

type progressRow struct {
	project.Step
	began time.Time
	took  time.Duration
	ended bool
}

// tell takes one step.
func (p *progress) tell(s project.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	row := p.row(s)
	row.State = s.State // the text stays: what is started
	if s.State == project.StepStarting {
		row.began = p.now()
	}
	if row.ended = s.State == project.StepDone || s.State == project.StepFailed; row.ended {
		row.took = p.now().Sub(row.began)
	}
	switch {
	case !p.inPlace:
		p.line(row)
	case p.left(s.Of) == 0:
		p.end()
	default:
		p.draw()
		p.keepDrawing()
	}
}

func (p *progress) row(s project.Step) *progressRow {
	for _, r := range p.rows {
		if r.Server == s.Server {
			return r
		}
	}
	if len(p.rows) == 0 {
		p.began = p.now()
	}
	p.rows = append(p.rows, &progressRow{Step: s, began: p.now()})
	return p.rows[len(p.rows)-1]
}

// left is how many servers have not ended.
func (p *progress) left(of int) int {
	for _, r := range p.rows {
		if r.ended {
			of--
		}
	}
	return of
}

// line tells a step where lines cannot be drawn in place.
func (p *progress) line(r *progressRow) {
	var text string
	switch {
	case r.State == project.StepWaiting:
		text = r.Text
	case r.ended:
		text = string(r.State)
		if r.took >= time.Second {
			text += " after " + seconds(r.took)
		}
	default:
		return
	}
	fmt.Fprintln(p.out, textcheck.Terminal(textcheck.Clip(r.Server+": "+text, 2000)))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// drawEvery is how often the times are brought up to date.
const drawEvery = 100 * time.Millisecond

// keepDrawing draws until the lines are taken away.
func (p *progress) keepDrawing() {
	if p.stop != nil {
		return
	}
	p.stop = make(chan struct{})
	go func(stop chan struct{}) {
		tick := time.NewTicker(drawEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				p.mu.Lock()
				if p.stop == stop {
					p.draw()
				}
				p.mu.Unlock()
			}
		}
	}(p.stop)
}

// close takes the lines away.
func (p *progress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
}

func (p *progress) end() {
	if p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
	p.write("")
	p.rows = nil
}

// write puts lines in the place of those that stand there.
func (p *progress) write(lines string) {
	if p.drawn > 0 {
		fmt.Fprintf(p.out, "\x1b[%dA\x1b[J", p.drawn)
	}
	fmt.Fprint(p.out, lines)
	p.drawn = strings.Count(lines, "\n")
}

func (p *progress) draw() {
	width, height := p.size()
	if width <= 0 {
		width, height = 80, 24
	}
	room := max(height-3, 1)
	name, ended := 0, 0
	for _, r := range p.rows {
		name = max(name, len([]rune(shown(r.Server))))
		if r.ended {
			ended++
		}
	}
	var b strings.Builder
	hide := len(p.rows) - room // of those that have ended first
	hidden := 0
	for i, r := range p.rows {
		if hide > hidden && (r.ended || len(p.rows)-i <= hide-hidden) {
			hidden++
			continue
		}
		b.WriteString(p.rowText(r, min(name, width/3), width) + "\n")
	}
	fmt.Fprintf(&b, "%d of %d servers, %s\n", ended, len(p.rows), seconds(p.now().Sub(p.began)))
	p.write(b.String())
}

func (p *progress) rowText(r *progressRow, name, width int) string {
	took := ""
	switch {
	case r.ended:
		took = seconds(r.took)
	case r.State != project.StepWaiting:
		took = seconds(p.now().Sub(r.began))
	}
	head := fmt.Sprintf("  %-*s  %-8s  %7s  ", name, textcheck.Clip(shown(r.Server), name), r.State, took)
	_, what, _ := strings.Cut(r.Text, " ") // the state says that it starts
	line := textcheck.Clip(head+textcheck.Terminal(textcheck.Clip(what, width)), width-1)
	color := map[project.StepState]string{project.StepWaiting: "2", project.StepDone: "32", project.StepFailed: "31"}[r.State]
	if !p.color || color == "" {
		return line
	}
	return "\x1b[" + color + "m" + line + "\x1b[0m"
}
