package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAttackHistory: what a repository says about its own history beside the
// objects changes nothing that is read.
func TestAttackHistory(t *testing.T) {
	ctx := context.Background()
	cases := []struct {
		name  string
		forge func(s *sandbox, first, last Hash)
	}{
		{"attack-17/replace-commit", func(s *sandbox, first, last Hash) { s.git("replace", last.String(), first.String()) }},
		{"attack-17/replace-blob", func(s *sandbox, first, _ Hash) {
			s.git("replace", s.git("rev-parse", "HEAD:agentgateway.lock"), s.git("rev-parse", first.String()+":agentgateway.lock"))
		}},
		{"attack-17/graft", func(s *sandbox, first, last Hash) {
			s.write(".git/info/grafts", last.String()+"\n")
		}},
		{"attack-17/forged-shallow", func(s *sandbox, first, last Hash) { s.write(".git/shallow", last.String()+"\n") }},
		{"attack-17/forged-commit-graph", func(s *sandbox, first, last Hash) { s.write(".git/objects/info/commit-graph", "CGPHjunk") }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSandbox(t)
			first, last := s.history()
			c.forge(s, first, last)
			eachBackend(t, func(t *testing.T, b Backend) {
				r := s.open(b)
				id, err := r.Resolve(ctx, "HEAD")
				if err != nil || id != last {
					t.Fatalf("Resolve = %v, %v", id, err)
				}
				if body, _, err := r.File(ctx, id, "agentgateway.lock", 100); err != nil || string(body) != "two\n" {
					t.Errorf("File = %q, %v", body, err)
				}
				nodes, err := r.History(ctx, id)
				if err != nil || len(nodes) != 2 || nodes[0].ID != first {
					t.Errorf("History = %v, %v", nodes, err)
				}
			})
		})
	}
}

// loose is the file of a loose object.
func (s *sandbox) loose(id string) string {
	return filepath.Join(s.dir, ".git/objects", id[:2], id[2:])
}

func TestAttackSwappedObject(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	first, last := s.history()
	one, two := s.git("rev-parse", first.String()+":agentgateway.lock"), s.git("rev-parse", "HEAD:agentgateway.lock")
	other, err := os.ReadFile(s.loose(one))
	must(t, err)
	must(t, os.Chmod(s.loose(two), 0o644))
	must(t, os.WriteFile(s.loose(two), other, 0o644))
	t.Run("attack-18/loose-object-swapped", func(t *testing.T) {
		eachBackend(t, func(t *testing.T, b Backend) {
			if _, _, err := s.open(b).File(ctx, last, "agentgateway.lock", 100); !isA[*IntegrityError](err) {
				t.Errorf("error is %v", err)
			}
		})
	})
	must(t, os.WriteFile(s.loose(two), []byte("not zlib"), 0o644))
	t.Run("attack-18/loose-object-damaged", func(t *testing.T) {
		eachBackend(t, func(t *testing.T, b Backend) {
			r := s.open(b)
			_, _, err := r.File(ctx, last, "agentgateway.lock", 100)
			if !isA[*IntegrityError](err) && !isA[*MissingObjectError](err) {
				t.Errorf("error is %v", err)
			}
			// The reader goes on after it.
			if body, _, err := r.File(ctx, first, "agentgateway.lock", 100); err != nil || string(body) != "one\n" {
				t.Errorf("afterwards: %q, %v", body, err)
			}
		})
	})
}

// TestAttackPack flips bytes of a pack and its index, one at a time: whatever is
// read is right, or an error.
func TestAttackPack(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	s.history()
	s.git("gc", "-q")
	last := s.head()
	want, _, err := s.open(GoGit).File(ctx, last, "agentgateway.lock", 100)
	must(t, err)
	for _, kind := range []string{"pack", "idx"} {
		found, err := filepath.Glob(filepath.Join(s.dir, ".git/objects/pack/*."+kind))
		if err != nil || len(found) != 1 {
			t.Fatalf("packs: %v, %v", found, err)
		}
		whole, err := os.ReadFile(found[0])
		must(t, err)
		must(t, os.Chmod(found[0], 0o644))
		read := func(b Backend, at int) {
			r, err := Open(ctx, s.dir, Options{Backend: b, Env: s.env})
			if err != nil {
				return
			}
			defer func() { _ = r.Close() }()
			if body, _, err := r.File(ctx, last, "agentgateway.lock", 100); err == nil && string(body) != string(want) {
				t.Errorf("attack-18: with byte %d of the %s flipped the file reads %q", at, kind, body)
			}
		}
		for at := 0; at < len(whole); at += 3 {
			bad := append([]byte(nil), whole...)
			bad[at] ^= 0x41
			must(t, os.WriteFile(found[0], bad, 0o644))
			read(GoGit, at)
			if at%96 == 0 {
				read(GitProgram, at)
			}
		}
		must(t, os.WriteFile(found[0], whole, 0o644))
	}
}

