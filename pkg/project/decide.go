package project

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// Decided is the outcome of a decision.
type Decided struct {
	IDs     []canonical.Digest
	Action  trust.Action
	Items   []surface.Key
	By      string        // the principal who has signed now
	Missing []trust.Tally // of items that need more signatures
	Commit  string        // empty where nothing was committed
	// LeftOut are items that were not signed, since the checks warn of their text and
	// it was not accepted.
	LeftOut []surface.Key
}

// Approval says what a person approves.
type Approval struct {
	Signing
	Reason string
	// AcceptSuspicious names items, as SERVER/NAME, whose text the checks warn of and
	// that are approved all the same. Others of that sort are left out.
	AcceptSuspicious []string
	// Review is the digest of the review that was shown: all of it is approved, and
	// nothing if it is another one now.
	Review *canonical.Digest
	// Keys are the items to approve where Review is nil, out of the review r that
	// was shown.
	Keys []surface.Key
	// NotMine are commits that bear the name of who signs and are not theirs.
	NotMine []string
}

// Approve signs what a review showed. It signs the values computed from the texts
// that were shown, never the lockfile's own.
func (p *Project) Approve(ctx context.Context, r *Review, how Approval) (*Decided, error) {
	if err := p.ready(ctx, how.Signing); err != nil {
		return nil, err
	}
	if len(r.Items) == 0 {
		return nil, errors.New("nothing waits for a decision")
	}
	if how.Review != nil && r.Digest != *how.Review {
		return nil, &hintError{fmt.Errorf("what waits is not what was reviewed: the review is %s now", r.Digest), fmt.Sprintf("run `%s review` again", p.Env.Program)}
	}
	chosen := func(k surface.Key) bool { return how.Review != nil || slices.Contains(how.Keys, k) }
	leftOut, err := r.leftOut(chosen, how.AcceptSuspicious)
	if err != nil {
		return nil, err
	}
	wanted := chosen
	chosen = func(k surface.Key) bool { return wanted(k) && !slices.Contains(leftOut, k) }
	signer, err := p.signer(ctx, how.Signing)
	if err != nil {
		return nil, err
	}
	signing, err := p.signingAs(ctx, r, sshsig.FormatPublicKey(signer.PublicKey()), how.NotMine)
	if err != nil {
		return nil, err
	}
	var made []*trust.Decision
	for _, id := range r.cosign {
		statement := r.ledger.Decision(id).Statement
		items := statement.Items
		if !slices.ContainsFunc(items, func(it trust.Item) bool { return chosen(it.Key) }) ||
			slices.ContainsFunc(items, func(it trust.Item) bool { return slices.Contains(leftOut, it.Key) }) {
			continue // a signature is over all of a statement
		}
		if err := signing.mayCosign(&statement); err != nil {
			return nil, err
		}
		d, err := r.state.Cosign(ctx, id, trust.SSHKey(signer))
		if err != nil {
			return nil, err
		}
		made = append(made, d)
	}
	if r.draft != nil {
		statement := *r.draft
		statement.Items = slices.DeleteFunc(slices.Clone(statement.Items), func(it trust.Item) bool { return !chosen(it.Key) })
		statement.Reason = how.Reason
		statement.AcceptSuspicious = slices.ContainsFunc(statement.Items, func(it trust.Item) bool { return r.suspicious(it.Key) != nil })
		signing.complete(&statement)
		if len(statement.Items) > 0 {
			d, err := r.state.Sign(ctx, &statement, p.Env.Now(), trust.SSHKey(signer))
			if err != nil {
				return nil, err
			}
			made = append(made, d)
		}
	}
	if len(made) == 0 {
		return nil, r.nothingMade(wanted)
	}
	done, err := p.record(ctx, r.file, made, how.Signing, signer, nil)
	if err == nil {
		done.LeftOut = leftOut
	}
	return done, err
}

// nothingMade tells why none of the chosen items could be approved.
func (r *Review) nothingMade(chosen func(surface.Key) bool) error {
	for _, it := range r.Items {
		switch {
		case !chosen(it.Key):
		case len(it.Suspicious) > 0:
			return &SuspiciousError{it.Key, it.Suspicious[0]}
		case it.Refusal != nil:
			return it.Refusal
		}
	}
	return errors.New("nothing of it waits for a decision")
}

// Decision says what a person decides about items other than by approving a
// review.
type Decision struct {
	Signing
	Action trust.Action
	Item   string // SERVER or SERVER/NAME
	Kind   surface.Kind
	Reason string
	To     string // the digest of a rollback, or the digits it begins with
}

