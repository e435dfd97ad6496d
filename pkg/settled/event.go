package settled

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// An EventKind is what made a CI system start a run.
type EventKind string

// The kinds of events. A system's other events, such as a comment, are Other: they
// say nothing of whose commit is checked out.
const (
	NoEvent     EventKind = ""
	PullRequest EventKind = "pull request"
	Push        EventKind = "push"
	MergeQueue  EventKind = "merge queue"
	Schedule    EventKind = "schedule"
	Manual      EventKind = "start by hand"
	Other       EventKind = "other"
)

// An Event is what a CI system says a run is about. Texts that it does not say are
// empty.
type Event struct {
	Kind EventKind
	// Commit is what the system says to check out.
	Commit string
	// Head and Base are the commits of the change and of what it goes into: of a pull
	// request, and Base of a merge queue.
	Head, Base string
	// Before is the commit of the branch before a push; zeros where there was none.
	Before string
	// HeadRepository and BaseRepository name the repositories of a pull request.
	HeadRepository, BaseRepository string
	// Branch is the branch that a push, schedule or start is about, and
	// DefaultBranch the repository's.
	Branch, DefaultBranch string
}

// OfChange reports whether the event brings commits: a pull request, a push, a merge
// queue.
func (e *Event) OfChange() bool {
	return e.Kind == PullRequest || e.Kind == Push || e.Kind == MergeQueue
}

// SameRepository reports whether the commits come from the repository itself: what
// somebody pushed to it did, and what is in its merge queue counts so. A pull
// request that does not name both, as where a fork was deleted, does not.
func (e *Event) SameRepository() bool {
	if e.Kind == PullRequest {
		return e.HeadRepository != "" && e.HeadRepository == e.BaseRepository
	}
	return e.Kind == Push || e.Kind == MergeQueue
}

// OnDefault reports whether the event is a push to the default branch, or a schedule
// or start by hand on it.
func (e *Event) OnDefault() bool {
	return (e.Kind == Push || e.Kind == Schedule || e.Kind == Manual) && e.Branch != "" && e.Branch == e.DefaultBranch
}

// An Environment is where events are read from.
type Environment struct {
	Lookup   func(name string) (string, bool)               // environment variables
	ReadFile func(path string, limit int64) ([]byte, error) // of the file system
}

func (e Environment) get(name string) string {
	value, _ := e.Lookup(name)
	return value
}

// InCI reports whether an automatic check runs.
func (e Environment) InCI() bool {
	value := e.get("CI")
	return value != "" && value != "false" && value != "0" || e.get("GITHUB_ACTIONS") == "true" || e.get("GITLAB_CI") == "true"
}

// systems are the CI systems that say what a run is about, with the variable that
// each sets. Gitea and Forgejo set what GitHub does.
var systems = []struct {
	variable string
	read     func(Environment) (Event, error)
}{
	{"GITHUB_EVENT_PATH", readGitHub},
	{"GITHUB_EVENT_NAME", readGitHub},
	{"GITLAB_CI", readGitLab},
}

// ReadEvent reads the event of a run; one of no kind where no system says anything.
func ReadEvent(env Environment) (Event, error) {
	for _, s := range systems {
		if env.get(s.variable) != "" {
			return s.read(env)
		}
	}
	return Event{}, nil
}

// maxEvent bounds the file of an event.
const maxEvent = 16 << 20

// payload is what is read of the file of a GitHub event.
type payload struct {
	Before      string `json:"before"`
	PullRequest *struct {
		Base payloadSide `json:"base"`
		Head payloadSide `json:"head"`
	} `json:"pull_request"`
	MergeGroup *struct {
		BaseSHA string `json:"base_sha"`
	} `json:"merge_group"`
	Repository struct {
		DefaultBranch string `json:"default_branch"`
	} `json:"repository"`
}

type payloadSide struct {
	SHA  string `json:"sha"`
	Repo struct {
		FullName string `json:"full_name"`
	} `json:"repo"`
}

