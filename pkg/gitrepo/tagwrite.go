package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// ErrTagExists says that a tag has the name already. Tags are never moved.
var ErrTagExists = errors.New("the tag exists already; tags are not moved, choose another name")

// TagOptions say what tag to make.
type TagOptions struct {
	Name    string // after refs/tags/
	Target  Hash   // a commit
	Message string
	Sign    Signer // nil makes an unsigned tag
}

// SignedTag makes an annotated tag and the reference to it, and gives the id of
// the tag object. It fails with ErrTagExists, and never overwrites a reference.
func (r *Repo) SignedTag(ctx context.Context, opts TagOptions) (Hash, error) {
	name := "refs/tags/" + opts.Name
	if err := checkRefName(name); err != nil {
		return Hash{}, err
	}
	message, err := cleanMessage(opts.Message)
	if err != nil {
		return Hash{}, err
	}
	if _, err := r.node(ctx, opts.Target); err != nil {
		return Hash{}, err
	}
	if _, err := r.back.ref(ctx, name); err == nil {
		return Hash{}, fmt.Errorf("tag %q: %w", opts.Name, ErrTagExists)
	} else if !errors.Is(err, ErrNotFound) {
		return Hash{}, err
	}
	tagger, err := r.identity(ctx, committerVar)
	if err != nil {
		return Hash{}, err
	}
	raw := fmt.Appendf(nil, "object %s\ntype commit\ntag %s\ntagger %s\n\n%s", opts.Target, opts.Name, tagger, message)
	if opts.Sign != nil {
		if raw, err = signTag(ctx, raw, opts.Sign); err != nil {
			return Hash{}, err
		}
	}
	id, err := r.writeObject(ctx, KindTag, raw)
	if err != nil {
		return Hash{}, err
	}
	// The all-zero old value makes git refuse a reference that came meanwhile.
	_, err = r.git.run(ctx, gitCall{args: []string{"update-ref", name, id.String(), orZeros(Hash{}, id)}})
	if err != nil {
		return Hash{}, fmt.Errorf("making tag %q: %w", opts.Name, err)
	}
	return id, nil
}

func signTag(ctx context.Context, payload []byte, sign Signer) ([]byte, error) {
	armored, err := sign(ctx, payload)
	if err != nil {
		return nil, fmt.Errorf("signing the tag: %w", err)
	}
	raw := append(append(bytes.Clone(payload), bytes.TrimRight(armored, "\n")...), '\n')
	tag, err := ParseTag(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("signing the tag: %w", err)
	case !bytes.Equal(tag.Payload, payload):
		return nil, errors.New("signing the tag: the message or the signature is not plain text")
	}
	return raw, nil
}
