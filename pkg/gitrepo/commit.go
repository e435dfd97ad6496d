package gitrepo

import (
	"bytes"
	"fmt"
	"strings"
)

// Commit is a commit in its one accepted form. Signature is the armored
// signature, one newline at its end; nil where the commit is not signed.
// Payload is exactly what was signed: the commit's bytes without that header.
type Commit struct {
	Tree      Hash
	Parents   []Hash
	Author    Identity
	Committer Identity
	Encoding  string   // of the message; empty is UTF-8
	Extra     []Header // mergetag and headers git does not know, in order
	Message   []byte
	Signature []byte
	Payload   []byte
}

// Subject is the first line of the message.
func (c *Commit) Subject() string {
	line, _, _ := bytes.Cut(bytes.TrimLeft(c.Message, "\n"), []byte("\n"))
	return string(line)
}

func commitError(rule, detail string) error {
	return &FormatError{Kind: KindCommit, Rule: rule, Detail: detail}
}

// ParseCommit splits a commit's raw bytes. The order is tree, parents, author,
// committer, then encoding, mergetag, unknown headers and one signature in any
// order. Refused, each by a named rule, is what lets two readers see two
// commits in one: a header that must stand once standing twice or elsewhere, a
// second signature, a signature of the other hash (gpgsig-sha256 in a SHA-1
// repository), NUL, a carriage return in a header, a missing empty line.
func ParseCommit(raw []byte) (*Commit, error) {
	headers, body, err := splitHeaders(KindCommit, raw)
	if err != nil {
		return nil, err
	}
	c := &Commit{Message: raw[body:]}
	rest, err := c.parseGraph(headers)
	if err != nil {
		return nil, err
	}
	if rest, err = c.parsePersons(rest); err != nil {
		return nil, err
	}
	signature, err := c.parseTail(rest)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(c.Message, 0) >= 0 {
		return nil, commitError("nul", "the message holds a NUL byte")
	}
	c.Payload = raw
	if signature != nil {
		c.Signature = append(signature.Value, '\n')
		c.Payload = append(bytes.Clone(raw[:signature.start]), raw[signature.end:]...)
	}
	return c, nil
}

func (c *Commit) parseGraph(h []headerLine) ([]headerLine, error) {
	if len(h) == 0 || h[0].Name != "tree" {
		return nil, commitError("tree", "the first line names no tree")
	}
	var ok bool
	if c.Tree, ok = parseHexHash(h[0].Value); !ok {
		return nil, commitError("tree", "the first line names no tree")
	}
	for h = h[1:]; len(h) > 0 && h[0].Name == "parent"; h = h[1:] {
		parent, ok := hashField(h[0].Value, true, c.Tree)
		if !ok {
			return nil, commitError("parent", "a parent line holds no object id")
		}
		c.Parents = append(c.Parents, parent)
	}
	return h, nil
}

func (c *Commit) parsePersons(h []headerLine) ([]headerLine, error) {
	if len(h) < 2 || h[0].Name != "author" || h[1].Name != "committer" {
		return nil, commitError("order", "author and committer do not follow the parents")
	}
	var err error
	if c.Author, err = parseIdentity(KindCommit, "author", h[0].Value); err != nil {
		return nil, err
	}
	c.Committer, err = parseIdentity(KindCommit, "committer", h[1].Value)
	return h[2:], err
}

// parseTail reads what follows the committer, and gives the signature's line.
func (c *Commit) parseTail(h []headerLine) (signature *headerLine, err error) {
	own, encodings := "gpgsig", 0
	if c.Tree.Size() == 32 {
		own = "gpgsig-sha256"
	}
	for i := range h {
		switch name := h[i].Name; {
		case name == "tree", name == "parent", name == "author", name == "committer":
			return nil, commitError("order", fmt.Sprintf("a %s line is after the committer", name))
		case name == own && signature != nil:
			return nil, commitError("second-signature", "two signatures")
		case name == own:
			signature = &h[i]
		case strings.HasPrefix(strings.ToLower(name), "gpgsig"):
			return nil, commitError("foreign-signature", fmt.Sprintf("a %s header; only one %s is read here", name, own))
		case name == "encoding":
			if encodings++; encodings > 1 {
				return nil, commitError("order", "two encoding lines")
			}
			c.Encoding = string(h[i].Value)
		default:
			c.Extra = append(c.Extra, h[i].Header)
		}
	}
	return signature, nil
}
