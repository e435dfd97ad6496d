package gitrepo

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAttackSize is attack 27 for objects: what is larger than allowed is
// refused by its size, whatever its header says and however it is stored.
func TestAttackSize(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	s.history()
	s.commit("big", strings.Repeat("0123456789", 30_000))
	last := s.commit("big", strings.Repeat("0123456789", 30_001)) // stored as a delta later
	check := func(t *testing.T) {
		eachBackend(t, func(t *testing.T, b Backend) {
			r, err := Open(ctx, s.dir, Options{Backend: b, Env: s.env, MaxObject: 300_000})
			must(t, err)
			defer func() { _ = r.Close() }()
			_, _, err = r.File(ctx, last, "big", 1<<30)
			var large *TooLargeError
			if !errors.As(err, &large) || large.Size != 300_010 || large.Max != 300_000 {
				t.Errorf("error is %v", err)
			}
			if body, _, err := r.File(ctx, mustHash(t, s.git("rev-parse", "HEAD~1")), "big", 1<<30); err != nil || len(body) != 300_000 {
				t.Errorf("at the bound: %d, %v", len(body), err)
			}
		})
	}
	t.Run("attack-27/loose", check)
	s.git("gc", "-q")
	t.Run("attack-27/packed", check)
	t.Run("attack-27/more-than-announced", func(t *testing.T) {
		id := strings.Repeat("ab", 20)
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		_, _ = z.Write([]byte("blob 5\x00"))
		_, _ = z.Write(make([]byte, 50<<20))
		_ = z.Close()
		must(t, os.MkdirAll(filepath.Dir(s.loose(id)), 0o755))
		must(t, os.WriteFile(s.loose(id), b.Bytes(), 0o644))
		eachBackend(t, func(t *testing.T, b Backend) {
			if _, _, err := s.open(b).Object(ctx, mustHash(t, id)); !isA[*IntegrityError](err) {
				t.Errorf("error is %v", err)
			}
		})
	})
}

func TestHash(t *testing.T) {
	const digits = "279e4b1efb1c313bc82c50827b4e3b1c640e0629"
	h := mustHash(t, digits)
	if h.String() != digits || h.Short() != digits[:12] || h.Size() != 20 || h.IsZero() {
		t.Errorf("%v %v %v", h, h.Short(), h.Size())
	}
	text, err := json.Marshal(map[string]Hash{"a": h, "b": {}})
	if err != nil || string(text) != `{"a":"`+digits+`","b":""}` {
		t.Errorf("%s, %v", text, err)
	}
	var back map[string]Hash
	if err := json.Unmarshal(text, &back); err != nil || back["a"] != h || !back["b"].IsZero() || back["b"].Short() != "" {
		t.Errorf("%v, %v", back, err)
	}
	for _, bad := range []string{"", "27", digits[1:], strings.ToUpper(digits), digits + "00", "g" + digits[1:], " " + digits[1:]} {
		if _, err := ParseHash(bad); err == nil {
			t.Errorf("ParseHash(%q) succeeded", bad)
		}
	}
	// git hash-object of an empty blob, in both hashes.
	if got := objectID(KindBlob, nil, 20).String(); got != "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" {
		t.Errorf("empty blob is %s", got)
	}
	if got := objectID(KindBlob, nil, 32).String(); got != "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813" {
		t.Errorf("empty blob is %s", got)
	}
	if zero := mustHash(t, strings.Repeat("0", 40)); !zero.IsZero() || h.Compare(zero) != 1 {
		t.Error("the all-zero id")
	}
}

func TestReadOddities(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	first, last := s.history()
	s.git("tag", "-a", "-m", "x", "of-tag", "lock/v1")
	s.git("tag", "of-blob", "HEAD:agentgateway.lock")
	eachBackend(t, func(t *testing.T, b Backend) {
		r := s.open(b)
		if p, err := r.FirstParent(ctx, last); err != nil || p != first {
			t.Errorf("FirstParent = %v, %v", p, err)
		}
		if p, err := r.FirstParent(ctx, first); err != nil || !p.IsZero() {
			t.Errorf("FirstParent of a root = %v, %v", p, err)
		}
		if p, err := r.Parents(ctx, last); err != nil || len(p) != 1 || p[0] != first {
			t.Errorf("Parents = %v, %v", p, err)
		}
		if id, err := r.Resolve(ctx, "of-tag"); err != nil || id != last {
			t.Errorf("a tag of a tag: %v, %v", id, err)
		}
		if _, err := r.Resolve(ctx, "of-blob"); err == nil {
			t.Error("a tag of a blob was resolved to a commit")
		}
		if _, err := r.Resolve(ctx, strings.Repeat("ab", 20)); !isA[*MissingObjectError](err) {
			t.Errorf("an unknown id: %v", err)
		}
		if _, err := r.Resolve(ctx, s.git("rev-parse", "HEAD^{tree}")[:10]); !errors.Is(err, ErrNotFound) {
			t.Errorf("an abbreviation of a tree: %v", err)
		}
		if entries, err := r.Dir(ctx, last, "dir/deep"); err != nil || len(entries) != 1 || entries[0].Name != "a.json" {
			t.Errorf("Dir = %v, %v", entries, err)
		}
		if _, err := r.Dir(ctx, last, "none"); !errors.Is(err, ErrNotFound) {
			t.Errorf("Dir(none): %v", err)
		}
		if _, err := r.Dir(ctx, last, "link"); !isA[*ModeError](err) {
			t.Errorf("Dir(link): %v", err)
		}
		if _, err := r.ReadTag(ctx, last); err == nil {
			t.Error("a commit was read as a tag")
		}
		if tag, err := r.ReadTag(ctx, mustHash(t, s.git("rev-parse", "refs/tags/lock/v1"))); err != nil || tag.Target != last {
			t.Errorf("ReadTag = %v, %v", tag, err)
		}
		if _, err := r.References(ctx, "HEAD"); err == nil {
			t.Error("References outside refs/ succeeded")
		}
		if r.GitDir() != filepath.Join(s.dir, ".git") || r.Root() != s.dir {
			t.Errorf("GitDir %q, Root %q", r.GitDir(), r.Root())
		}
	})
}
