package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/internal/bounded"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/textcheck"
)

// RefreshOptions are what a Refresher is made of.
type RefreshOptions struct {
	Loader *Loader
	Floor  *Floor
	Origin string        // names the policy origin for the floor: the repository or the bundle
	Every  time.Duration // between refreshes; 0 for only when asked
	// Watch are files whose change is a reason to reload.
	Watch []string
	// WatchEvery is how often files are looked at; 0 for once a second.
	WatchEvery time.Duration
	Deny       string // the deny file; empty for none
	MaxAge     time.Duration
	Options    processor.Options
	Install    func(*processor.Policy)
	// Installed is told of each policy that was put in force; may be nil.
	Installed func(*Loaded)
	// Reloaded is told of every attempt, nil for one that succeeded; may be nil.
	Reloaded func(error)
	// OnReload are further things to read anew, such as certificates.
	OnReload []func() error
	Log      *slog.Logger
	Now      func() time.Time
}

// A Refresher puts the policies of an origin in force, off the path of hooks. One
// that does not verify, or is older than the one in force, is refused: the old
// one stays.
type Refresher struct {
	opts RefreshOptions
	kick chan struct{}

	mu       sync.Mutex
	loaded   *Loaded // in force
	deny     []DenyLine
	denyData []byte
	unknown  []DenyLine
	success  time.Time // of the last refresh
	passed   int
	problems map[problem]string
}

// problem is a kind of trouble that is reported until it is over.
type problem string

const (
	problemReload problem = "reload-failed"
	problemTags   problem = "tags-refused"
	problemDeny   problem = "deny-unreadable"
	problemState  problem = "state-not-written"
	problemFiles  problem = "credentials-unreadable"
)

// NewRefresher returns a refresher. The deny file has to be readable: a kill
// switch that was never connected would be noticed too late.
func NewRefresher(opts RefreshOptions) (*Refresher, error) {
	if opts.WatchEvery == 0 {
		opts.WatchEvery = time.Second
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	r := &Refresher{opts: opts, kick: make(chan struct{}, 1), problems: map[problem]string{}}
	if opts.Deny != "" {
		data, err := bounded.OSFile(opts.Deny, maxDeny)
		if err != nil {
			return nil, fmt.Errorf("reading the deny file: %w; make it empty where nothing is denied", err)
		}
		r.deny, r.denyData = ParseDeny(data), data
	}
	return r, nil
}

// Trigger asks for a refresh as soon as the one under way has ended.
func (r *Refresher) Trigger() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// retryFirst is how soon the origin is read again as long as there is no policy.
const retryFirst = 5 * time.Second

// Run refreshes until ctx ends.
func (r *Refresher) Run(ctx context.Context) {
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(ctx) })
	defer watching.Wait()
	for {
		every := r.opts.Every
		if err := r.Refresh(ctx); err != nil && r.Loaded() == nil && (every == 0 || every > retryFirst) {
			every = retryFirst
		}
		if !r.wait(ctx, every) {
			return
		}
	}
}

// wait returns after d, or when a refresh is asked for; d of 0 is forever. It
// reports whether to go on.
func (r *Refresher) wait(ctx context.Context, d time.Duration) bool {
	var after <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-after:
	case <-r.kick:
	}
	return true
}

// refreshTimeout bounds one refresh: a remote that hangs must not end refreshing.
const refreshTimeout = 5 * time.Minute

// Refresh reads the origin once and puts what it holds in force.
func (r *Refresher) Refresh(ctx context.Context) error {
	var failed []error
	for _, f := range r.opts.OnReload {
		failed = append(failed, f())
	}
	r.report(problemFiles, errors.Join(failed...))
	limited, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	_, err := r.opts.Loader.Load(limited, r.accept)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.report(problemReload, err)
	r.reportPassed(r.opts.Loader.Passed())
	if r.opts.Reloaded != nil {
		r.opts.Reloaded(err)
	}
	if err == nil {
		r.mu.Lock()
		r.success = r.opts.Now()
		r.mu.Unlock()
	}
	return err
}

// maxNamed is how many refused tags a reason names.
const maxNamed = 3

// reportPassed tells of what is newer than what is in force, and was refused.
func (r *Refresher) reportPassed(passed []string) {
	r.mu.Lock()
	r.passed = len(passed)
	r.mu.Unlock()
	if len(passed) == 0 {
		r.report(problemTags, nil)
		return
	}
	more := ""
	if n := len(passed) - maxNamed; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	r.report(problemTags, fmt.Errorf("newer than what is in force, and refused: %s%s", strings.Join(passed[:min(len(passed), maxNamed)], ", "), more))
}

// Passed is how many tags are newer than the one in force, and were refused.
func (r *Refresher) Passed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.passed
}

// accept puts a loaded policy in force.
func (r *Refresher) accept(ctx context.Context, loaded *Loaded) error {
	if err := r.opts.Floor.Check(ctx, r.opts.Origin, loaded); err != nil {
		return err
	}
	if err := r.put(loaded); err != nil {
		return err
	}
	r.report(problemState, r.opts.Floor.Accept(r.opts.Origin, loaded))
	r.opts.Log.Info("policy in force", "origin", loaded.Origin, "commit", loaded.Commit, "lockfile", loaded.Digest.String(), "sealed", loaded.Sealed)
	if r.opts.Installed != nil {
		r.opts.Installed(loaded)
	}
	return nil
}

// put compiles a policy with the deny list of now, and swaps it in.
func (r *Refresher) put(loaded *Loaded) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.putLocked(loaded)
}

