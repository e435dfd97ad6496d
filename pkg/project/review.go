package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
	"agentgateway-lock/pkg/trust"
)

// A Review is all that waits for a decision.
type Review struct {
	// Items wait for a decision, worst grade first within each server.
	Items []ReviewItem
	// Statements are what one run of approve would sign: those of decisions that
	// lack a signature, and one about all other items.
	Statements []trust.Statement
	// Digest identifies the review; zero where nothing waits.
	Digest canonical.Digest

	chain  *trust.Chain
	state  *trust.State
	ledger *trust.Ledger
	file   *lockfile.File
	cosign []canonical.Digest // decisions that lack a signature
	draft  *trust.Statement   // nil where no new one is needed

	proposed *proposed
}

// A ReviewItem is one item that waits for a decision.
type ReviewItem struct {
	*trust.ItemState
	Grade      finding.Grade
	Change     drift.Change   // the text in force against the locked one
	Suspicious []Suspicion    // it is approved only where it is named
	Advice     []Suspicion    // what a person should look at, and no more
	Proposers  []string       // persons who brought the text in
	Commits    []string       // the ids of the commits that did
	NotMine    []string       // the ids of those that a decision which waits says are not its signers'
	Pending    *trust.Pending // the decision that lacks signatures, if that is why
	Refusal    error          // why it cannot be approved as it is; it is in no statement then
	Source     *source.Source
}

// A Suspicion is text that may not be what it looks like.
type Suspicion struct {
	Where   string // the member, such as description
	Problem textcheck.Problem
}

// Review finds what waits for a decision. args restrict it to SERVER or
// SERVER/NAME.
func (p *Project) Review(ctx context.Context, args []string) (*Review, error) {
	file, a, err := p.decidable()
	if err != nil {
		return nil, err
	}
	return p.review(ctx, file, a, args)
}

// decidable reads what decisions are made about and under: a lockfile whose copies
// fit it, and the trust list with the decisions so far.
func (p *Project) decidable() (*lockfile.File, authority, error) {
	file, err := p.Load()
	if err != nil {
		return nil, authority{}, err
	}
	if err := p.mustFit(file, p.store.ReadCopy); err != nil {
		return nil, authority{}, err
	}
	a, err := p.checkedAuthority(file)
	if err == nil && a.chain == nil {
		err = errNoTrustList(p.Env.Program)
	}
	return file, a, err
}

func errNoTrustList(program string) error {
	return &hintError{fmt.Errorf("the repository has no trust list, so what is locked counts as approved"), fmt.Sprintf("`%s trust init` starts one", program)}
}

// mustFit refuses a lockfile whose hashes or copies do not fit: what would be
// shown is not what would be signed.
func (p *Project) mustFit(file *lockfile.File, read func(name string) ([]byte, error)) error {
	found := append(lockfile.Check(file), lockfile.CheckCopies(file, read)...)
	for _, f := range found {
		if f.Grade == finding.Critical {
			return &hintError{fmt.Errorf("%s: %s: %s", f.Code, f.Place, f.Summary), f.Hint}
		}
	}
	return nil
}

func (p *Project) review(ctx context.Context, file *lockfile.File, a authority, args []string) (*Review, error) {
	pick, err := pickItems(file, args)
	if err != nil {
		return nil, err
	}
	r := &Review{file: file, chain: a.chain, ledger: a.ledger, state: p.evaluate(file, a, nil, nil)}
	waiting := waitingKeys(r.state)
	if r.proposed, err = p.proposersOf(ctx, a.chain, file, r.state, waiting); err != nil {
		return nil, err
	}
	if len(waiting) > 0 { // who proposed them has a part in what is decided
		r.state = p.evaluate(file, a, nil, r.proposed.of())
	}
	looks := p.newLooks(ctx, file, r.state)
	for _, it := range r.state.Items {
		if waits(it) && pick(it.Key) {
			item := looks.item(it)
			item.Proposers, item.Commits = r.proposed.persons(it.Text(), nil), r.proposed.commits(it.Text())
			r.Items = append(r.Items, item)
		}
	}
	slices.SortStableFunc(r.Items, func(a, b ReviewItem) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(b.Grade, a.Grade))
	})
	return r, r.statements()
}

// waits reports whether an item needs a decision before it can be in force.
func waits(it *trust.ItemState) bool {
	switch it.Status {
	case trust.New, trust.Changed, trust.Conflict:
		return it.Kind != surface.KindServer || it.Status == trust.Conflict
	}
	return false
}

// pickItems reads SERVER and SERVER/NAME arguments.
func pickItems(file *lockfile.File, args []string) (func(surface.Key) bool, error) {
	names := make([]string, len(file.Servers))
	for i, s := range file.Servers {
		names[i] = s.Name
	}
	servers, items := map[string]bool{}, map[[2]string]bool{}
	for _, arg := range args {
		server, name, ok := SplitItem(arg, names)
		switch {
		case !ok:
			return nil, &hintError{fmt.Errorf("%q is neither a server nor an item of one", arg), "the servers are: " + joinOrNone(names)}
		case name == "":
			servers[server] = true
		default:
			items[[2]string{server, name}] = true
		}
	}
	return func(k surface.Key) bool {
		word := k.Name
		if word == "" {
			word = string(k.Kind)
		}
		return len(args) == 0 || servers[k.Server] || items[[2]string{k.Server, word}]
	}, nil
}

