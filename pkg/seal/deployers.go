package seal

import (
	"slices"

	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/trust"

	"golang.org/x/crypto/ssh"
)

// ByTrust returns the deployers that the newest version of a chain lists. A nil
// chain lists nobody.
func ByTrust(chain *trust.Chain) Deployers { return chainDeployers{chain} }

type chainDeployers struct{ chain *trust.Chain }

// Deployer implements [Deployers].
func (d chainDeployers) Deployer(key ssh.PublicKey) (string, bool) {
	if d.chain == nil {
		return "", false
	}
	signer := d.chain.Signer(sshsig.FormatPublicKey(key))
	if signer == nil || !slices.Contains(signer.Roles, trust.Deployer) {
		return "", false
	}
	return signer.Principal, true
}
