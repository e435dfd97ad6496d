package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"agentgateway-lock/pkg/project"
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/textcheck"
)

type sealCmd struct {
	trustFlags

	Tag     string `placeholder:"NAME" help:"Make a signed tag of this name, such as lock/v1, of HEAD."`
	Message string `placeholder:"TEXT" help:"The first line of the tag's message."`
	SSHKey  string `name:"ssh-key" placeholder:"FILE" help:"The key to sign with (default: git's user.signingkey)."`

	Sigstore      bool   `help:"Sign with an identity in place of a key."`
	IdentityToken string `placeholder:"FILE" help:"With --sigstore: the identity token (default: the variable SIGSTORE_ID_TOKEN)."`
	FulcioURL     string `name:"fulcio-url" placeholder:"URL" help:"With --sigstore: the certificate authority."`
	RekorURL      string `name:"rekor-url" placeholder:"URL" help:"With --sigstore: the transparency log."`
	TimestampURL  string `name:"timestamp-url" placeholder:"URL" help:"With --sigstore: the timestamp authority."`
	TrustedRoot   string `placeholder:"FILE" help:"With --sigstore: the trusted root of the instance."`
}

// Validate implements kong's check of a command.
func (c *sealCmd) Validate() error {
	switch {
	case c.Sigstore && (c.Tag != "" || c.SSHKey != ""):
		return errors.New("--sigstore goes with neither --tag nor --ssh-key")
	case c.Sigstore && (c.FulcioURL == "" || c.TrustedRoot == "" || c.RekorURL == "" && c.TimestampURL == ""):
		return errors.New("--sigstore needs --fulcio-url, --trusted-root, and --rekor-url or --timestamp-url")
	case c.Message != "" && c.Tag == "":
		return errors.New("--message goes with --tag")
	}
	return nil
}

// identityToken reads the token that vouches for who signs.
func (c *sealCmd) identityToken(a *app) (string, error) {
	if c.IdentityToken == "" {
		if token := a.env("SIGSTORE_ID_TOKEN"); token != "" {
			return token, nil
		}
		return "", errors.New("--sigstore needs an identity token: pass --identity-token FILE, or set SIGSTORE_ID_TOKEN")
	}
	token, err := os.ReadFile(c.IdentityToken)
	return strings.TrimSpace(string(token)), err
}

// signSigstore makes a Sigstore bundle over a lockfile.
func (c *sealCmd) signSigstore(a *app) (func(context.Context, []byte) ([]byte, error), error) {
	root, err := os.ReadFile(c.TrustedRoot)
	if err != nil {
		return nil, err
	}
	token, err := c.identityToken(a)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, lockfile []byte) ([]byte, error) {
		return sigstoreSign(ctx, sigstoreInstance{c.FulcioURL, c.RekorURL, c.TimestampURL, root}, lockfile, token)
	}, nil
}

func (c *sealCmd) Run(a *app, g *globals) error {
	p, err := a.openTrust(g, c.trustFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	signing := signFlags{SSHKey: c.SSHKey}.signing(a)
	switch {
	case c.Sigstore:
		sign, err := c.signSigstore(a)
		if err != nil {
			return err
		}
		name, err := p.SealSigstore(a.ctx, sign)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "Wrote %s.\n", textcheck.Terminal(name))
		return err
	case c.Tag == "":
		name, err := p.SealSignature(a.ctx, signing)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "Wrote %s.\n", textcheck.Terminal(name))
		return err
	}
	sealed, err := p.SealTag(a.ctx, c.Tag, c.Message, signing)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "The tag %s seals %s of commit %s, signed by %s.\nPublish it: git push origin %s\n",
		c.Tag, textcheck.Terminal(sealed.Path), sealed.Commit.Short(), textcheck.Terminal(sealed.Signer), sealed.Ref)
	return err
}

type bundleCmd struct {
	trustFlags

	File string `arg:"" help:"The file to write; - for standard output."`
}

func (c *bundleCmd) Run(a *app, g *globals) error {
	p, err := a.openTrust(g, c.trustFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	data, err := p.Bundle()
	if err != nil {
		return err
	}
	if c.File == "-" {
		return a.printJSONText(data)
	}
	if err := project.WriteFile(c.File, data); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "Wrote %s, %d bytes.\n", textcheck.Terminal(c.File), len(data))
	return err
}

type verifyCmd struct {
	trustFlags

	Tag       string `xor:"seal" placeholder:"NAME" help:"Verify the tag of this name."`
	Signature string `xor:"seal" placeholder:"FILE" help:"Verify a detached signature over the lockfile (default: the one beside it)."`
	Bundle    string `xor:"seal" placeholder:"FILE" help:"Verify a bundle file."`
	Sigstore  string `xor:"seal" placeholder:"FILE" help:"Verify a Sigstore bundle over the lockfile."`

	CertificateIdentity   string `placeholder:"IDENTITY" help:"With Sigstore: the one identity that may have signed."`
	CertificateOIDCIssuer string `name:"certificate-oidc-issuer" placeholder:"URL" help:"With Sigstore: the issuer that vouches for it."`
	TrustedRoot           string `placeholder:"FILE" help:"With Sigstore: the trusted root; nothing is fetched."`
}

func (c *verifyCmd) Run(a *app, g *globals) error {
	p, err := a.openTrust(g, c.trustFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	v := project.VerifySeal{Tag: c.Tag, Signature: c.Signature, Bundle: c.Bundle, Sigstore: c.Sigstore, Verifier: sigstoreVerifier()}
	if c.Tag == "" && c.Signature == "" && c.Bundle == "" && c.Sigstore == "" {
		v.Signature = p.SignatureName()
	}
	if c.TrustedRoot != "" {
		root, err := os.ReadFile(c.TrustedRoot)
		if err != nil {
			return fmt.Errorf("--trusted-root: %w", err)
		}
		v.Policy.TrustedRoot = root
	}
	v.Policy.Identity, v.Policy.Issuer, v.Policy.Now = c.CertificateIdentity, c.CertificateOIDCIssuer, a.now()
	sealed, err := p.Verify(a.ctx, v)
	if err != nil {
		var broken *seal.Error
		if errors.As(err, &broken) {
			return &exitError{code: exitFindings, err: err, hint: broken.Advice}
		}
		return err
	}
	if sealed.Chain != nil && !sealed.Chain.Pinned() {
		fmt.Fprintln(a.stderr, unpinned)
	}
	if sealed.Require == seal.RequireNone {
		_, err = fmt.Fprintf(a.stdout, "%s has no seal; its trust chain verifies.\n", textcheck.Terminal(sealed.Path))
		return err
	}
	where := ""
	if sealed.Ref != "" {
		where = " at " + sealed.Ref + ", commit " + sealed.Commit.Short()
	}
	_, err = fmt.Fprintf(a.stdout, "%s%s is sealed (%s) by %s.\n", textcheck.Terminal(sealed.Path), where, sealed.Require, textcheck.Terminal(sealed.Signer))
	return err
}