func TestAttackTag(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	_, head := s.history()
	tag := s.git("rev-parse", "refs/tags/lock/v1")
	s.git("update-ref", "refs/tags/lock/v9", tag)
	s.git("tag", "light")
	s.git("tag", "-a", "-m", "x", "of-tag", "lock/v1")
	s.git("tag", "-a", "-m", "x", "of-tree", "HEAD^{tree}")
	s.git("tag", "-a", "-m", "x", "of-blob", "HEAD:agentgateway.lock")
	s.git("symbolic-ref", "refs/tags/lock/v8", "refs/tags/lock/v1")
	eachBackend(t, func(t *testing.T, b Backend) {
		r := s.open(b)
		for _, c := range []struct{ name, ref, rule string }{
			{"attack-16/renamed", "lock/v9", "renamed"},
			{"attack-16/lightweight", "light", "lightweight"},
			{"attack-16/tag-to-tag", "of-tag", "target"},
			{"attack-16/tag-to-tree", "of-tree", "target"},
			{"attack-16/tag-to-blob", "of-blob", "target"},
			{"attack-16/symbolic", "lock/v8", "symbolic"},
		} {
			t.Run(c.name, func(t *testing.T) {
				_, _, err := r.AnnotatedTag(ctx, "refs/tags/"+c.ref)
				checkRule(t, c.rule, err)
			})
		}
		t.Run("attack-16/unsigned", func(t *testing.T) {
			got, target, err := r.AnnotatedTag(ctx, "refs/tags/lock/v1")
			if err != nil || target != head || got.Signature != nil {
				t.Errorf("%+v, %v, %v", got, target, err)
			}
		})
		for _, name := range []string{"lock/v1", "refs/heads/main", "refs/tags/../heads/main", "refs/tags/none"} {
			if _, _, err := r.AnnotatedTag(ctx, name); err == nil {
				t.Errorf("AnnotatedTag(%q) succeeded", name)
			}
		}
		refs, err := r.Tags(ctx, "lock/v*")
		if err != nil || len(refs) != 3 || refs[0].Name != "refs/tags/lock/v9" {
			t.Errorf("Tags = %v, %v", refs, err)
		}
	})
}

// TestAttackIncomplete is attack 23: what is not there is said, with the fix.
func TestAttackIncomplete(t *testing.T) {
	ctx := context.Background()
	build := map[string]func(m *sandbox) (*sandbox, string){
		"attack-23/shallow": func(s *sandbox) (*sandbox, string) {
			s.git("clone", "-q", "--depth=1", "file://"+s.dir+"/m", "c")
			return s.in("c"), "fetch-depth: 0"
		},
		"attack-23/partial": func(s *sandbox) (*sandbox, string) {
			s.in("m").git("config", "uploadpack.allowFilter", "true")
			s.git("clone", "-q", "--no-checkout", "--filter=tree:0", "file://"+s.dir+"/m", "c")
			return s.in("c"), "partial clone"
		},
	}
	for name, f := range build {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			m := s.in("m")
			mkdir(t, m.dir)
			first, last := m.history()
			c, hint := f(s)
			// A lazy fetch would run this.
			probe := filepath.Join(t.TempDir(), "probe")
			c.git("config", "remote.origin.uploadpack", "touch "+probe+"; git-upload-pack")
			for _, b := range []Backend{Automatic, GitProgram} {
				r := c.open(b)
				_, historyErr := r.History(ctx, last)
				_, _, fileErr := r.File(ctx, first, "agentgateway.lock", 100)
				err := errors.Join(historyErr, fileErr)
				var missing *MissingObjectError
				if !errors.As(err, &missing) || !strings.Contains(missing.Error(), hint) {
					t.Errorf("error is %v", err)
				}
				if missing != nil && (missing.Shallow != strings.HasSuffix(name, "shallow") || missing.Partial != strings.HasSuffix(name, "partial")) {
					t.Errorf("%+v", missing)
				}
				if r.IsShallow() != strings.HasSuffix(name, "shallow") {
					t.Errorf("IsShallow = %v", r.IsShallow())
				}
			}
			if exists(probe) {
				t.Error("reading started what the configuration names")
			}
		})
	}
}

