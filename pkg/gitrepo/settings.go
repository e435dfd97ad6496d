package gitrepo

import (
	"context"
	"errors"
	"fmt"
)

// ErrNoIdentity says that git does not know who its user is.
var ErrNoIdentity = errors.New(`git does not know who you are; tell it:
  git config --global user.name "Your Name"
  git config --global user.email you@example.com`)

// ConfigValue gives the last value of a git configuration key ("user.email"),
// from the repository's, the user's and the system's files, as git reads them.
// set is false where there is none. A path in it is not expanded.
func (r *Repo) ConfigValue(ctx context.Context, key string) (value string, set bool, err error) {
	out, err := r.git.run(ctx, gitCall{args: []string{"config", "-z", "--get", "--end-of-options", key}, config: true})
	switch {
	case exitCode(err) == 1:
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("reading git configuration %q: %w", key, err)
	}
	return string(trimNUL(out)), true, nil
}

func trimNUL(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == 0 {
		return b[:n-1]
	}
	return b
}

// Remote gives the URL of a remote as configured; ErrNotFound without one.
func (r *Repo) Remote(ctx context.Context, name string) (string, error) {
	url, set, err := r.ConfigValue(ctx, "remote."+name+".url")
	if err == nil && !set {
		err = fmt.Errorf("remote %q: %w", name, ErrNotFound)
	}
	return url, err
}

// Author and committer as git would write them now, from the configuration and
// the GIT_AUTHOR_… and GIT_COMMITTER_… variables.
const (
	authorVar    = "GIT_AUTHOR_IDENT"
	committerVar = "GIT_COMMITTER_IDENT"
)

// User gives the identity that git would record as the author of a commit made
// now. It fails with ErrNoIdentity where none is configured.
func (r *Repo) User(ctx context.Context) (Identity, error) {
	line, err := r.identity(ctx, authorVar)
	if err != nil {
		return Identity{}, err
	}
	return parseIdentity(KindCommit, "author", []byte(line))
}

// identity gives an author or committer line. Git may not guess it from the
// machine's names.
func (r *Repo) identity(ctx context.Context, which string) (string, error) {
	line, err := r.git.line(ctx, "-c", "user.useConfigOnly=true", "var", which)
	if exitCode(err) == 128 {
		return "", fmt.Errorf("%w\n(%w)", ErrNoIdentity, err)
	}
	return line, err
}
