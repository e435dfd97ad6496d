package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"agentgateway-lock/pkg/internal/bounded"

	"github.com/go-git/go-billy/v5/osfs"
	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// DefaultMaxFetch is the largest pack accepted where FetchOptions.MaxBytes is zero.
const DefaultMaxFetch = 1 << 30

// FetchOptions say how to fetch.
type FetchOptions struct {
	Dir       string // the bare repository to fetch into; made where it does not exist
	TokenFile string // holds a token for https, sent as a password; read anew each time
	SSHKey    string // a private key file without passphrase; empty uses ssh-agent
	MaxBytes  int64  // of one pack; 0 is DefaultMaxFetch
}

// Fetch brings what the refspecs name ("+refs/tags/lock/*:refs/tags/lock/*")
// from a repository into the one at opts.Dir, through go-git. The URL is https,
// ssh (also as host:path), file or a path; plain http only to this machine. A
// URL that holds a password, or a user name other than ssh's, or a query is
// refused, unprinted: such things end up in logs. SSH host keys are checked
// against the user's known_hosts files. Nothing new is no error. One fetch at a
// time into a folder; readers are not disturbed.
func Fetch(ctx context.Context, url string, refspecs []string, opts FetchOptions) error {
	endpoint, err := checkURL(url)
	if err != nil {
		return err
	}
	auth, err := fetchAuth(endpoint, opts)
	if err != nil {
		return err
	}
	specs, err := parseRefspecs(refspecs)
	if err != nil {
		return err
	}
	storage, err := openCache(opts.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = storage.Close() }()
	max := opts.MaxBytes
	if max == 0 {
		max = DefaultMaxFetch
	}
	remote := git.NewRemote(&limitedStorage{Storage: storage, max: max},
		&config.RemoteConfig{Name: "source", URLs: []string{url}})
	err = remote.FetchContext(ctx, &git.FetchOptions{RemoteName: "source", RefSpecs: specs, Auth: auth, Tags: git.NoTags})
	switch {
	case errors.Is(err, git.NoErrAlreadyUpToDate):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return fmt.Errorf("fetching from %s: %w; check --git-token-file or --git-ssh-key", endpoint.Host, err)
	case err != nil:
		return fmt.Errorf("fetching from %s: %w", nameOf(endpoint), err)
	}
	return nil
}

func nameOf(e *transport.Endpoint) string {
	if e.Protocol == "file" {
		return e.Path
	}
	return e.Host
}

// checkURL holds a URL to what Fetch allows. Its errors do not repeat the URL.
func checkURL(text string) (*transport.Endpoint, error) {
	e, err := transport.NewEndpoint(text)
	if err != nil {
		return nil, errors.New("the repository's URL does not parse; it is https://host/path, ssh://host/path, or a path")
	}
	user := e.User != "" && e.Protocol != "ssh"
	if user || e.Password != "" {
		return nil, errors.New("the repository's URL holds a user name or password; put a token into a file and name that instead")
	}
	if u, err := url.Parse(text); err == nil && u.IsAbs() && (u.RawQuery != "" || u.Fragment != "") {
		return nil, errors.New("the repository's URL holds a query or a fragment; neither is part of a git URL")
	}
	switch e.Protocol {
	case "https", "ssh", "file":
		return e, nil
	case "http":
		if ip := net.ParseIP(strings.Trim(e.Host, "[]")); e.Host == "localhost" || ip != nil && ip.IsLoopback() {
			return e, nil
		}
		return nil, errors.New("the repository's URL is plain http, which anyone on the way can change; use https")
	}
	return nil, fmt.Errorf("the repository's URL has the scheme %q; use https or ssh", e.Protocol)
}

// maxToken bounds a token file.
const maxToken = 64 << 10

func fetchAuth(e *transport.Endpoint, opts FetchOptions) (transport.AuthMethod, error) {
	switch {
	case opts.TokenFile != "" && (e.Protocol == "https" || e.Protocol == "http"):
		raw, err := readBounded(opts.TokenFile, maxToken)
		if err != nil {
			return nil, fmt.Errorf("reading the git token: %w", err)
		}
		token := string(bytes.TrimSpace(raw))
		if token == "" || strings.ContainsAny(token, " \t\r\n\x00") {
			return nil, fmt.Errorf("%s does not hold one token on one line", opts.TokenFile)
		}
		// Hosts ignore the user name beside a token but for its being there.
		return &http.BasicAuth{Username: "x-access-token", Password: token}, nil
	case opts.SSHKey != "" && e.Protocol == "ssh":
		user := e.User
		if user == "" {
			user = ssh.DefaultUsername
		}
		keys, err := ssh.NewPublicKeysFromFile(user, opts.SSHKey, "")
		if err != nil {
			return nil, fmt.Errorf("reading the ssh key %s: %w", opts.SSHKey, err)
		}
		return keys, nil
	case opts.TokenFile != "":
		return nil, fmt.Errorf("a git token is for https; this repository's URL is %s", e.Protocol)
	case opts.SSHKey != "":
		return nil, fmt.Errorf("an ssh key is for ssh; this repository's URL is %s", e.Protocol)
	}
	return nil, nil
}

func readBounded(path string, max int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return bounded.Read(f, path, 0, max)
}

func parseRefspecs(texts []string) ([]config.RefSpec, error) {
	if len(texts) == 0 {
		return nil, errors.New("nothing to fetch: no refspec")
	}
	specs := make([]config.RefSpec, len(texts))
	for i, text := range texts {
		specs[i] = config.RefSpec(text)
		_, to, _ := strings.Cut(text, ":")
		if err := specs[i].Validate(); err != nil || !strings.HasPrefix(to, "refs/") {
			return nil, fmt.Errorf("refspec %q is not [+]SOURCE:refs/…", text)
		}
	}
	return specs, nil
}

// openCache opens the bare repository at dir, and makes it where there is none.
func openCache(dir string) (*filesystem.Storage, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, err
	}
	storage := filesystem.NewStorage(osfs.New(abs), cache.NewObjectLRU(objectCacheSize))
	_, err = git.Open(storage, nil)
	if errors.Is(err, git.ErrRepositoryNotExists) {
		// HEAD names a branch that fetches do not fill: nothing may rely on it.
		_, err = git.InitWithOptions(storage, nil, git.InitOptions{DefaultBranch: plumbing.NewBranchReferenceName("none")})
	}
	if err != nil {
		_ = storage.Close()
		return nil, fmt.Errorf("opening the git cache %s: %w; delete the folder to have it made again", dir, err)
	}
	return storage, nil
}

// limitedStorage refuses packs that are larger than max bytes.
type limitedStorage struct {
	*filesystem.Storage
	max int64
}

// PackfileWriter is how go-git stores what it fetches.
func (s *limitedStorage) PackfileWriter() (io.WriteCloser, error) {
	w, err := s.Storage.PackfileWriter()
	return &limitedWriter{WriteCloser: w, left: s.max, max: s.max}, err
}

type limitedWriter struct {
	io.WriteCloser
	left, max int64
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.left -= int64(len(p)); w.left < 0 {
		return 0, fmt.Errorf("the repository sends more than %d bytes", w.max)
	}
	return w.WriteCloser.Write(p)
}