// TestAttackConfiguration is attack 25: nothing that the repository's own
// configuration or attributes name is started, read or written.
func TestAttackConfiguration(t *testing.T) {
	ctx := context.Background()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run("attack-25/"+format, func(t *testing.T) {
			s := newSandbox(t)
			s.history("--object-format=" + format)
			out := t.TempDir()
			evil := func(name string) string {
				path := filepath.Join(out, name+".sh")
				must(t, os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\ntouch %s/ran-%s\nexit 1\n", out, name), 0o755))
				return path
			}
			for key, name := range map[string]string{
				"core.fsmonitor": "fsmonitor", "gpg.program": "gpg", "gpg.ssh.program": "ssh", "core.editor": "editor",
				"core.pager": "pager", "filter.x.clean": "clean", "filter.x.smudge": "smudge", "filter.x.process": "process",
				"diff.external": "diff", "core.sshCommand": "sshcommand", "credential.helper": "credential", "core.askPass": "askpass",
				"alias.cat-file": "alias", "gpg.ssh.defaultKeyCommand": "defaultkey", "core.alternateRefsCommand": "alternates",
			} {
				s.git("config", key, evil(name))
			}
			s.git("config", "commit.gpgSign", "true")
			s.git("config", "tag.gpgSign", "true")
			s.git("config", "core.worktree", out)
			s.write(".git/info/attributes", "* filter=x\n")
			for _, hook := range []string{"reference-transaction", "post-index-change", "post-checkout", "pre-auto-gc"} {
				must(t, os.MkdirAll(filepath.Join(s.dir, "hooks"), 0o755))
				must(t, os.Rename(evil(hook), filepath.Join(s.dir, "hooks", hook)))
			}
			s.git("config", "core.hooksPath", "hooks")
			for _, b := range []Backend{Automatic, GitProgram} {
				r := s.open(b)
				head, err := r.Resolve(ctx, "HEAD")
				must(t, err)
				s.write("f", fmt.Sprintln("content", b))
				id, err := r.Commit(ctx, CommitOptions{Paths: []string{"f"}, Message: "m"})
				must(t, err)
				if _, err := r.SignedTag(ctx, TagOptions{Name: fmt.Sprint("t", b), Target: head, Message: "m"}); err != nil {
					t.Error(err)
				}
				if body, _, err := r.File(ctx, id, "f", 100); err != nil || string(body) != fmt.Sprintln("content", b) {
					t.Errorf("File = %q, %v", body, err)
				}
				if _, err := r.Tags(ctx, "*"); err != nil {
					t.Error(err)
				}
				if v, _, err := r.ConfigValue(ctx, "gpg.ssh.program"); err != nil || !strings.HasSuffix(v, "ssh.sh") {
					t.Errorf("ConfigValue = %q, %v", v, err)
				}
			}
			if ran, _ := filepath.Glob(filepath.Join(out, "ran-*")); len(ran) != 0 {
				t.Errorf("started: %v", ran)
			}
		})
	}
}

// TestAttackEnvironment: variables left over from a hook do not lead elsewhere.
func TestAttackEnvironment(t *testing.T) {
	ctx := context.Background()
	other := newSandbox(t)
	other.history()
	s := newSandbox(t)
	s.git("init", "-q", "-b", "main")
	id := s.commit("agentgateway.lock", "mine\n")
	s.env = append(s.env, "GIT_DIR="+other.dir+"/.git", "GIT_WORK_TREE="+other.dir, "GIT_INDEX_FILE="+other.dir+"/.git/index",
		"GIT_OBJECT_DIRECTORY="+other.dir+"/.git/objects", "GIT_CONFIG_PARAMETERS='core.bare=true'", "GIT_NAMESPACE=x")
	r := s.open(GitProgram)
	if got, err := r.Resolve(ctx, "HEAD"); err != nil || got != id {
		t.Errorf("Resolve = %v, %v; want %v", got, err, id)
	}
	s.write("f", "x\n")
	if _, err := r.Commit(ctx, CommitOptions{Paths: []string{"f"}, Message: "m"}); err != nil {
		t.Error(err)
	}
	if got := other.git("status", "--porcelain"); got != "" {
		t.Errorf("the other repository was changed: %s", got)
	}
}