func (r *Refresher) putLocked(loaded *Loaded) error {
	in := loaded.Input(r.opts.Options)
	var refs []processor.Ref
	refs, r.unknown = resolveDeny(r.deny, loaded.Lockfile)
	in.Deny = refs
	policy, err := processor.NewPolicy(in)
	if err != nil {
		return &LoadError{RulePolicy, loaded.Origin + ": " + err.Error(), "fix the lockfile", err}
	}
	r.opts.Install(policy)
	r.loaded = loaded
	return nil
}

// report keeps the newest trouble of a kind, and logs it once.
func (r *Refresher) report(p problem, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		if _, had := r.problems[p]; had {
			delete(r.problems, p)
			r.opts.Log.Info("over: " + string(p))
		}
		return
	}
	text := textcheck.Terminal(err.Error())
	if r.problems[p] == text {
		return
	}
	r.problems[p] = text
	attrs := []any{"reason", text}
	if hint := finding.HintOf(err); hint != "" {
		attrs = append(attrs, "hint", hint)
	}
	if le, ok := errors.AsType[*LoadError](err); ok {
		attrs = append(attrs, "rule", le.Rule)
	}
	r.opts.Log.Error(string(p), attrs...)
}

// watch looks at files, and re-reads the deny file at once where it changed.
func (r *Refresher) watch(ctx context.Context) {
	ticker := time.NewTicker(r.opts.WatchEvery)
	defer ticker.Stop()
	stamps := make(map[string]fileStamp, len(r.opts.Watch))
	for _, name := range r.opts.Watch {
		stamps[name] = stampOf(name)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		r.RereadDeny()
		for _, name := range r.opts.Watch {
			if now := stampOf(name); now != stamps[name] {
				stamps[name] = now
				r.Trigger()
			}
		}
	}
}

// fileStamp tells whether a file is still the one that was looked at.
type fileStamp struct {
	size int64
	at   time.Time
	err  bool
}

func stampOf(name string) fileStamp {
	info, err := os.Stat(name)
	if err != nil {
		return fileStamp{err: true}
	}
	return fileStamp{info.Size(), info.ModTime(), false}
}

// RereadDeny reads the deny file and, where it changed, puts the policy in force
// anew. A file that cannot be read changes nothing and is reported: what was
// denied stays denied.
func (r *Refresher) RereadDeny() {
	if r.opts.Deny == "" {
		return
	}
	data, err := bounded.OSFile(r.opts.Deny, maxDeny)
	if err != nil {
		r.report(problemDeny, fmt.Errorf("the deny file cannot be read, and what it denied stays denied: %w", err))
		return
	}
	r.report(problemDeny, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes.Equal(data, r.denyData) {
		return
	}
	r.deny, r.denyData = ParseDeny(data), data
	if r.loaded != nil {
		if err := r.putLocked(r.loaded); err != nil {
			r.opts.Log.Error("the deny file could not be applied", "reason", err.Error())
			return
		}
	}
	r.opts.Log.Warn("the deny file was read again", "lines", len(r.deny))
}

// Loaded is what is in force, or nil.
func (r *Refresher) Loaded() *Loaded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loaded
}

// A Reason is one thing to know about a processor's readiness.
type Reason struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
	// Blocks is set where the processor is not ready because of it.
	Blocks bool `json:"blocks"`
}

// The codes of reasons.
const (
	reasonNoPolicy         = "no-policy"
	reasonPolicyTooOld     = "policy-too-old"
	reasonProbing          = "probing"
	reasonDenyUnknown      = "deny-unknown"
	reasonNoFloor          = "no-floor"
	reasonUnsigned         = "unsigned"
	reasonObserve          = "observe"
	reasonUncoveredPass    = "uncovered-pass"
	reasonNoEvidenceLimit  = "no-evidence-limit"
	reasonInsecureLoopback = "insecure-loopback"
)

// ReasonCodes returns every code that a Reason can have.
func ReasonCodes() []string {
	return []string{
		reasonNoPolicy, reasonPolicyTooOld, reasonProbing, string(problemReload), string(problemTags), string(problemDeny), reasonDenyUnknown,
		string(problemState), string(problemFiles), reasonNoFloor, reasonUnsigned, reasonObserve, reasonUncoveredPass,
		reasonNoEvidenceLimit, reasonInsecureLoopback,
	}
}

// Reasons tells what is to be known of the policy.
func (r *Refresher) Reasons() []Reason {
	r.mu.Lock()
	defer r.mu.Unlock()
	var reasons []Reason
	add := func(code, detail string, blocks bool) { reasons = append(reasons, Reason{code, detail, blocks}) }
	if r.loaded == nil {
		add(reasonNoPolicy, "no policy has verified yet; everything is denied", true)
	} else if age := r.opts.Now().Sub(r.success); r.opts.MaxAge > 0 && age > r.opts.MaxAge {
		add(reasonPolicyTooOld, fmt.Sprintf("the last refresh that succeeded was %s ago", age.Round(time.Second)), true)
	}
	for _, p := range []problem{problemReload, problemTags, problemDeny, problemState, problemFiles} {
		if text, ok := r.problems[p]; ok {
			add(string(p), text, false)
		}
	}
	if r.opts.Floor.Missing() {
		add(reasonNoFloor, "nothing keeps a restart from being rolled back: use --state-dir or --at-least", false)
	}
	if r.loaded != nil && r.loaded.Unsigned() {
		add(reasonUnsigned, "there is no trust list: what is locked counts as approved", false)
	}
	for _, line := range r.unknown {
		add(reasonDenyUnknown, "the deny file names what the lockfile does not hold: "+line.String(), true)
	}
	return reasons
}

// Age is the time since the last refresh that succeeded; ok is false before.
func (r *Refresher) Age() (age time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opts.Now().Sub(r.success), !r.success.IsZero()
}

// Denied are the lines of the deny file.
func (r *Refresher) Denied() []DenyLine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deny
}

func (r *Refresher) failing(p problem) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.problems[p]
	return ok
}
