package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/crawl"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/seal/sigstore"
	"agentgateway-lock/pkg/serve"
)

// serveOrigin says what the policy is read from.
type serveOrigin struct {
	trustFlags

	Repo        string `placeholder:"PATH|URL" help:"The repository to read commits from (default: that of -C)."`
	Ref         string `placeholder:"REF" help:"A tag such as lock/v3, a branch, or a pattern of tags such as 'lock/v*', of which the newest that verifies counts."`
	Path        string `placeholder:"FILE" help:"The lockfile within the repository (default: --lockfile)."`
	Bundle      string `placeholder:"FILE" help:"Serve from a bundle in place of a repository."`
	GitToken    string `name:"git-token-file" placeholder:"FILE" help:"A token for a repository reached by https."`
	GitSSHKey   string `name:"git-ssh-key" placeholder:"FILE" help:"A private key for a repository reached by ssh."`
	Unsigned    bool   `help:"Serve a repository without a trust list: what is locked counts as approved."`
	Require     string `enum:",tag,signature,sigstore,none" default:"" placeholder:"SEAL" help:"The seal to ask for: tag, signature, sigstore or none (default: tag for a tag, signature for a bundle)."`
	Signature   string `placeholder:"FILE" help:"A detached signature of the bundle's lockfile."`
	Sigstore    string `placeholder:"FILE" help:"A Sigstore bundle of the lockfile (default: the one beside it)."`
	Identity    string `name:"certificate-identity" placeholder:"IDENTITY" help:"With sigstore: the one identity that may have signed."`
	Issuer      string `name:"certificate-oidc-issuer" placeholder:"URL" help:"With sigstore: who vouched for the identity."`
	TrustedRoot string `placeholder:"FILE" help:"With sigstore: the trusted root; nothing is fetched."`
}

// serveRefresh says how the policy is kept current.
type serveRefresh struct {
	Refresh      time.Duration `default:"60s" help:"How often the policy origin is read again; 0 for only on SIGHUP and when a file changes."`
	MaxPolicyAge time.Duration `default:"0s" help:"Not ready when no refresh succeeded for so long; 0 for no limit."`
	StateDir     string        `placeholder:"DIR" help:"Remember what was in force, so that a restart cannot be rolled back."`
	AtLeast      string        `placeholder:"COMMIT|DIGEST" help:"What the first policy must hold, without a state folder."`
	Deny         string        `placeholder:"FILE" help:"The kill switch: a server or item a line, denied at once."`
}

// serveListen says where hooks are taken and how the processor tells how it is.
type serveListen struct {
	Listen           string `required:"" placeholder:"ADDRESS" help:"unix:/path, or host:port."`
	SecretFile       string `placeholder:"FILE" help:"The bearer token that the gateway shows."`
	TLSCert          string `name:"tls-cert" placeholder:"FILE" help:"The certificate of the processor."`
	TLSKey           string `name:"tls-key" placeholder:"FILE" help:"Its private key."`
	TLSClientCA      string `name:"tls-client-ca" placeholder:"FILE" help:"Who signs the gateway's certificate."`
	InsecureLoopback bool   `help:"Let any process of this machine ask."`
	Admin            string `placeholder:"ADDRESS" help:"Serve /healthz, /readyz, /metrics and /policy here."`
	VerdictLog       string `placeholder:"FILE" help:"Write verdicts here (default: stderr)."`
	LogFormat        string `enum:"text,json" default:"text" help:"How everything else is logged: ${enum}."`
}

// serveJudge says how policies are applied.
type serveJudge struct {
	Mode           string        `enum:"enforce,observe" default:"enforce" help:"observe passes everything and reports what it would have denied."`
	Uncovered      string        `enum:"deny,pass" default:"deny" help:"What happens to kinds that a server's entry does not cover: ${enum}."`
	Names          string        `enum:",raw,prefixed,never" default:"" placeholder:"MODE" help:"How routes spell names: raw, prefixed or never (default: raw with one service, prefixed with several)."`
	MaxListTTL     time.Duration `name:"max-list-ttl" default:"0s" help:"How long a client may keep a list."`
	MaxEvidenceAge time.Duration `default:"24h" help:"How long a listing is evidence for calls; 0 for no limit."`
	Probe          time.Duration `default:"60s" help:"How often servers reached by URL are listed; 0 for never."`
}

type serveCmd struct {
	serveOrigin  `group:"Policy"`
	serveRefresh `group:"Refresh"`
	serveListen  `group:"Listen"`
	serveJudge   `group:"Verdicts"`
}

// Run serves until a signal; a second one stops at once.
func (c *serveCmd) Run(a *app, g *globals) error {
	config, err := c.config(a, g)
	if err != nil {
		return err
	}
	if c.VerdictLog != "" {
		file, err := os.OpenFile(c.VerdictLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("opening the verdict log: %w", err)
		}
		defer func() { _ = file.Close() }()
		config.VerdictLog = file
	}
	if _, set := a.getenv("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(memoryLimit)
	}
	daemon, err := serve.NewDaemon(a.ctx, config)
	if err != nil {
		return err
	}
	c.announce(config.Log, daemon)
	hurry := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer signal.Stop(signals)
		stopping := a.ctx.Done()
		for {
			select {
			case <-ctx.Done():
				return
			case <-stopping:
				stopping = nil
				signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
			case s := <-signals:
				if s != syscall.SIGHUP {
					close(hurry)
					return
				}
				daemon.Reload()
			}
		}
	}()
	return daemon.Run(a.ctx, hurry)
}