// Decide makes one decision about one item: reject, disable, enable, pause,
// resume, rollback.
func (p *Project) Decide(ctx context.Context, d Decision) (*Decided, error) {
	file, a, err := p.decidable()
	if err != nil {
		return nil, err
	}
	if err := p.ready(ctx, d.Signing); err != nil {
		return nil, err
	}
	key, err := p.itemKey(file, d)
	if err != nil {
		return nil, err
	}
	state := p.evaluate(file, a, nil, nil)
	found, err := p.proposersOf(ctx, a.chain, file, state, []surface.Key{key})
	if err != nil {
		return nil, err
	}
	state = p.evaluate(file, a, nil, found.of())
	item := trust.ProposedItem{Key: key}
	if it := state.Item(key); it != nil {
		item.Proposers = found.persons(it.Text(), nil)
	}
	var restored *restoredText
	if d.Action == trust.Rollback {
		to, err := approvedDigest(state.History(key), d.To)
		if err != nil {
			return nil, err
		}
		if restored, err = p.earlierText(ctx, file, key, to); err != nil {
			return nil, err
		}
		item.Digest, item.GatewayDigest = restored.digest, restored.gateway
		item.Proposers = nil // those found brought in the text that is left
	}
	if it := state.Item(key); it != nil && key.Kind != surface.KindServer {
		digest := item.Digest
		if digest.IsZero() {
			digest = it.Digest
		}
		item.Grade, _ = p.textsOf(ctx, file, nil).grade(state, key, digest, state.Against(key, canonical.Digest{}))
	}
	signer, err := p.signer(ctx, d.Signing)
	if err != nil {
		return nil, err
	}
	if id, waits := waitingFor(state.Item(key), a.ledger, d.Action); waits && restored == nil {
		made, err := state.Cosign(ctx, id, trust.SSHKey(signer))
		if err != nil {
			return nil, err
		}
		return p.record(ctx, file, []*trust.Decision{made}, d.Signing, signer, nil)
	}
	statement, err := state.Draft(trust.Proposal{Action: d.Action, Items: []trust.ProposedItem{item}, Reason: d.Reason})
	if err != nil {
		return nil, err
	}
	made, err := state.Sign(ctx, statement, p.Env.Now(), trust.SSHKey(signer))
	if err != nil {
		return nil, err
	}
	return p.record(ctx, file, []*trust.Decision{made}, d.Signing, signer, restored)
}

// waitingFor finds the newest decision about an item, and about nothing else, that
// is the same action and lacks signatures: the second person signs that one.
func waitingFor(it *trust.ItemState, ledger *trust.Ledger, action trust.Action) (id canonical.Digest, ok bool) {
	if it == nil {
		return id, false
	}
	for _, p := range it.Pending {
		if p.Decision == it.Decision && p.Action == action && p.Digest == it.Digest && len(ledger.Decision(p.Decision).Statement.Items) == 1 {
			return p.Decision, true
		}
	}
	return id, false
}

// itemKey finds the item a decision is about. pause and resume are about a
// server; of the others SERVER alone means its source.
func (p *Project) itemKey(file *lockfile.File, d Decision) (surface.Key, error) {
	if d.Action == trust.Pause || d.Action == trust.Resume {
		if file.Server(d.Item) == nil {
			return surface.Key{}, fmt.Errorf("the lockfile holds no server %q", d.Item)
		}
		return surface.Key{Server: d.Item, Kind: surface.KindServer}, nil
	}
	found, err := p.Find(d.Item, d.Kind)
	if err != nil {
		return surface.Key{}, err
	}
	if found.Kind == surface.KindServer {
		return surface.Key{Server: found.Server.Name, Kind: surface.KindSource}, nil
	}
	return surface.Key{Server: found.Server.Name, Kind: found.Kind, Name: found.Name}, nil
}

// record writes decisions, names them in the lockfile and commits both. The
// decision files come first: a lockfile that names a decision which is not there
// would have nothing in force.
func (p *Project) record(ctx context.Context, file *lockfile.File, made []*trust.Decision, s Signing, signer sshsig.Signer, restored *restoredText) (*Decided, error) {
	fresh := *file
	fresh.Servers = make([]*lockfile.Server, len(file.Servers))
	for i, server := range file.Servers {
		fresh.Servers[i] = server.Clone()
	}
	if restored != nil {
		restored.into(&fresh)
	}
	out := &Decided{}
	var paths []string
	if !s.NoCommit {
		var err error
		if paths, err = p.uncommitted(ctx, file); err != nil {
			return nil, err
		}
	}
	for _, d := range made {
		id := d.Statement.ID()
		out.IDs, out.Action = append(out.IDs, id), d.Statement.Action
		for _, it := range d.Statement.Items {
			out.Items = append(out.Items, it.Key)
		}
		if err := trust.Record(&fresh, &d.Statement); err != nil {
			return nil, err
		}
		if err := p.putFile(trust.DecisionPath(id), d.Format()); err != nil {
			return nil, err
		}
		paths = append(paths, trust.DecisionPath(id))
	}
	written, err := p.writeDecided(ctx, file, &fresh, sshsig.FormatPublicKey(signer.PublicKey()), restored, out)
	if err != nil {
		return nil, err
	}
	out.Commit, err = p.commit(ctx, s, signer, decisionMessage(made), append(paths, written...))
	return out, err
}

