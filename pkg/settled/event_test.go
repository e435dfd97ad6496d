package settled

import (
	"errors"
	"io/fs"
	"testing"
)

// environment makes one of variables and files.
func environment(variables, files map[string]string) Environment {
	return Environment{
		Lookup: func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
		ReadFile: func(path string, limit int64) ([]byte, error) {
			text, ok := files[path]
			if !ok {
				return nil, fs.ErrNotExist
			}
			if int64(len(text)) > limit {
				return nil, errors.New("too large")
			}
			return []byte(text), nil
		},
	}
}

// TestReadEvent is the table of what CI systems say. own, change and onDefault are
// what the rule makes of it.
func TestReadEvent(t *testing.T) {
	same := `{"pull_request":{"base":{"sha":"b1","repo":{"full_name":"we/project"}},"head":{"sha":"h1","repo":{"full_name":"we/project"}}},"repository":{"default_branch":"main"}}`
	fork := `{"pull_request":{"base":{"sha":"b1","repo":{"full_name":"we/project"}},"head":{"sha":"h1","repo":{"full_name":"they/project"}}},"repository":{"default_branch":"main"}}`
	deleted := `{"pull_request":{"base":{"sha":"b1","repo":{"full_name":"we/project"}},"head":{"sha":"h1","repo":null}}}`
	unnamed := `{"pull_request":{"base":{"sha":"b1"},"head":{"sha":"h1"}}}`
	push := `{"before":"p1","after":"c1","repository":{"default_branch":"main"}}`
	gitHub := func(name, ref string) map[string]string {
		return map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": "e", "GITHUB_SHA": "c1", "GITHUB_REF": ref}
	}
	gitLab := func(source string, more ...string) map[string]string {
		v := map[string]string{"GITLAB_CI": "true", "CI_PIPELINE_SOURCE": source, "CI_COMMIT_SHA": "c1", "CI_DEFAULT_BRANCH": "main"}
		for i := 0; i < len(more); i += 2 {
			v[more[i]] = more[i+1]
		}
		return v
	}
	for _, c := range []struct {
		name                   string
		variables              map[string]string
		file                   string
		want                   Event
		own, change, onDefault bool
	}{
		{"nothing", nil, "", Event{}, false, false, false},
		{"another system", map[string]string{"CI": "true"}, "", Event{}, false, false, false},
		{"a pull request", gitHub("pull_request", "refs/pull/1/merge"), same,
			Event{PullRequest, "c1", "h1", "b1", "", "we/project", "we/project", "", "main"}, true, true, false},
		{"a pull request of a fork", gitHub("pull_request", "refs/pull/1/merge"), fork,
			Event{PullRequest, "c1", "h1", "b1", "", "they/project", "we/project", "", "main"}, false, true, false},
		{"a fork whose branch is named main, in a workflow of the base", gitHub("pull_request_target", "refs/heads/main"), fork,
			Event{PullRequest, "c1", "h1", "b1", "", "they/project", "we/project", "main", "main"}, false, true, false},
		{"a workflow of the base, of the same repository", gitHub("pull_request_target", "refs/heads/main"), same,
			Event{PullRequest, "c1", "h1", "b1", "", "we/project", "we/project", "main", "main"}, true, true, false},
		{"a fork that was deleted", gitHub("pull_request", "refs/pull/1/merge"), deleted,
			Event{PullRequest, "c1", "h1", "b1", "", "", "we/project", "", ""}, false, true, false},
		{"repositories that are not named", gitHub("pull_request", "refs/pull/1/merge"), unnamed,
			Event{PullRequest, "c1", "h1", "b1", "", "", "", "", ""}, false, true, false},
		{"a push to the default branch", gitHub("push", "refs/heads/main"), push,
			Event{Push, "c1", "", "", "p1", "", "", "main", "main"}, true, true, true},
		{"a push to another branch", gitHub("push", "refs/heads/topic"), push,
			Event{Push, "c1", "", "", "p1", "", "", "topic", "main"}, true, true, false},
		{"a push of a tag named main", gitHub("push", "refs/tags/main"), push,
			Event{Push, "c1", "", "", "p1", "", "", "", "main"}, true, true, false},
		{"a merge queue", gitHub("merge_group", "refs/heads/gh-readonly-queue/main/pr-1"), `{"merge_group":{"base_sha":"b1"},"repository":{"default_branch":"main"}}`,
			Event{MergeQueue, "c1", "", "b1", "", "", "", "gh-readonly-queue/main/pr-1", "main"}, true, true, false},
		{"a schedule, which need not name the repository", gitHub("schedule", "refs/heads/main"), `{"schedule":"0 0 * * *"}`,
			Event{Schedule, "c1", "", "", "", "", "", "main", "main"}, false, false, true},
		{"a start by hand on the default branch", gitHub("workflow_dispatch", "refs/heads/main"), `{"repository":{"default_branch":"main"}}`,
			Event{Manual, "c1", "", "", "", "", "", "main", "main"}, false, false, true},
		{"a start by hand on another branch", gitHub("workflow_dispatch", "refs/heads/topic"), `{"repository":{"default_branch":"main"}}`,
			Event{Manual, "c1", "", "", "", "", "", "topic", "main"}, false, false, false},
		{"a start by hand that does not name the default branch", gitHub("workflow_dispatch", "refs/heads/main"), `{}`,
			Event{Manual, "c1", "", "", "", "", "", "main", ""}, false, false, false},
		{"a comment on a pull request", gitHub("issue_comment", "refs/heads/main"), same,
			Event{Other, "c1", "", "", "", "", "", "main", "main"}, false, false, false},
		{"a review of a pull request", gitHub("pull_request_review", "refs/pull/1/merge"), same,
			Event{Other, "c1", "", "", "", "", "", "", "main"}, false, false, false},
		{"another workflow's end", gitHub("workflow_run", "refs/heads/main"), push,
			Event{Other, "c1", "", "", "", "", "", "main", "main"}, false, false, false},
		{"a runner that does not name the event", gitHub("", ""), same,
			Event{PullRequest, "c1", "h1", "b1", "", "we/project", "we/project", "", "main"}, true, true, false},
		{"a runner that names neither event nor change", gitHub("", ""), `{"comment":{}}`,
			Event{Other, "c1", "", "", "", "", "", "", ""}, false, false, false},

		{"a merge request", gitLab("merge_request_event", "CI_MERGE_REQUEST_DIFF_BASE_SHA", "b1", "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", "we/project", "CI_MERGE_REQUEST_PROJECT_PATH", "we/project"), "",
			Event{PullRequest, "c1", "c1", "b1", "", "we/project", "we/project", "", "main"}, true, true, false},
		{"a merge request of a fork, with its result", gitLab("merge_request_event", "CI_MERGE_REQUEST_DIFF_BASE_SHA", "b1", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "h1",
			"CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", "they/project", "CI_MERGE_REQUEST_PROJECT_PATH", "we/project", "CI_MERGE_REQUEST_EVENT_TYPE", "merged_result"), "",
			Event{PullRequest, "c1", "h1", "b1", "", "they/project", "we/project", "", "main"}, false, true, false},
		{"a merge train", gitLab("merge_request_event", "CI_MERGE_REQUEST_DIFF_BASE_SHA", "b1", "CI_MERGE_REQUEST_TARGET_BRANCH_SHA", "b2", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "h1",
			"CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", "they/project", "CI_MERGE_REQUEST_PROJECT_PATH", "we/project", "CI_MERGE_REQUEST_EVENT_TYPE", "merge_train"), "",
			Event{MergeQueue, "c1", "h1", "b2", "", "they/project", "we/project", "", "main"}, true, true, false},
		{"a push to GitLab", gitLab("push", "CI_COMMIT_BRANCH", "main", "CI_COMMIT_BEFORE_SHA", "p1"), "",
			Event{Push, "c1", "", "", "p1", "", "", "main", "main"}, true, true, true},
		{"a tag on GitLab", gitLab("push", "CI_COMMIT_TAG", "main", "CI_COMMIT_BEFORE_SHA", "p1"), "",
			Event{Push, "c1", "", "", "p1", "", "", "", "main"}, true, true, false},
		{"a GitLab schedule on another branch", gitLab("schedule", "CI_COMMIT_BRANCH", "topic"), "",
			Event{Schedule, "c1", "", "", "", "", "", "topic", "main"}, false, false, false},
		{"a GitLab schedule", gitLab("schedule", "CI_COMMIT_BRANCH", "main"), "",
			Event{Schedule, "c1", "", "", "", "", "", "main", "main"}, false, false, true},
		{"a GitLab start by hand", gitLab("web", "CI_COMMIT_BRANCH", "main"), "",
			Event{Manual, "c1", "", "", "", "", "", "main", "main"}, false, false, true},
		{"a GitLab pipeline of another project", gitLab("pipeline", "CI_COMMIT_BRANCH", "main"), "",
			Event{Other, "c1", "", "", "", "", "", "main", "main"}, false, false, false},
	} {
		got, err := ReadEvent(environment(c.variables, map[string]string{"e": c.file}))
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v\nwant %+v", c.name, got, err, c.want)
		}
		if got.SameRepository() != c.own || got.OfChange() != c.change || got.OnDefault() != c.onDefault {
			t.Errorf("%s: same repository %v, of a change %v, on the default branch %v", c.name, got.SameRepository(), got.OfChange(), got.OnDefault())
		}
	}
}

// TestReadEventErrors holds that an event that cannot be read is none of any kind.
func TestReadEventErrors(t *testing.T) {
	for _, c := range []struct{ name, file string }{
		{"no such file", ""},
		{"cut short", `{"pull_request":`},
		{"no pull request", `{}`},
	} {
		files := map[string]string{}
		if c.file != "" {
			files["e"] = c.file
		}
		e, err := ReadEvent(environment(map[string]string{"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": "e"}, files))
		if err == nil || e.SameRepository() || e.OnDefault() {
			t.Errorf("%s: %+v, %v", c.name, e, err)
		}
	}
}

func TestInCI(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"CI", "true", true}, {"CI", "1", true}, {"CI", "woodpecker", true}, {"CI", "false", false}, {"CI", "0", false}, {"CI", "", false},
		{"GITHUB_ACTIONS", "true", true}, {"GITHUB_ACTIONS", "", false}, {"GITLAB_CI", "true", true}, {"TERM", "xterm", false},
	} {
		if got := environment(map[string]string{c.name: c.value}, nil).InCI(); got != c.want {
			t.Errorf("%s=%s: %v", c.name, c.value, got)
		}
	}
}
