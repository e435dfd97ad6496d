package gitrepo

import (
	"bytes"
	"fmt"
)

// Tag is an annotated tag in its one accepted form. Signature is the armored
// block at the end of the message, nil where there is none; Payload is exactly
// what was signed: the tag's bytes before that block.
type Tag struct {
	Target    Hash
	Kind      Kind   // of the target
	Name      string // the name inside the object: the reference after refs/tags/
	Tagger    Identity
	Message   []byte // without the signature
	Signature []byte
	Payload   []byte
}

func tagError(rule, detail string) error {
	return &FormatError{Kind: KindTag, Rule: rule, Detail: detail}
}

// signature blocks, as git knows them.
var blockStarts = [...]string{
	"-----BEGIN SSH SIGNATURE-----", "-----BEGIN PGP SIGNATURE-----",
	"-----BEGIN PGP MESSAGE-----", "-----BEGIN SIGNED MESSAGE-----",
}

// ParseTag splits an annotated tag's raw bytes: object, type, tag, tagger,
// nothing else, an empty line, the message, and at its end at most one
// signature block. Refused, each by a named rule: another header, anything
// after the signature, a second block, NUL, a carriage return in a header.
// Whether the target is a commit and the name that of the reference is for the
// caller to judge.
func ParseTag(raw []byte) (*Tag, error) {
	headers, body, err := splitHeaders(KindTag, raw)
	if err != nil {
		return nil, err
	}
	names := [...]string{"object", "type", "tag", "tagger"}
	if len(headers) != len(names) {
		return nil, tagError("order", fmt.Sprintf("%d headers; object, type, tag and tagger are expected", len(headers)))
	}
	for i, name := range names {
		if headers[i].Name != name {
			return nil, tagError("order", fmt.Sprintf("header %d is %q; %q is expected", i+1, headers[i].Name, name))
		}
	}
	t := &Tag{Kind: Kind(headers[1].Value), Name: string(headers[2].Value)}
	var ok bool
	if t.Target, ok = parseHexHash(headers[0].Value); !ok {
		return nil, tagError("object", "the first line names no object")
	}
	switch t.Kind {
	case KindCommit, KindTree, KindBlob, KindTag:
	default:
		return nil, tagError("type", fmt.Sprintf("a tag of a %q", t.Kind))
	}
	if checkRefName("refs/tags/"+t.Name) != nil {
		return nil, tagError("tag", fmt.Sprintf("the tag is named %q", t.Name))
	}
	if t.Tagger, err = parseIdentity(KindTag, "tagger", headers[3].Value); err != nil {
		return nil, err
	}
	if bytes.IndexByte(raw[body:], 0) >= 0 {
		return nil, tagError("nul", "the message holds a NUL byte")
	}
	return t, t.splitSignature(raw, body)
}

func (t *Tag) splitSignature(raw []byte, body int) error {
	t.Message, t.Payload = raw[body:], raw
	at, end := -1, ""
	for start := body; start < len(raw); {
		line, _, _ := bytes.Cut(raw[start:], []byte("\n"))
		for _, begin := range blockStarts {
			if !bytes.HasPrefix(line, []byte(begin)) {
				continue
			}
			if at >= 0 {
				return tagError("second-signature", "two signature blocks")
			}
			if string(line) != begin {
				return tagError("signature", fmt.Sprintf("a signature begins with %q", clip(line)))
			}
			at, end = start, "-----END"+begin[len("-----BEGIN"):]+"\n"
		}
		start += len(line) + 1
	}
	if at < 0 {
		return nil
	}
	block := raw[at:]
	stop := bytes.Index(block, []byte("\n"+end))
	if stop < 0 {
		return tagError("signature", "the signature block does not end")
	}
	if stop+1+len(end) != len(block) {
		return tagError("text-after-signature", "text is after the signature")
	}
	t.Message, t.Payload, t.Signature = raw[body:at], raw[:at], block
	return nil
}