// memoryLimit is where garbage is collected more often, in bytes: pages of servers
// are large and soon gone.
const memoryLimit = 192 << 20

// config makes of the flags what a daemon is made of.
func (c *serveCmd) config(a *app, g *globals) (serve.DaemonConfig, error) {
	var none serve.DaemonConfig
	origin, err := c.origin(a, g)
	if err != nil {
		return none, err
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{
		{"--refresh", c.Refresh}, {"--max-policy-age", c.MaxPolicyAge}, {"--max-list-ttl", c.MaxListTTL},
		{"--max-evidence-age", c.MaxEvidenceAge}, {"--probe", c.Probe},
	} {
		if d.value < 0 {
			return none, fmt.Errorf("%s is negative", d.flag)
		}
	}
	var handler slog.Handler = slog.NewTextHandler(a.rawErr, nil)
	if c.LogFormat == "json" {
		handler = slog.NewJSONHandler(a.rawErr, nil)
	}
	log := slog.New(handler)
	config := serve.DaemonConfig{
		Origin: origin, StateDir: c.StateDir, AtLeast: strings.ToLower(c.AtLeast), Refresh: c.Refresh, MaxPolicyAge: c.MaxPolicyAge, Deny: c.Deny,
		Options: processor.Options{
			Mode: processor.Mode(c.Mode), Uncovered: processor.Uncovered(c.Uncovered), Names: processor.NameMode(c.Names),
			MaxListTTL: c.MaxListTTL, MaxEvidenceAge: c.MaxEvidenceAge,
		},
		Listener: serve.Listener{
			Address: c.Listen, SecretFile: c.SecretFile, TLSCert: c.TLSCert, TLSKey: c.TLSKey, TLSClientCA: c.TLSClientCA,
			InsecureLoopback: c.InsecureLoopback,
		},
		Admin: c.Admin, VerdictLog: a.rawErr, Log: log,
	}
	if c.Probe > 0 {
		config.Prober = serve.NewProber(serve.ProbeOptions{
			Lister: crawl.New(crawl.Options{Environ: a.environ, Proxy: crawl.ProxyFromEnviron(a.environ), ClientName: "agentgateway-lock", ClientVersion: version}),
			Every:  c.Probe, First: firstProbe, Lookup: a.getenv, Log: log,
		})
	}
	return config, nil
}

// firstProbe is how long the processor is not ready while servers are listed for
// the first time.
const firstProbe = 10 * time.Second

// origin makes of the flags where a policy comes from.
func (c *serveCmd) origin(a *app, g *globals) (serve.Origin, error) {
	origin := serve.Origin{
		Repo: c.Repo, Ref: c.Ref, TokenFile: c.GitToken, SSHKey: c.GitSSHKey, Bundle: c.Bundle,
		Path: c.Path, Unsigned: c.Unsigned, Signature: c.Signature,
	}
	dir, err := g.root()
	if err != nil {
		return origin, err
	}
	if origin.Path == "" {
		origin.Path = filepath.ToSlash(g.Lockfile)
	}
	switch {
	case origin.Repo == "" && origin.Bundle == "":
		origin.Repo = dir
	case origin.Repo != "" && !strings.Contains(origin.Repo, ":") && !filepath.IsAbs(origin.Repo):
		origin.Repo = filepath.Join(dir, origin.Repo)
	}
	if text := c.root(a); text != nil {
		root, err := canonical.ParseDigest(*text)
		if err != nil {
			return origin, fmt.Errorf("the trust root: %w", err)
		}
		origin.TrustRoot = &root
	}
	if origin.Require, err = seal.ParseRequire(c.Require); err != nil {
		return origin, err
	}
	if origin.Unsigned && origin.Require == "" {
		origin.Require = seal.RequireNone // a seal is a listed deployer's, and there is no list
	}
	if origin.Require == seal.RequireSigstore {
		if c.Identity == "" || c.Issuer == "" || c.TrustedRoot == "" {
			return origin, errors.New("a Sigstore seal is held to an identity: give --certificate-identity, --certificate-oidc-issuer and --trusted-root")
		}
		origin.Sigstore = &serve.SigstoreSeal{
			File: c.Sigstore, Identity: c.Identity, Issuer: c.Issuer, TrustedRoot: c.TrustedRoot, Verifier: sigstore.Verifier{},
		}
	}
	return origin, nil
}

// announce says how the processor serves, and what is not as strict as it could
// be.
func (c *serveCmd) announce(log *slog.Logger, d *serve.Daemon) {
	log.Info("taking hooks", "address", d.Address(), "admin", d.AdminAddress())
	_, reasons := d.Ready()
	for _, r := range reasons {
		if !r.Blocks {
			log.Warn(r.Detail, "code", r.Code)
		}
	}
	if c.Unsigned {
		log.Warn("there is no trust list: what is locked counts as approved", "code", "unsigned")
	}
}