// writeDecided writes the lockfile and its copies after a decision by a key. It
// returns the paths it touched and notes what signatures are missing.
func (p *Project) writeDecided(ctx context.Context, old, fresh *lockfile.File, key string, restored *restoredText, out *Decided) ([]string, error) {
	a, err := p.authority()
	if err != nil {
		return nil, err
	}
	if by := a.chain.Signer(key); by != nil {
		out.By = by.Principal
	}
	fresh.Trust = a.chain.Digest()
	state := p.evaluate(fresh, a, nil, nil)
	for _, key := range out.Items {
		if it := state.Item(key); it != nil {
			for _, pending := range it.Pending {
				if slices.Contains(out.IDs, pending.Decision) {
					out.Missing = append(out.Missing, pending.Tally)
				}
			}
		}
	}
	change := lockfile.Change{Old: old, New: fresh, Approved: p.approvedTexts(old, state)}
	if restored != nil {
		change.Surfaces = restored.surfaces()
	}
	result, err := p.store.Write(ctx, change)
	paths := slices.Concat(result.Written, result.Removed)
	if result.Lockfile {
		paths = append(paths, p.Path)
	}
	return paths, err
}

// approvedTexts returns the texts that were in force last and are not the locked
// ones, whatever was decided since: they are beside the locked copies. A text that
// was the locked one until now is taken from its copy; one that was there already
// stays, as does all of an item whose decisions cannot be followed.
func (p *Project) approvedTexts(old *lockfile.File, state *trust.State) map[surface.Key][]byte {
	texts := map[surface.Key][]byte{}
	copies := p.copies(old)
	for _, it := range state.Items {
		if it.Kind == surface.KindSource || it.Kind == surface.KindServer || it.Status != trust.Conflict && (it.Last.IsZero() || it.Last == it.Digest) {
			continue
		}
		key := it.Key
		texts[key] = nil
		if server := old.Server(it.Server); server != nil {
			if text := copies(server)(it.Kind, it.Name); text != nil && canonical.Sum(text) == it.Last {
				texts[key] = text
			}
		}
	}
	return texts
}

// verbs are the actions in the words of a commit's subject.
var verbs = map[trust.Action]string{
	trust.Approve: "Approve", trust.Reject: "Reject", trust.Disable: "Disable", trust.Enable: "Enable",
	trust.Pause: "Pause", trust.Resume: "Resume", trust.Rollback: "Roll back",
}

// maxTrailers bounds how many items a commit message names.
const maxTrailers = 50

// decisionMessage spells the commit of decisions.
func decisionMessage(made []*trust.Decision) string {
	var items, trailers []string
	first := made[0].Statement
	for _, d := range made {
		for _, it := range d.Statement.Items {
			items = append(items, ItemWords(it.Key))
		}
		trailers = append(trailers, d.Statement.ID().String())
	}
	subject := verbs[first.Action] + " " + items[0]
	if n := len(items); n > 1 {
		subject = fmt.Sprintf("%s %d items of %s", verbs[first.Action], n, strings.Join(serversOf(made), ", "))
	}
	if len([]rune(subject)) > 72 {
		subject = string([]rune(subject)[:71]) + "…"
	}
	pairs := [][2]string{{"Agentgateway-Action", string(first.Action)}}
	for i, item := range items {
		if i == maxTrailers {
			pairs = append(pairs, [2]string{"Agentgateway-Items-More", fmt.Sprint(len(items) - i)})
			break
		}
		pairs = append(pairs, [2]string{"Agentgateway-Item", item})
	}
	for _, id := range trailers {
		pairs = append(pairs, [2]string{"Agentgateway-Decision", id})
	}
	return commitMessage(subject, first.Reason, pairs...)
}

func serversOf(made []*trust.Decision) []string {
	var servers []string
	for _, d := range made {
		for _, it := range d.Statement.Items {
			if !slices.Contains(servers, it.Server) {
				servers = append(servers, it.Server)
			}
		}
	}
	return servers
}

// ItemWords names an item as a command line does.
func ItemWords(k surface.Key) string {
	switch {
	case k.Kind == surface.KindServer:
		return k.Server
	case k.Name == "":
		return k.Server + "/" + string(k.Kind)
	}
	return k.Server + "/" + k.Name
}
