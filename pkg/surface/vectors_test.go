package surface_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
)

type digestVectors struct {
	Accept []struct {
		ID, Definition, Canonical                          string
		NameHash, DescriptionHash, InputSchemaHash, Digest canonical.Digest
	}
	Refuse []struct {
		ID, Definition, DefinitionBase64 string
		Rule                             canonical.Rule
	}
	Surfaces []struct {
		ID          string
		Tools       []string
		SurfaceHash canonical.Digest
	}
}

func load(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("../../testdata/vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func TestDigestVectors(t *testing.T) {
	var v digestVectors
	load(t, "digest.json", &v)
	hashes := map[string]surface.ToolHashes{}
	for _, c := range v.Accept {
		t.Run(c.ID, func(t *testing.T) {
			d, err := surface.Read(surface.KindTool, []byte(c.Definition))
			if err != nil {
				t.Fatal(err)
			}
			if string(d.Canonical) != c.Canonical {
				t.Errorf("canonical\n have %s\n want %s", d.Canonical, c.Canonical)
			}
			if d.Digest != c.Digest {
				t.Errorf("digest %v, want %v", d.Digest, c.Digest)
			}
			want := surface.ToolHashes{Name: c.NameHash, Description: c.DescriptionHash, InputSchema: c.InputSchemaHash}
			if *d.Tool != want {
				t.Errorf("hashes %v, want %v", *d.Tool, want)
			}
			hashes[c.ID] = *d.Tool
			again, err := surface.Read(surface.KindTool, d.Canonical)
			if err != nil || again.Digest != d.Digest {
				t.Errorf("the canonical form is not a fixed point: %v", err)
			}
		})
	}
	for _, c := range v.Refuse {
		t.Run(c.ID, func(t *testing.T) {
			raw := []byte(c.Definition)
			if c.DefinitionBase64 != "" {
				var err error
				if raw, err = base64.StdEncoding.DecodeString(c.DefinitionBase64); err != nil {
					t.Fatal(err)
				}
			}
			_, err := surface.Read(surface.KindTool, raw)
			var refusal *canonical.Refusal
			if !errors.As(err, &refusal) || refusal.Rule != c.Rule {
				t.Errorf("error %v, want a refusal by %s", err, c.Rule)
			}
		})
	}
	for _, c := range v.Surfaces {
		t.Run("surface-"+c.ID, func(t *testing.T) {
			var raws [][]byte
			for _, id := range c.Tools {
				for _, a := range v.Accept {
					if a.ID == id {
						raws = append(raws, []byte(a.Definition))
					}
				}
			}
			list, refused := surface.NewList(surface.KindTool, raws)
			if len(refused) > 0 || len(list.Definitions) != len(c.Tools) {
				t.Fatalf("refused %v", refused)
			}
			var tools []surface.ToolHashes
			for _, d := range list.Definitions {
				tools = append(tools, *d.Tool)
			}
			if have := surface.Hash(tools); have != c.SurfaceHash {
				t.Errorf("surfaceHash %v, want %v", have, c.SurfaceHash)
			}
		})
	}
}

func TestGatewayVectors(t *testing.T) {
	var v struct {
		Cases []struct {
			ID                    string
			Kind                  surface.Kind
			Sent, Seen, Canonical string
			Digest, GatewayDigest canonical.Digest
		}
	}
	load(t, "gateway.json", &v)
	for _, c := range v.Cases {
		t.Run(c.ID, func(t *testing.T) {
			sent, err := surface.Read(c.Kind, []byte(c.Sent))
			if err != nil {
				t.Fatal(err)
			}
			if sent.Digest != c.Digest || sent.GatewayDigest != c.GatewayDigest {
				t.Errorf("digests %v %v, want %v %v", sent.Digest, sent.GatewayDigest, c.Digest, c.GatewayDigest)
			}
			var enc canonical.Encoder
			for _, text := range []string{c.Sent, c.Seen} {
				encoded, err := enc.Encode([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				p := surface.Project(c.Kind, encoded)
				if string(p.Bytes) != c.Canonical {
					t.Errorf("projection\n have %s\n want %s", p.Bytes, c.Canonical)
				}
				if text == c.Seen && len(p.Unknown) > 0 {
					t.Errorf("unknown members in what the gateway hands over: %v", p.Unknown)
				}
			}
		})
	}
}
