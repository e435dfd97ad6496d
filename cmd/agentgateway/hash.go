package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
)

type hashCmd struct {
	Kind   string `enum:"tool,prompt,resource,resourceTemplate" default:"tool" help:"What the definition is: ${enum}."`
	Format string `enum:"json,text" default:"json" help:"The format on standard output: ${enum}."`

	File string `arg:"" optional:"" default:"-" help:"The file that holds one definition; - for standard input."`
}

// hashed is the output of hash; the three hashes of the original format are those
// of tools.
type hashed struct {
	Kind            surface.Kind      `json:"kind"`
	Name            string            `json:"name"`
	NameHash        *canonical.Digest `json:"nameHash,omitempty"`
	DescriptionHash *canonical.Digest `json:"descriptionHash,omitempty"`
	InputSchemaHash *canonical.Digest `json:"inputSchemaHash,omitempty"`
	Digest          canonical.Digest  `json:"digest"`
	GatewayDigest   canonical.Digest  `json:"gatewayDigest"`
	Unstable        []string          `json:"gatewayUnstable,omitempty"`
}

// refusedDefinition is the output of hash for a definition that is not hashed.
type refusedDefinition struct {
	Refused canonical.Rule `json:"refused"`
	At      int            `json:"at"`
	Detail  string         `json:"detail"`
}

func (c *hashCmd) Run(a *app) error {
	raw, err := a.readInput(c.File)
	if err != nil {
		return err
	}
	d, err := surface.Read(surface.Kind(c.Kind), raw)
	var refusal *canonical.Refusal
	if errors.As(err, &refusal) {
		if err := a.printJSON(refusedDefinition{refusal.Rule, refusal.At, refusal.Detail}); err != nil {
			return err
		}
		return exit(exitBadRun)
	}
	if err != nil {
		return err
	}
	out := hashed{Kind: d.Kind, Name: d.Name, Digest: d.Digest, GatewayDigest: d.GatewayDigest, Unstable: d.Unstable}
	if t := d.Tool; t != nil {
		out.NameHash, out.DescriptionHash, out.InputSchemaHash = &t.Name, &t.Description, &t.InputSchema
	}
	return a.result(resultFlags{c.Format}, out, func() error {
		rows := [][]string{{string(out.Kind), shown(out.Name)}, {"digest", out.Digest.String()}, {"gatewayDigest", out.GatewayDigest.String()}}
		_, err := fmt.Fprint(a.stdout, columns(rows))
		return err
	})
}

// readInput reads a file or, for -, standard input; one byte more than a
// definition may have, so that the rule size can judge it.
func (a *app) readInput(file string) ([]byte, error) {
	in := a.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // it was only read
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, canonical.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return raw, nil
}
