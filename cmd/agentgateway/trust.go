package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"agentgateway-lock/pkg/project"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/textcheck"
	"agentgateway-lock/pkg/trust"
)

// trustCmd holds the commands about who may approve.
type trustCmd struct {
	Init   trustInitCmd   `cmd:"" help:"Start the list, with yourself."`
	Add    trustAddCmd    `cmd:"" help:"List a person, or another key of one."`
	Remove trustRemoveCmd `cmd:"" help:"Remove a person or a key."`
	Set    trustSetCmd    `cmd:"" help:"Change a threshold or a rule."`
	Sign   trustSignCmd   `cmd:"" help:"Sign the version that waits for more signatures."`
	Show   trustShowCmd   `cmd:"" help:"Show the list."`
	Verify trustVerifyCmd `cmd:"" help:"Verify the list from the pinned trust root."`

	Checkpoint trustCheckpointCmd `cmd:"" help:"Let an audit judge from a commit on, where one before it breaks a rule."`
}

// openTrust opens the project with a trust root.
func (a *app) openTrust(g *globals, f trustFlags) (*project.Project, error) {
	return a.openWith(g, sourcesFlags{}, f.root(a))
}

type trustInitCmd struct {
	signFlags

	As     string `placeholder:"PRINCIPAL" help:"Who you are, as in alice@example.com (default: the address that git knows)."`
	Person string `placeholder:"NAME" help:"The person behind the principal (default: the principal)."`
}

func (c *trustInitCmd) Run(a *app, g *globals) error {
	p, err := a.openTrust(g, c.trustFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	change, err := p.TrustInit(a.ctx, c.As, c.Person, c.signing(a))
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s is the admin and the only approver%s.\n", textcheck.Terminal(change.Principal), committed(change.Commit))
	fmt.Fprintf(a.stdout, "While one person is listed, one key decides everything, also what its holder\nproposed.\n")
	fmt.Fprintf(a.stdout, "`%s trust add` lists another person;\n`%[1]s review` shows what waits for a decision.\n\n", a.program)
	return a.pin(change)
}

// committed says in which commit something is.
func committed(commit string) string {
	if commit == "" {
		return "; nothing was committed"
	}
	return ", in commit " + commit
}

// pin tells which trust root to pin where. Its last line alone begins with
// trust-root.
func (a *app) pin(change *project.TrustChange) error {
	if len(change.Waiting) > 0 {
		fmt.Fprintf(a.stdout, "Version %d waits for signatures; the one before stays in force until then:\n", change.Version)
		for _, q := range change.Waiting {
			fmt.Fprintf(a.stdout, "  %d of the admins of version %d: %s have signed, %s could\n", q.Need, q.Version, words(q.Have), words(q.Could))
		}
		fmt.Fprintf(a.stdout, "Each of them runs: %s trust sign\n", a.program)
		return nil
	}
	_, err := fmt.Fprintf(a.stdout, `Pin this digest outside the repository, where a pull request cannot change it:
  a person or a script   --trust-root DIGEST, or AGENTGATEWAY_TRUST_ROOT
  the GitHub Action      the input trust-root
  the processor          %s serve --trust-root DIGEST

trust-root %s
`, a.program, change.Digest)
	return err
}

func versionsVerify(n int) string {
	if n == 1 {
		return "The list has 1 version, which verifies"
	}
	return fmt.Sprintf("The list has %d versions, which all verify", n)
}

func keyCount(n int) string {
	if n == 1 {
		return "1 key"
	}
	return fmt.Sprintf("%d keys", n)
}

// words lists names for people.
func words(names []string) string {
	if len(names) == 0 {
		return "nobody"
	}
	shown := make([]string, len(names))
	for i, n := range names {
		shown[i] = textcheck.Terminal(n)
	}
	return strings.Join(shown, ", ")
}

type trustAddCmd struct {
	signFlags

	Principal string   `arg:"" help:"Who, as in bob@example.com."`
	Key       string   `placeholder:"FILE" help:"The public key; - for standard input. It may be left out for a person who is listed."`
	Person    string   `placeholder:"NAME" help:"The person behind the principal (default: the principal)."`
	Email     []string `placeholder:"ADDRESS" help:"A further address that their commits have, such as the noreply address of a host; may be repeated."`
	Role      []string `enum:"approver,admin,deployer" default:"" placeholder:"ROLE" help:"approver (default), admin or deployer; may be repeated."`
	Servers   []string `placeholder:"PATTERN" help:"Only servers of these names; * means anything."`
}

func (c *trustAddCmd) Run(a *app, g *globals) error {
	signer := trust.Signer{Principal: c.Principal, Person: c.Person, Servers: c.Servers}
	if c.Key != "" {
		key, err := a.readKey(c.Key)
		if err != nil {
			return err
		}
		signer.Keys = []string{key}
	}
	for _, email := range c.Email {
		signer.Emails = append(signer.Emails, strings.ToLower(email))
	}
	for _, role := range c.Role {
		signer.Roles = append(signer.Roles, trust.Role(role))
	}
	return a.nextVersion(g, c.signFlags, "List "+c.Principal, func(_ *project.Project, list project.TrustList) ([]trust.Change, error) {
		listed := slices.ContainsFunc(list.Chain.Current().Signed.Signers, func(s trust.Signer) bool { return s.Principal == c.Principal })
		if c.Key == "" && !listed {
			return nil, fmt.Errorf("%q is not listed yet, so --key FILE must name a public key", c.Principal)
		}
		changes := []trust.Change{trust.Add(signer)}
		return append(changes, keepSelfApprovals(list)...), nil
	})
}

// keepSelfApprovals lets what one person alone approved go on counting when a
// second person ends that.
func keepSelfApprovals(list project.TrustList) []trust.Change {
	if list.State == nil {
		return nil
	}
	if ids := list.State.SelfApprovals(); len(ids) > 0 {
		return []trust.Change{trust.Stand(ids, nil)}
	}
	return nil
}

// readKey reads one public key.
func (a *app) readKey(file string) (string, error) {
	const limit = 64 << 10
	in := a.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("--key: %w", err)
		}
		defer f.Close() //nolint:errcheck // it was only read
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, limit))
	if err != nil {
		return "", err
	}
	key, _, err := sshsig.ParsePublicKey(data)
	if err != nil {
		return "", fmt.Errorf("--key %s: %w", file, err)
	}
	return sshsig.FormatPublicKey(key), nil
}

