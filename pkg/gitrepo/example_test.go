package gitrepo_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"agentgateway-lock/pkg/gitrepo"
)

// A file is read from the commit that a tag points to, never from the work tree.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	makeRepository(dir)

	repo, err := gitrepo.Open(ctx, dir, gitrepo.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = repo.Close() }()
	newest, err := repo.Tags(ctx, "lock/v*")
	if err != nil {
		log.Fatal(err)
	}
	commit, err := repo.Resolve(ctx, newest[0].Name)
	if err != nil {
		log.Fatal(err)
	}
	text, _, err := repo.File(ctx, commit, "agentgateway.lock", 1<<20)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s holds %s", newest[0].Name, text)

	_, _, err = repo.File(ctx, commit, "link", 1<<20)
	var mode *gitrepo.ModeError
	fmt.Println(errors.As(err, &mode), err)
	// Output:
	// refs/tags/lock/v10 holds {}
	// true "link" is a symlink in git; it must be a regular file
}

func makeRepository(dir string) {
	if err := os.WriteFile(filepath.Join(dir, "agentgateway.lock"), []byte("{}\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	if err := os.Symlink("agentgateway.lock", filepath.Join(dir, "link")); err != nil {
		log.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."},
		{"-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgSign=false", "commit", "-q", "-m", "lock"},
		{"tag", "--no-sign", "lock/v9"}, {"tag", "--no-sign", "lock/v10"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			log.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}
