package trust

// The limits of the formats. Reading beyond one is refused, never cut short.
const (
	MaxVersionSize  = 1 << 20 // bytes of a trust version
	MaxDecisionSize = 8 << 20 // bytes of a decision; about 15,000 items
	MaxVersions     = 1024    // trust versions in a chain
	MaxDecisions    = 1 << 16 // decision files in a repository
	MaxSignatures   = 64      // of one version or decision
	MaxSigners      = 1024    // of a version
	MaxKeys         = 64      // of a signer
	MaxEmails       = 64      // of a signer
	MaxPatterns     = 256     // of a signer
	MaxStands       = 1 << 14 // of a version
	MaxItems        = 1 << 15 // of a decision
	MaxPrevious     = 64      // of an item
	MaxProposers    = 256     // of an item
	MaxNotMine      = 256     // of a decision

	maxBody          = MaxDecisionSize
	maxName          = 255     // bytes of a person, principal or pattern
	maxReason        = 4 << 10 // bytes
	maxText          = 1 << 20 // bytes of an item's or server's name
	maxKeyText       = 8 << 10 // bytes
	maxSignatureText = 12 << 10
	maxTime          = 253402300799 // the last second of the year 9999
)
