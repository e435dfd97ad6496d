package sshsig

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
)

const (
	armorHeader = "-----BEGIN SSH SIGNATURE-----\n"
	armorFooter = "-----END SSH SIGNATURE-----\n"
	armorWidth  = 70
	maxArmor    = 12 << 10
)

// Armor is the text form of the signature, byte for byte as ssh-keygen writes
// it.
func (s *Signature) Armor() []byte {
	encoded := base64.StdEncoding.EncodeToString(s.Blob())
	b := make([]byte, 0, len(armorHeader)+len(encoded)+len(encoded)/armorWidth+1+len(armorFooter))
	b = append(b, armorHeader...)
	for len(encoded) > 0 {
		n := min(armorWidth, len(encoded))
		b = append(b, encoded[:n]...)
		b = append(b, '\n')
		encoded = encoded[n:]
	}
	return append(b, armorFooter...)
}

// ParseArmor reads the text form of one signature and nothing else: the header
// is the first byte, lines end in a line feed and are as wide as ssh-keygen
// makes them, and the input ends with the footer's line feed. The returned
// signature's Armor equals text. Other input is a *FormatError.
func ParseArmor(text []byte) (*Signature, error) {
	if len(text) > maxArmor {
		return nil, sigError(RuleSize, fmt.Sprintf("longer than %d bytes", maxArmor))
	}
	if bytes.IndexByte(text, '\r') >= 0 {
		return nil, sigError(RuleLineEnd, "holds a carriage return; lines end in a line feed alone")
	}
	body, ok := strings.CutPrefix(string(text), armorHeader)
	if !ok {
		return nil, sigError(RuleArmorHeader, "does not begin with the line -----BEGIN SSH SIGNATURE-----")
	}
	body, after, ok := strings.Cut(body, armorFooter)
	if !ok {
		return nil, sigError(RuleArmorFooter, "does not end with the line -----END SSH SIGNATURE-----")
	}
	if after != "" {
		return nil, sigError(RuleTrailing, "text after the signature")
	}
	encoded, err := unfold(body)
	if err != nil {
		return nil, err
	}
	blob, ok := decodeBase64(encoded)
	if !ok {
		return nil, sigError(RuleBase64, "not strict base64")
	}
	return ParseBlob(blob)
}

// unfold joins lines that are all of the full width but for the last, which is
// not empty.
func unfold(body string) (string, error) {
	var b strings.Builder
	for body != "" {
		line, rest, ended := strings.Cut(body, "\n")
		if !ended || line == "" || len(line) > armorWidth || len(line) < armorWidth && rest != "" {
			return "", sigError(RuleArmorLine, fmt.Sprintf("lines are not %d characters wide", armorWidth))
		}
		b.WriteString(line)
		body = rest
	}
	return b.String(), nil
}