// nextVersion makes the next version of the list.
func (a *app) nextVersion(g *globals, f signFlags, subject string, changes func(*project.Project, project.TrustList) ([]trust.Change, error)) error {
	p, err := a.openTrust(g, f.trustFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	change, err := p.TrustNext(a.ctx, f.signing(a), subject, func(list project.TrustList) ([]trust.Change, error) { return changes(p, list) })
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "Wrote version %d of the list%s.\n\n", change.Version, committed(change.Commit))
	if list, err := p.TrustList(); err == nil && len(change.Waiting) == 0 {
		if n, _ := list.Chain.Version(list.Chain.Len() - 1); n != nil && n.Signed.Persons(trust.Approver) != list.Chain.Current().Signed.Persons(trust.Approver) {
			a.adviseThresholds(list.Chain.Current())
		}
	}
	return a.pin(change)
}

// adviseThresholds says, once another person may approve, which threshold protects
// against what.
func (a *app) adviseThresholds(v *trust.Version) {
	switch n := v.Signed.Persons(trust.Approver); {
	case n == 2:
		fmt.Fprint(a.stdout, `Two persons may approve now, and nobody what they proposed. One key is enough
for what its holder did not propose. A threshold of 2 waits for a third person:
what one of two proposes only the other can sign.

`)
	case n > 2 && v.Signed.Thresholds.Approve == 1:
		fmt.Fprintf(a.stdout, `%d persons may approve now. What a threshold protects against:
  threshold.approve=2   one stolen key, and an approver who writes another author
                        into a commit, for every text
  threshold.critical=2  the same for sources and for changes graded critical; one key
                        still approves other words
  newItems=critical     new tools, prompts and templates need threshold.critical too
  threshold.admin=2     one stolen key of an admin, with which anybody could be listed
Set one with: %s trust set threshold.approve=2

`, n, a.program)
	}
}

type trustRemoveCmd struct {
	signFlags

	Name        string `arg:"" name:"principal|key" help:"A principal, a key, or the fingerprint of one."`
	Compromised bool   `help:"The key is in other hands: none of its approvals goes on counting."`
}

func (c *trustRemoveCmd) Run(a *app, g *globals) error {
	return a.nextVersion(g, c.signFlags, "Remove "+c.Name, func(_ *project.Project, list project.TrustList) ([]trust.Change, error) {
		changes := []trust.Change{trust.Remove(c.Name)}
		if list.State != nil {
			if c.Compromised {
				changes = append(changes, trust.Stand(nil, list.State.SignedBy(c.Name)))
			} else {
				changes = append(changes, trust.Stand(list.State.Stands(c.Name), nil))
			}
		}
		return changes, nil
	})
}

type trustSetCmd struct {
	signFlags

	Settings map[string]string `arg:"" help:"NAME=VALUE: threshold.approve, threshold.critical, threshold.admin, newItems, allowSelfApproval, enforced, requireSignedCommits, maxAge."`
}

func (c *trustSetCmd) Run(a *app, g *globals) error {
	var names []string
	for name, value := range c.Settings {
		names = append(names, name+"="+value)
	}
	return a.nextVersion(g, c.signFlags, "Set "+strings.Join(sorted(names), ", "), func(_ *project.Project, list project.TrustList) ([]trust.Change, error) {
		var changes []trust.Change
		for name, value := range c.Settings {
			changes = append(changes, trust.Set(name, value))
		}
		return append(changes, keepSelfApprovals(list)...), nil
	})
}