// gitHubKinds are the names of GitHub's events.
var gitHubKinds = map[string]EventKind{
	"pull_request": PullRequest, "pull_request_target": PullRequest, "push": Push, "merge_group": MergeQueue,
	"schedule": Schedule, "workflow_dispatch": Manual,
}

// kindOf is the kind of a GitHub event. A runner that does not name it leaves what
// the file holds.
func (p *payload) kindOf(name string) EventKind {
	if kind, ok := gitHubKinds[name]; ok {
		return kind
	}
	switch {
	case name != "":
		return Other
	case p.PullRequest != nil:
		return PullRequest
	case p.MergeGroup != nil:
		return MergeQueue
	case p.Before != "":
		return Push
	}
	return Other
}

func readGitHub(env Environment) (Event, error) {
	var p payload
	if path := env.get("GITHUB_EVENT_PATH"); path != "" {
		data, err := env.ReadFile(path, maxEvent)
		if err != nil {
			return Event{}, fmt.Errorf("the event of GITHUB_EVENT_PATH: %w", err)
		}
		if err := json.Unmarshal(data, &p); err != nil {
			return Event{}, fmt.Errorf("the event of GITHUB_EVENT_PATH: %s: %w", path, err)
		}
	}
	e := Event{
		Kind: p.kindOf(env.get("GITHUB_EVENT_NAME")), Commit: env.get("GITHUB_SHA"),
		Branch: branchOf(env.get("GITHUB_REF")), DefaultBranch: p.Repository.DefaultBranch,
	}
	switch e.Kind {
	case PullRequest:
		if p.PullRequest == nil {
			return e, fmt.Errorf("the event of GITHUB_EVENT_PATH: it is of a pull request and describes none")
		}
		e.Head, e.HeadRepository = p.PullRequest.Head.SHA, p.PullRequest.Head.Repo.FullName
		e.Base, e.BaseRepository = p.PullRequest.Base.SHA, p.PullRequest.Base.Repo.FullName
	case MergeQueue:
		if p.MergeGroup != nil {
			e.Base = p.MergeGroup.BaseSHA
		}
	case Push:
		e.Before = p.Before
	case Schedule:
		// The file of a schedule need not name the repository; it runs on the default
		// branch and no other.
		e.DefaultBranch = cmp.Or(e.DefaultBranch, e.Branch)
	}
	return e, nil
}

// branchOf is the branch that a full name of a reference is of; empty for a tag.
func branchOf(ref string) string {
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		return ""
	}
	return branch
}

// gitLabKinds are what GitLab calls the sources of a pipeline.
var gitLabKinds = map[string]EventKind{
	"merge_request_event": PullRequest, "push": Push, "schedule": Schedule, "web": Manual,
}

func readGitLab(env Environment) (Event, error) {
	kind, ok := gitLabKinds[env.get("CI_PIPELINE_SOURCE")]
	if !ok {
		kind = Other
	}
	e := Event{
		Kind: kind, Commit: env.get("CI_COMMIT_SHA"),
		Branch: env.get("CI_COMMIT_BRANCH"), DefaultBranch: env.get("CI_DEFAULT_BRANCH"),
	}
	switch kind {
	case PullRequest:
		// A pipeline of the branch alone has no commit that merges it.
		e.Head = cmp.Or(env.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"), e.Commit)
		e.Base = env.get("CI_MERGE_REQUEST_DIFF_BASE_SHA")
		e.HeadRepository, e.BaseRepository = env.get("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH"), env.get("CI_MERGE_REQUEST_PROJECT_PATH")
		if env.get("CI_MERGE_REQUEST_EVENT_TYPE") == "merge_train" {
			e.Kind, e.Base = MergeQueue, cmp.Or(env.get("CI_MERGE_REQUEST_TARGET_BRANCH_SHA"), e.Base)
		}
	case Push:
		e.Before = env.get("CI_COMMIT_BEFORE_SHA")
	}
	return e, nil
}
