package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/term"

	"agentgateway-lock/pkg/project"
	"agentgateway-lock/pkg/sshsig"
)

// trustFlags say which trust root is pinned.
type trustFlags struct {
	TrustRoot *string `placeholder:"DIGEST" help:"The trust version that is pinned (default: the variable AGENTGATEWAY_TRUST_ROOT)."`
}

// root returns the pinned trust root; nil where none is. A flag that is given and
// empty stays one: a variable of a script that is not set must not mean "no pin".
func (f trustFlags) root(a *app) *string {
	if f.TrustRoot != nil {
		return f.TrustRoot
	}
	if root := a.env("AGENTGATEWAY_TRUST_ROOT"); root != "" {
		return &root
	}
	return nil
}

// signFlags say with which key something is signed and how it is committed.
type signFlags struct {
	trustFlags

	SSHKey   string `name:"ssh-key" placeholder:"FILE" help:"The key to sign with: a private key, or the .pub of one the agent holds (default: git's user.signingkey)."`
	NoCommit bool   `help:"Leave the files uncommitted."`
	RunHooks bool   `help:"Run commit hooks that lie inside the work tree too."`
}

func (f signFlags) signing(a *app) project.Signing {
	return project.Signing{
		NoCommit: f.NoCommit, RunHooks: f.RunHooks,
		Key: func(ctx context.Context, gitConfig func(string) (string, error)) (sshsig.Signer, error) {
			home, _ := os.UserHomeDir() // a path that begins with ~/ is then an error of its own
			return sshsig.Find(ctx, sshsig.FindOptions{
				KeyFlag: f.SSHKey, GitConfig: gitConfig, Home: home, Open: sshsig.OpenFile,
				Agent: sshsig.SocketDialer(a.env("SSH_AUTH_SOCK")), Ask: a.passphrase(),
			})
		},
	}
}

// passphrase asks for one on the terminal, or through the program of SSH_ASKPASS;
// nil where nobody can be asked.
func (a *app) passphrase() sshsig.Passphrase {
	in, ok := a.stdin.(*os.File)
	terminal := ok && term.IsTerminal(int(in.Fd()))
	if program := sshsig.AskPassProgram(a.env, terminal); program != "" {
		return sshsig.AskPass(func(ctx context.Context, program, argument string) ([]byte, error) {
			cmd := exec.CommandContext(ctx, program, argument)
			cmd.Env, cmd.Stderr = a.environ, a.stderr
			out, err := cmd.Output()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", program, err)
			}
			return out, nil
		}, program)
	}
	if !terminal {
		return nil
	}
	return sshsig.TerminalPassphrase(in, a.stderr)
}
