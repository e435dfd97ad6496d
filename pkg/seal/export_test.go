package seal

// SignBytes signs what Sign would, by whoever it is.
var SignBytes = signBytes

// VerifyBytes judges a detached signature as Verify does.
func VerifyBytes(lockfile, armored []byte, deployers Deployers) (*Signature, error) {
	return verify("the signature", lockfile, armored, "agentgateway-lock@v1", deployers)
}
