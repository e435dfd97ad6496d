package surface

import (
	"bytes"
	"fmt"
	"slices"

	"agentgateway-lock/pkg/canonical"
)

// A Definition is one JSON object a server lists, with its hashes.
type Definition struct {
	Kind          Kind
	Name          string // the name, or the URI (template)
	Canonical     []byte // the whole definition
	Digest        canonical.Digest
	GatewayDigest canonical.Digest
	Tool          *ToolHashes // of a tool, else nil
	// Unstable says why the gateway cannot pass the definition on unchanged, one
	// sentence each; empty where it can.
	Unstable []string
}

// ToolHashes are the three hashes of the original lockfile format.
type ToolHashes struct {
	Name        canonical.Digest // nameHash
	Description canonical.Digest // descriptionHash
	InputSchema canonical.Digest // inputSchemaHash
}

// emptySchema is what inputSchemaHash is over where there is no schema.
var emptySchema = canonical.SumString("{}")

// A Reader makes definitions out of bytes. It keeps its working memory; it is not
// safe for concurrent use. The zero value is ready to use.
type Reader struct {
	// MaxSize bounds the length of a text in bytes; 0 means [canonical.MaxSize],
	// which is the limit for what a server sends. A readable copy is longer.
	MaxSize int

	enc     canonical.Encoder
	gateway projector
}

// Read judges and hashes the definition raw, the exact bytes a server sent. The
// error is a [*canonical.Refusal].
func Read(kind Kind, raw []byte) (Definition, error) {
	var r Reader
	return r.Read(kind, raw)
}

// Read is like the function [Read] and reuses the working memory of r.
func (r *Reader) Read(kind Kind, raw []byte) (Definition, error) {
	list, ok := ListKindOf(kind)
	if !ok {
		return Definition{}, fmt.Errorf("%q is not a kind of definition", kind)
	}
	r.enc.MaxSize = r.MaxSize
	text, err := r.enc.Encode(raw)
	if err != nil {
		return Definition{}, err
	}
	if refusal := checkShape(list, text); refusal != nil {
		return Definition{}, refusal
	}
	d := Definition{Kind: kind, Canonical: text.Bytes, Digest: canonical.Sum(text.Bytes)}
	d.Name = canonical.Unquote(value(text, list.ID))
	projected := r.gateway.project(kind, text)
	d.GatewayDigest, d.Unstable = d.Digest, projected.Unstable
	if !bytes.Equal(projected.Bytes, text.Bytes) {
		d.GatewayDigest = canonical.Sum(projected.Bytes)
	}
	if kind == KindTool {
		d.Tool = toolHashes(d.Name, text)
	}
	return d, nil
}

func toolHashes(name string, text canonical.Text) *ToolHashes {
	h := &ToolHashes{Name: canonical.SumString(name), InputSchema: emptySchema}
	description := ""
	if v := value(text, "description"); v != nil && !isNull(v) {
		description = canonical.Unquote(v)
	}
	h.Description = canonical.SumString(description)
	if v := value(text, "inputSchema"); v != nil && !isNull(v) {
		h.InputSchema = canonical.Sum(v)
	}
	return h
}

// value returns the canonical bytes of a member of the outermost object, or nil.
func value(text canonical.Text, key string) []byte {
	for _, m := range text.Members {
		if string(m.Key) == key {
			return text.Bytes[m.Value:m.End]
		}
	}
	return nil
}

func isNull(v []byte) bool { return v[0] == 'n' }

// shapes are the members whose type decides whether a definition can be
// understood at all: the first byte of the value each must have.
var shapes = []struct {
	key   string
	kind  canonical.Kind
	kinds []Kind
}{
	{"name", canonical.KindString, []Kind{KindTool, KindPrompt, KindResource, KindResourceTemplate}},
	{"description", canonical.KindString, []Kind{KindTool, KindPrompt, KindResource, KindResourceTemplate}},
	{"inputSchema", canonical.KindObject, []Kind{KindTool}},
	{"outputSchema", canonical.KindObject, []Kind{KindTool}},
}

func checkShape(list ListKind, text canonical.Text) *canonical.Refusal {
	if text.Bytes[0] != '{' {
		return &canonical.Refusal{Rule: canonical.RuleShape, Detail: "a definition is an object"}
	}
	id := value(text, list.ID)
	if len(id) <= len(`""`) || id[0] != '"' {
		return &canonical.Refusal{Rule: canonical.RuleShape, Detail: list.ID + " is not a string of one character or more"}
	}
	for _, s := range shapes {
		v := value(text, s.key)
		if v == nil || isNull(v) || v[0] == byte(s.kind) {
			continue
		}
		if slices.Contains(s.kinds, list.Kind) {
			return &canonical.Refusal{Rule: canonical.RuleShape, Detail: fmt.Sprintf("%s is not %v", s.key, s.kind)}
		}
	}
	return nil
}
