package project

import (
	"context"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/report"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
	"agentgateway-lock/pkg/trust"
)

// addWaiting adds to the servers of a report what waits for a decision, with the
// words: the text that was in force last, where it is at hand, against the locked one.
func (p *Project) addWaiting(ctx context.Context, base *Base, file *lockfile.File, j *judgement, rep *report.Report) {
	if j == nil || j.state == nil || j.state.Unsigned {
		return
	}
	servers := map[string]*report.Server{}
	for i := range rep.Servers {
		servers[rep.Servers[i].Name] = &rep.Servers[i]
	}
	copies, texts := p.copies(file), p.textsOf(ctx, file, base)
	for _, it := range j.state.Items {
		entry, locked := servers[it.Server], file.Server(it.Server)
		if entry == nil || locked == nil || !waits(it) || it.Kind == surface.KindServer {
			continue
		}
		if it.Kind == surface.KindSource {
			c := drift.Change{Kind: it.Kind, Status: drift.Added, New: []byte(lockfile.SourceTerms(locked).Text())}
			entry.Waiting = append(entry.Waiting, c)
			continue
		}
		var before []byte
		if !it.Last.IsZero() {
			before = texts.find(it.Key, it.Last)
		}
		entry.Waiting = append(entry.Waiting, drift.Between(it.Kind, it.Name, before, copies(locked)(it.Kind, it.Name)))
	}
}

// aside counts what decisions keep out of force though it is locked.
func (j *judgement) aside() []string {
	if j == nil || j.state == nil {
		return nil
	}
	paused, disabled := 0, 0
	for _, it := range j.state.Items {
		switch {
		case it.Kind == surface.KindServer && it.Status == trust.Paused:
			paused++
		case it.Status == trust.Disabled:
			disabled++
		}
	}
	var words []string
	if paused > 0 {
		words = append(words, textcheck.Count(paused, "server")+" paused")
	}
	if disabled > 0 {
		words = append(words, textcheck.Count(disabled, "item")+" disabled")
	}
	return words
}

// full is the command that shows all of what a lock has changed; empty where none can,
// since what was there before is nowhere else.
func (p *Project) full(ctx context.Context, dryRun bool) string {
	if dryRun {
		return "diff --full"
	}
	if p.repo == nil {
		return ""
	}
	head, err := p.repo.Resolve(ctx, "HEAD")
	if err != nil {
		return ""
	}
	if file, err := p.lockfileAt(ctx, head); err != nil || file == nil {
		return ""
	}
	return "diff --from HEAD --full"
}
