package settled

import (
	"errors"
	"testing"
)

// eventOf makes an event of a kind. Where same does not hold a pull request is one of
// a fork; where onDefault does not hold the event is about another branch.
func eventOf(kind EventKind, same, onDefault bool) Event {
	e := Event{Kind: kind, BaseRepository: "we/project", HeadRepository: "they/project", Branch: "topic", DefaultBranch: "main"}
	if same {
		e.HeadRepository = "we/project"
	}
	if onDefault {
		e.Branch = "main"
	}
	return e
}

// TestJudgeAll holds the rule to a restatement of the contract over every combination
// of facts.
func TestJudgeAll(t *testing.T) {
	kinds := []EventKind{NoEvent, PullRequest, Push, MergeQueue, Schedule, Manual, Other}
	const bits = 16
	for _, kind := range kinds {
		for n := range 1 << bits {
			on := func(bit int) bool { return n>>bit&1 == 1 }
			var asked []Way
			same := map[Way]bool{OnBase: on(11), Approved: on(12), Remembered: on(13), OnDefault: on(14)}
			ownRepository, onDefaultBranch := on(0), on(1)
			f := Facts{
				CI: on(2), Event: eventOf(kind, ownRepository, onDefaultBranch), HeadIsEvents: on(3), RemoteKnown: on(4), Base: on(5), Default: on(6),
				HeadOnDefault: on(7), DiskIsHead: on(8), Approved: on(9), Remembered: on(10), Allowed: on(15),
				Surroundings: func(w Way) Difference {
					asked = append(asked, w)
					return Difference{Any: !same[w]}
				},
			}
			got := Judge(&f)

			a := f.Base && f.Default && (f.CI || f.RemoteKnown)
			b := f.Approved
			c := f.Remembered && !f.CI
			d := f.CI && f.HeadIsEvents && (kind == Push || kind == MergeQueue || kind == PullRequest && ownRepository)
			e := f.Default && f.HeadOnDefault
			if f.CI {
				e = e && f.HeadIsEvents && onDefaultBranch && (kind == Push || kind == Schedule || kind == Manual)
			} else {
				e = e && f.DiskIsHead && f.RemoteKnown
			}
			want := f.Allowed || d || a && same[OnBase] || b && same[Approved] || c && same[Remembered] || e && (f.CI || same[OnDefault])
			if (got.Way != "") != want {
				t.Fatalf("%+v with the same surroundings %v: settled %q, want %v", f, same, got.Way, want)
			}
			words := a || b || c || e
			if !want && words != (got.Words != "") {
				t.Fatalf("%+v: the words are settled by %q, want %v", f, got.Words, words)
			}
			for _, w := range asked {
				if holds := map[Way]bool{OnBase: a, Approved: b, Remembered: c, OnDefault: e && !f.CI}; !holds[w] {
					t.Fatalf("%+v: asked for the surroundings of %q, whose words do not hold", f, w)
				}
			}
		}
	}
}

// TestJudgeUnread holds that surroundings that cannot be read settle nothing.
func TestJudgeUnread(t *testing.T) {
	for _, way := range []Way{OnBase, Approved, Remembered, OnDefault} {
		f := Facts{
			RemoteKnown: true, Base: way == OnBase, Default: way == OnBase || way == OnDefault, HeadOnDefault: way == OnDefault,
			DiskIsHead: way == OnDefault, Approved: way == Approved, Remembered: way == Remembered,
			Surroundings: func(Way) Difference { return Difference{Err: errors.New("unreadable")} },
		}
		if v := Judge(&f); v.Way != "" || v.Words != way || v.Difference.Err == nil {
			t.Errorf("%s: %+v", way, v)
		}
	}
}