// statements finds what would be signed: the decisions that wait for a signature
// about the locked text, and one statement about everything else.
func (r *Review) statements() error {
	proposal := trust.Proposal{Action: trust.Approve}
	seen := map[canonical.Digest]bool{}
	for i := range r.Items {
		it := &r.Items[i]
		if pending := pendingApproval(it.ItemState); pending != nil {
			it.Pending, it.NotMine = pending, r.ledger.Decision(pending.Decision).Statement.NotMine
			if !seen[pending.Decision] {
				seen[pending.Decision] = true
				r.cosign = append(r.cosign, pending.Decision)
				r.Statements = append(r.Statements, r.ledger.Decision(pending.Decision).Statement)
			}
			continue
		}
		proposed := trust.ProposedItem{
			Key: it.Key, Digest: it.Digest, GatewayDigest: it.GatewayDigest, Grade: it.Grade, Proposers: it.Proposers,
		}
		if it.Refusal = r.refusal(it, proposed); it.Refusal != nil {
			continue
		}
		proposal.AcceptSuspicious = proposal.AcceptSuspicious || len(it.Suspicious) > 0
		proposal.Items = append(proposal.Items, proposed)
	}
	if len(proposal.Items) > 0 {
		draft, err := r.state.Draft(proposal)
		if err != nil {
			return err
		}
		r.draft = draft
		r.Statements = append(r.Statements, *draft)
	}
	r.Digest = reviewDigest(r.Statements)
	return nil
}

// refusal tells why an item whose decisions are in conflict cannot be approved: an
// end of a fork disables it, or a decision is lost. Other items can be all the same.
func (r *Review) refusal(it *ReviewItem, proposed trust.ProposedItem) error {
	if it.Status != trust.Conflict {
		return nil
	}
	_, err := r.state.Draft(trust.Proposal{Action: trust.Approve, Items: []trust.ProposedItem{proposed}})
	var refused *trust.RefusalError
	if errors.As(err, &refused) {
		return err
	}
	return nil // for the draft of all to report
}

// pendingApproval returns the newest decision that would put the locked text in
// force once it has enough signatures.
func pendingApproval(it *trust.ItemState) *trust.Pending {
	for i := range it.Pending {
		p := &it.Pending[i]
		if (p.Action == trust.Approve || p.Action == trust.Rollback) && p.Digest == it.Digest && p.GatewayDigest == it.GatewayDigest && p.Decision == it.Decision {
			return p
		}
	}
	return nil
}

// reviewDigest is that of the statement, or of all their digests where a review
// would sign several.
func reviewDigest(statements []trust.Statement) canonical.Digest {
	switch len(statements) {
	case 0:
		return canonical.Digest{}
	case 1:
		return statements[0].ReviewDigest()
	}
	digests := make([]string, len(statements))
	for i := range statements {
		digests[i] = statements[i].ReviewDigest().String()
	}
	slices.Sort(digests)
	var all []byte
	for _, d := range digests {
		all = append(all, d...)
	}
	return canonical.Sum(all)
}

// MatchHash finds the one item of a review that item names and whose digest is
// hash or begins with it. Nothing is approved by name alone.
func (p *Project) MatchHash(r *Review, item, hash string) ([]surface.Key, error) {
	digest, err := canonical.MatchDigest(hash, func(yield func(canonical.Digest) bool) {
		for _, it := range r.Items {
			if !yield(it.Digest) {
				return
			}
		}
	})
	if errors.Is(err, canonical.ErrNoDigest) {
		if err := p.disabled(r, item); err != nil {
			return nil, err
		}
		why := "it does not wait for a decision"
		if len(r.Items) > 0 {
			why = "the digest that waits is " + r.Items[0].Digest.String()
		}
		return nil, &hintError{fmt.Errorf("%s has no text of the digest %s to approve: %s", item, hash, why), fmt.Sprintf("look at it with `%s review`", p.Env.Program)}
	}
	if err != nil {
		return nil, fmt.Errorf("--hash %w", err)
	}
	var keys []surface.Key
	for _, it := range r.Items {
		if it.Digest == digest {
			keys = append(keys, it.Key)
		}
	}
	if len(keys) > 1 {
		return nil, fmt.Errorf("--hash %s: %d items of %s have this digest", hash, len(keys), item)
	}
	return keys, nil
}

// disabled refuses an item that is disabled: it has to be enabled first.
func (p *Project) disabled(r *Review, item string) error {
	pick, err := pickItems(r.file, []string{item})
	if err != nil {
		return err
	}
	for _, it := range r.state.Items {
		if it.Status == trust.Disabled && pick(it.Key) {
			return &hintError{fmt.Errorf("%s is disabled", item), fmt.Sprintf("run `%s enable %s` first; it needs a fresh approval after that", p.Env.Program, item)}
		}
	}
	return nil
}
