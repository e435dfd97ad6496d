package settled

// A Way is a way in which a source is settled.
type Way string

// The ways.
const (
	Allowed    Way = "allowed"
	OwnChange  Way = "own-change"
	OnDefault  Way = "on-default"
	Remembered Way = "remembered"
	OnBase     Way = "on-base"
	Approved   Way = "approved"
)

// ways are all ways, those first whose surroundings cost least to look at.
var ways = [...]Way{Allowed, OwnChange, OnDefault, Remembered, OnBase, Approved}

// Facts are what the rule looks at for one server whose configuration and lockfile
// agree.
type Facts struct {
	// CI holds where an automatic check runs. Event is what it is about.
	CI    bool
	Event Event
	// HeadIsEvents holds where the commit that is checked out is the event's.
	HeadIsEvents bool
	// RemoteKnown holds where this user has accepted the URL of the remote for this
	// clone, or a clone that has none.
	RemoteKnown bool
	// Base and Default hold where the lockfile of the base, and of the default
	// branch's newest commit, has the same source.
	Base, Default bool
	// HeadOnDefault holds where HEAD is the default branch's newest commit or on its
	// first-parent line.
	HeadOnDefault bool
	// DiskIsHead holds where the lockfile on disk is HEAD's, and the configurations
	// name for this server what HEAD's do.
	DiskIsHead bool
	// Approved holds where the source is approved under the trust list in force.
	Approved bool
	// Remembered and Allowed hold where this user's memory of the clone has the
	// source as locked, and where this user allowed it.
	Remembered, Allowed bool
	// Surroundings tells how what the words run differs from what it was where a way
	// settled them. It is asked only of ways that hold.
	Surroundings func(Way) Difference
}

// A Difference is what of the surroundings is not as it was.
type Difference struct {
	Files []string // sorted; in part, or none, where just the sum is known
	Err   error    // why it cannot be told; that is a difference too
	Any   bool
}

// A Verdict says whether a source is settled.
type Verdict struct {
	// Way is by what it is settled; empty where it is not.
	Way Way
	// Words is the first way that settles the words, and Difference what is another
	// in their surroundings, where that is why the source is not settled.
	Words      Way
	Difference Difference
}

// Judge decides.
func Judge(f *Facts) Verdict {
	var out Verdict
	for _, way := range ways {
		if !f.words(way) {
			continue
		}
		if !f.asksSurroundings(way) {
			return Verdict{Way: way}
		}
		d := f.Surroundings(way)
		if !d.Any && d.Err == nil {
			return Verdict{Way: way}
		}
		if out.Words == "" {
			out.Words, out.Difference = way, d
		}
	}
	return out
}

// words reports whether a way settles the words of the source.
func (f *Facts) words(way Way) bool {
	switch way {
	case Allowed:
		return f.Allowed
	case OwnChange:
		return f.CI && f.Event.OfChange() && f.HeadIsEvents && f.Event.SameRepository()
	case OnDefault:
		if !f.Default || !f.HeadOnDefault {
			return false
		}
		if f.CI {
			return f.Event.OnDefault() && f.HeadIsEvents
		}
		return f.DiskIsHead && f.RemoteKnown
	case Remembered:
		return !f.CI && f.Remembered
	case OnBase:
		return f.Base && f.Default && (f.CI || f.RemoteKnown)
	case Approved:
		return f.Approved
	}
	return false
}

// asksSurroundings reports whether a way asks for surroundings. Whoever can change
// the code of this same repository in CI can run anything there anyway.
func (f *Facts) asksSurroundings(way Way) bool {
	switch way {
	case Allowed, OwnChange:
		return false
	case OnDefault:
		return !f.CI
	}
	return true
}