type trustCheckpointCmd struct {
	signFlags

	Commit string `required:"" placeholder:"COMMIT" help:"The commit to judge from; what it and those before it break is told and fails nothing."`
	Reason string `required:"" placeholder:"TEXT" help:"Why; it stays in the list."`
}

func (c *trustCheckpointCmd) Run(a *app, g *globals) error {
	return a.nextVersion(g, c.signFlags, "Judge from "+c.Commit+" on", func(p *project.Project, _ project.TrustList) ([]trust.Change, error) {
		checkpoint, err := p.Checkpoint(a.ctx, c.Commit, c.Reason)
		return []trust.Change{trust.SetCheckpoint(checkpoint)}, err
	})
}

type trustSignCmd struct{ signFlags }

func (c *trustSignCmd) Run(a *app, g *globals) error {
	p, err := a.openTrust(g, c.trustFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	change, err := p.TrustSign(a.ctx, c.signing(a))
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "Signed version %d%s.\n\n", change.Version, committed(change.Commit))
	return a.pin(change)
}

type trustShowCmd struct {
	trustFlags

	History bool `help:"Show every version."`
}

func (c *trustShowCmd) Run(a *app, g *globals) error {
	p, err := a.openTrust(g, c.trustFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	list, err := p.TrustList()
	if err != nil {
		return err
	}
	first := list.Chain.Len()
	if c.History {
		first = 1
	}
	var b strings.Builder
	for n := first; n <= list.Chain.Len(); n++ {
		version, digest := list.Chain.Version(n)
		showVersion(&b, version, digest.String())
	}
	if w := list.Chain.Waiting(); w != nil {
		b.WriteString("Waiting for signatures:\n\n")
		showVersion(&b, w.Version, w.Digest.String())
	}
	_, err = io.WriteString(a.stdout, b.String())
	return err
}

func showVersion(b *strings.Builder, v *trust.Version, digest string) {
	s := v.Signed
	fmt.Fprintf(b, "version %d  %s\n", s.Version, digest)
	rows := [][]string{}
	for _, signer := range s.Signers {
		roles := make([]string, len(signer.Roles))
		for i, r := range signer.Roles {
			roles[i] = string(r)
		}
		servers := "all servers"
		if len(signer.Servers) > 0 {
			servers = strings.Join(signer.Servers, " ")
		}
		rows = append(rows, []string{"  " + textcheck.Terminal(signer.Principal), textcheck.Terminal(signer.Person), strings.Join(roles, ","), textcheck.Terminal(servers), keyCount(len(signer.Keys))})
	}
	b.WriteString(columns(rows))
	for _, signer := range s.Signers {
		if len(signer.Emails) > 0 {
			fmt.Fprintf(b, "  commits of %s also have: %s\n", textcheck.Terminal(signer.Principal), words(signer.Emails))
		}
	}
	fmt.Fprintf(b, "  thresholds: approve %d, critical %d, admin %d\n", s.Thresholds.Approve, s.Thresholds.Critical, s.Thresholds.Admin)
	fmt.Fprintf(b, "  rules: newItems=%s allowSelfApproval=%t enforced=%t requireSignedCommits=%t maxAge=%s\n",
		newItems(s.Rules.NewItemsCritical), s.Rules.AllowSelfApproval, s.Rules.Enforced, s.Rules.RequireSignedCommits, age(s.Rules.MaxAge))
	if c := s.Checkpoint; c != nil {
		fmt.Fprintf(b, "  checkpoint: %s, %s\n", c.Commit, textcheck.Terminal(c.Reason))
	}
	b.WriteByte('\n')
}

// newItems spells the rule as trust set takes it.
func newItems(critical bool) string {
	if critical {
		return "critical"
	}
	return "warning"
}

// age spells seconds as trust set takes them.
func age(seconds int64) string {
	const day = 24 * 60 * 60
	switch {
	case seconds == 0:
		return "0"
	case seconds%day == 0:
		return fmt.Sprintf("%dd", seconds/day)
	}
	return (time.Duration(seconds) * time.Second).String()
}

type trustVerifyCmd struct{ trustFlags }

const unpinned = "note: no trust root is pinned, so the list vouches for itself"

func (c *trustVerifyCmd) Run(a *app, g *globals) error {
	p, err := a.openTrust(g, c.trustFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	list, err := p.TrustList()
	if err != nil {
		return err
	}
	if !list.Chain.Pinned() {
		fmt.Fprintln(a.stderr, unpinned)
	}
	_, err = fmt.Fprintf(a.stdout, "%s.\n\ntrust-root %s\n", versionsVerify(list.Chain.Len()), list.Chain.Digest())
	return err
}
