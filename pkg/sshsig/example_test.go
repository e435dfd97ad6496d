package sshsig_test

import (
	"context"
	"crypto/ed25519"
	"fmt"

	"agentgateway-lock/pkg/sshsig"

	"golang.org/x/crypto/ssh"
)

func ExampleSign() {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) // never a key like this
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		fmt.Println(err)
		return
	}
	signer := memKey{key.PublicKey(), func(data []byte) (*ssh.Signature, error) { return key.Sign(nil, data) }}
	s, err := sshsig.Sign(context.Background(), signer, sshsig.NamespaceDecision, []byte("approved"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Fingerprint())
	fmt.Println(sshsig.Verify([]byte("approved"), s, sshsig.NamespaceDecision))
	fmt.Println(sshsig.Verify([]byte("approved"), s, sshsig.NamespaceGit))
	// Output:
	// SHA256:tAXFyTXI8xtDaujAEcwJslAYc9/6FKcUkd2Lw0xDhPo
	// <nil>
	// signature by key SHA256:tAXFyTXI8xtDaujAEcwJslAYc9/6FKcUkd2Lw0xDhPo: made for namespace "agentgateway-decision@v1", not for "git" [namespace]
}
