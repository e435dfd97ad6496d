package seal

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/textcheck"
	"agentgateway-lock/pkg/trust"
)

// The limits of a bundle.
const (
	MaxBundleSize   = 64 << 20 // bytes
	MaxInstructions = 1 << 14  // texts

	maxPath = 4096 // bytes of the lockfile's path
)

// BundleType is the type of a bundle file.
const BundleType = "agentgateway-bundle/v1"

// A Bundle is all that a processor needs, in one file, for a place that has no
// repository.
type Bundle struct {
	// Path is where the lockfile stands, from the folder that holds .agentgateway:
	// what decisions call it.
	Path     string
	Lockfile []byte // UTF-8; given back byte for byte
	// Trust holds the trust versions, from 1 on without a gap; none for a repository
	// without a trust list.
	Trust     []trust.File
	Decisions []trust.DecisionFile // sorted by path, each once; see [trust.Ledger.Files]
	// Instructions holds the texts of approved instructions, sorted by digest, each
	// once. A text is known by its digest, so one that nobody approved has no effect.
	Instructions []string
	Seal         BundleSeal
}

// A BundleSeal is a detached seal of the lockfile inside a bundle.
type BundleSeal struct {
	Kind Require // RequireSignature, RequireSigstore, or RequireNone for no seal
	Data []byte  // the armored signature, or the Sigstore bundle as JSON; UTF-8
}

// Instruction returns the text of instructions by its digest.
func (b *Bundle) Instruction(digest canonical.Digest) (text string, ok bool) {
	i, ok := slices.BinarySearchFunc(b.Instructions, digest, func(text string, d canonical.Digest) int {
		return compareDigests(canonical.SumString(text), d)
	})
	if !ok {
		return "", false
	}
	return b.Instructions[i], true
}

func compareDigests(a, b canonical.Digest) int { return slices.Compare(a[:], b[:]) }

// sealKinds are the seals that a bundle can hold.
var sealKinds = []Require{RequireSignature, RequireSigstore, RequireNone}

// check holds a bundle to what its form promises, apart from what is inside its
// files. It returns a sentence for what is wrong.
func (b *Bundle) check() string {
	switch {
	case !lockfile.CleanPath(b.Path) || len(b.Path) > maxPath:
		return "the path " + textcheck.Quote(b.Path, textcheck.QuoteLength) + " is not a plain one, relative and with slashes"
	case !utf8.Valid(b.Lockfile):
		return "the lockfile is not UTF-8"
	case len(b.Trust) > trust.MaxVersions:
		return fmt.Sprintf("it holds %d trust versions; the limit is %d", len(b.Trust), trust.MaxVersions)
	case len(b.Decisions) > trust.MaxDecisions:
		return fmt.Sprintf("it holds %d decisions; the limit is %d", len(b.Decisions), trust.MaxDecisions)
	case len(b.Instructions) > MaxInstructions:
		return fmt.Sprintf("it holds %d instructions; the limit is %d", len(b.Instructions), MaxInstructions)
	case !slices.Contains(sealKinds, b.Seal.Kind):
		return "its seal is of the kind " + textcheck.Quote(b.Seal.Kind, textcheck.QuoteLength) + ", which a bundle cannot hold"
	case (b.Seal.Kind == RequireNone) != (len(b.Seal.Data) == 0):
		return "a seal has a text, and the kind none has none"
	case !utf8.Valid(b.Seal.Data):
		return "the seal is not UTF-8"
	}
	if detail := b.checkFiles(); detail != "" {
		return detail
	}
	return b.checkInstructions()
}

func (b *Bundle) checkFiles() string {
	for i, f := range b.Trust {
		if f.Number != i+1 {
			return fmt.Sprintf("trust version %d in place of version %d", f.Number, i+1)
		}
		if !utf8.Valid(f.Data) {
			return fmt.Sprintf("trust version %d is not UTF-8", f.Number)
		}
	}
	for i, f := range b.Decisions {
		if _, ok := trust.ParseDecisionPath(f.Path); !ok {
			return textcheck.Quote(f.Path, textcheck.QuoteLength) + " is not the place of a decision"
		}
		if i > 0 && b.Decisions[i-1].Path >= f.Path {
			return "decisions are not sorted by their ids, each once"
		}
		if !utf8.Valid(f.Data) {
			return "the decision " + f.Path + " is not UTF-8"
		}
	}
	return ""
}

func (b *Bundle) checkInstructions() string {
	var last canonical.Digest
	for i, text := range b.Instructions {
		d := canonical.SumString(text)
		if i > 0 && compareDigests(last, d) >= 0 {
			return "instructions are not sorted by their digests, each once"
		}
		if !utf8.ValidString(text) {
			return "the instructions with the digest " + d.Short() + " are not UTF-8"
		}
		last = d
	}
	return ""
}
