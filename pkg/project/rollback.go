package project

import (
	"context"
	"fmt"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// restoredText is an earlier text of an item, found again.
type restoredText struct {
	key             surface.Key
	definition      surface.Definition // of a definition
	words           string             // of instructions
	digest, gateway canonical.Digest
}

// approvedDigest is the digest that a person names: of those that were approved
// once, or any that is given in whole.
func approvedDigest(steps []trust.Step, text string) (canonical.Digest, error) {
	if to, err := canonical.ParseDigest(text); err == nil {
		return to, nil
	}
	to, err := canonical.MatchDigest(text, func(yield func(canonical.Digest) bool) {
		for _, s := range steps {
			puts := s.Action == trust.Approve || s.Action == trust.Rollback
			if s.Counts && puts && !yield(s.Item.Digest) {
				return
			}
		}
	})
	if err != nil {
		return to, &hintError{fmt.Errorf("--to %w", err), "name one that the audit log shows as approved"}
	}
	return to, nil
}

// earlierText finds the text of a digest to go back to.
func (p *Project) earlierText(ctx context.Context, file *lockfile.File, key surface.Key, to canonical.Digest) (*restoredText, error) {
	if key.Kind == surface.KindSource || key.Kind == surface.KindServer {
		return nil, &hintError{fmt.Errorf("a %s has no text to go back to", key.Kind), "change the configuration back, then lock and approve it"}
	}
	if r := p.textsOf(ctx, file, nil).restored(key, to); r != nil {
		return r, nil
	}
	return nil, &hintError{fmt.Errorf("no text of %s with the digest %s is in this clone", ItemWords(key), to), "fetch the whole history (git fetch --unshallow), or name another digest"}
}

// restore reads a copy and keeps it where it has the digest.
func restore(key surface.Key, text []byte, to canonical.Digest) *restoredText {
	if key.Kind == surface.KindInstructions {
		words, err := lockfile.ParseInstructions(text)
		if err != nil || canonical.SumString(words) != to {
			return nil
		}
		return &restoredText{key: key, words: words, digest: to}
	}
	definition, err := lockfile.ParseCopy(text)
	if err != nil || canonical.Sum(definition) != to {
		return nil
	}
	d, err := surface.Read(key.Kind, definition)
	if err != nil {
		return nil
	}
	return &restoredText{key: key, definition: d, digest: d.Digest, gateway: d.GatewayDigest}
}

// text is the canonical definition, or the words of instructions.
func (r *restoredText) text() []byte {
	if r.key.Kind == surface.KindInstructions {
		return []byte(r.words)
	}
	return r.definition.Canonical
}

// into puts the text's hashes into a lockfile.
func (r *restoredText) into(file *lockfile.File) {
	server := file.Server(r.key.Server)
	if r.key.Kind == surface.KindInstructions {
		server.Instructions.Hash = r.digest
		return
	}
	it := server.Item(r.key.Kind, r.key.Name)
	it.Tool, it.Digest, it.GatewayDigest = r.definition.Tool, r.digest, r.gateway
	server.Rehash()
}

// surfaces is the text as a listing, for the copies.
func (r *restoredText) surfaces() map[string]surface.Surface {
	s := surface.Surface{Lists: map[surface.Kind]surface.List{}}
	if r.key.Kind == surface.KindInstructions {
		s.Instructions = surface.NewInstructions(r.words)
	} else {
		s.Lists[r.key.Kind] = surface.List{Definitions: []surface.Definition{r.definition}}
	}
	return map[string]surface.Surface{r.key.Server: s}
}
