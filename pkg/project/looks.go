package project

import (
	"context"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
	"agentgateway-lock/pkg/trust"
)

// looks shows what a person has to look at before deciding.
type looks struct {
	p      *Project
	file   *lockfile.File
	state  *trust.State
	copies entryCopies
	texts  *texts
	// skeletons holds the names and titles of all approved items of every server,
	// by what they look like.
	skeletons map[string][]namedItem
}

type namedItem struct {
	key   surface.Key
	text  string
	title bool
}

// mimics reports whether a name, or a title, may be taken for this one. The same
// text is no imitation; nor is a title that is a name in capitals, as in Echo for
// echo.
func (n namedItem) mimics(key surface.Key, text string, title bool) bool {
	if n.key == key || n.text == text {
		return false
	}
	return (!title && !n.title) || lowerASCII(n.text) != lowerASCII(text)
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

func (p *Project) newLooks(ctx context.Context, file *lockfile.File, state *trust.State) *looks {
	l := &looks{p: p, file: file, state: state, copies: p.copies(file), texts: p.textsOf(ctx, file, nil), skeletons: map[string][]namedItem{}}
	for _, it := range state.Items {
		if it.Status == trust.Approved && it.Name != "" {
			for i, text := range l.names(it, l.locked(it)) {
				key := textcheck.Skeleton(strings.ToLower(text))
				l.skeletons[key] = append(l.skeletons[key], namedItem{it.Key, text, i > 0})
			}
		}
	}
	return l
}

// names are the name and the title of an item.
func (l *looks) names(it *trust.ItemState, definition []byte) []string {
	names := []string{it.Name}
	if title := drift.Title(definition); title != "" {
		names = append(names, title)
	}
	return names
}

// locked returns the locked text of an item; nil where it has none.
func (l *looks) locked(it *trust.ItemState) []byte {
	server := l.file.Server(it.Server)
	if it.Kind == surface.KindSource || it.Kind == surface.KindServer || server == nil {
		return nil
	}
	return l.copies(server)(it.Kind, it.Name)
}

// before returns the text that was in force last, whatever was decided since; nil
// where nothing was, or it is not at hand.
func (l *looks) before(it *trust.ItemState) []byte {
	if it.Last.IsZero() || it.Kind == surface.KindSource {
		return nil
	}
	return l.texts.find(it.Key, it.Last)
}

// item looks at one item.
func (l *looks) item(it *trust.ItemState) ReviewItem {
	out := ReviewItem{ItemState: it}
	now, before := l.locked(it), l.before(it)
	out.Change = drift.Between(it.Kind, it.Name, before, now)
	if it.Kind == surface.KindSource {
		out.Source = l.file.Server(it.Server).Source
		out.Change = drift.Change{Kind: it.Kind, Status: drift.Added, New: []byte(lockfile.SourceTerms(l.file.Server(it.Server)).Text())}
		if it.InForce != nil {
			out.Change.Status = drift.Changed
		}
	}
	if it.Kind != surface.KindServer {
		out.Grade, _ = l.texts.grade(l.state, it.Key, it.Digest, l.state.Against(it.Key, canonical.Digest{}))
	}
	out.Suspicious, out.Advice = l.suspicious(it, before, now)
	return out
}

// maxSuspicions bounds what is reported of one item: there is enough to refuse it.
const maxSuspicions = 200

// suspicious looks for text that may not be what it looks like, in every string and
// every member name. What is only worth a look is advice.
func (l *looks) suspicious(it *trust.ItemState, before, now []byte) (refused, advice []Suspicion) {
	add := func(where func() string, problems []textcheck.Problem) bool {
		for _, p := range problems {
			switch {
			case p.Rule.Advice() && len(advice) < maxSuspicions:
				advice = append(advice, Suspicion{where(), p})
			case !p.Rule.Advice():
				refused = append(refused, Suspicion{where(), p})
			}
			if len(refused) == maxSuspicions {
				return false
			}
		}
		return true
	}
	at := func(where string) func() string { return func() string { return where } }
	add(at("name"), textcheck.Check(it.Name, textcheck.Options{SingleLine: true}))
	if it.Kind == surface.KindSource {
		l.suspiciousTerms(it.Server, add)
		return refused, advice
	}
	if it.Kind == surface.KindInstructions {
		add(at("instructions"), textcheck.Check(string(now), textcheck.Options{}))
		add(at("instructions"), textcheck.ConfusableText(string(before), string(now)))
		return refused, advice
	}
	drift.EachText(before, now, func(t drift.NamedText) bool {
		if t.IsTop("name") {
			return true // looked at above
		}
		single := t.IsName || t.IsTop("title")
		if !add(t.Path, textcheck.Check(t.Text, textcheck.Options{SingleLine: single})) {
			return false
		}
		return !t.Had || t.Before == t.Text || add(t.Path, textcheck.ConfusableText(t.Before, t.Text))
	})
	return append(refused, l.lookAlikes(it, now)...), advice
}

// suspiciousTerms looks at a source and what is agreed about it. Commands and addresses
// hold digests, ids and scripts, so long lines and encoded runs are none of it.
func (l *looks) suspiciousTerms(server string, add func(where func() string, problems []textcheck.Problem) bool) {
	terms := lockfile.SourceTerms(l.file.Server(server))
	look := func(where func() string, text string) bool {
		problems := slices.DeleteFunc(textcheck.Check(text, textcheck.Options{}), func(p textcheck.Problem) bool {
			return p.Rule.Advice() || p.Rule == textcheck.RuleEncodedRun || p.Rule == textcheck.RuleHTMLComment
		})
		return add(where, problems)
	}
	for where, text := range map[string]string{"server": server, "target": terms.Target, "skipped": terms.Skipped} {
		look(func() string { return where }, text)
	}
	if terms.Source != nil {
		drift.EachText(nil, terms.Source.JSON(), func(t drift.NamedText) bool { return look(t.Path, t.Text) })
	}
}

// lookAlikes compares the name and title with those of all approved items.
func (l *looks) lookAlikes(it *trust.ItemState, definition []byte) []Suspicion {
	var found []Suspicion
	for i, text := range l.names(it, definition) {
		where := [...]string{"name", "title"}[i]
		same := l.skeletons[textcheck.Skeleton(strings.ToLower(text))]
		j := slices.IndexFunc(same, func(n namedItem) bool { return n.mimics(it.Key, text, i > 0) })
		if j < 0 || it.Name == "" {
			continue
		}
		found = append(found, Suspicion{where, textcheck.Problem{
			Rule: textcheck.RuleConfusable, Line: 1, Column: 1,
			Detail: "looks like " + textcheck.Terminal(same[j].text) + " of " + textcheck.Terminal(same[j].key.String()),
		}})
	}
	return found
}
