package canonical

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// Digest is a SHA-256 sum. Its text form is 64 lower-case hexadecimal digits.
// The zero value stands for "no digest".
type Digest [sha256.Size]byte

// Sum returns the digest of b.
func Sum(b []byte) Digest { return sha256.Sum256(b) }

// SumString returns the digest of the bytes of s.
func SumString(s string) Digest { return sha256.Sum256([]byte(s)) }

// IsZero reports whether d stands for "no digest".
func (d Digest) IsZero() bool { return d == Digest{} }

// String returns the 64 lower-case hexadecimal digits of d, also for the zero
// value.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ShortDigits is how many digits of a digest are shown to people, and the fewest
// that name one.
const ShortDigits = 16

// Short returns the first [ShortDigits] digits of d, for people.
func (d Digest) Short() string { return d.String()[:ShortDigits] }

// ErrNoDigest means that a text names none of the digests it could.
var ErrNoDigest = errors.New("no digest begins with it")

// MatchDigest returns the one of several digests that a text names: whole, or by
// its first [ShortDigits] digits or more. The error is [ErrNoDigest] where it
// names none, and says so where the text is too short or names several.
func MatchDigest(text string, of iter.Seq[Digest]) (Digest, error) {
	if len(text) < ShortDigits {
		return Digest{}, fmt.Errorf("%q: give the whole digest, or its first %d digits or more", text, ShortDigits)
	}
	var found Digest
	for d := range of {
		switch {
		case d == found || !strings.HasPrefix(d.String(), text):
		case found.IsZero():
			found = d
		default:
			return Digest{}, fmt.Errorf("%q: several digests begin with it; give more digits", text)
		}
	}
	if found.IsZero() {
		return Digest{}, fmt.Errorf("%q: %w", text, ErrNoDigest)
	}
	return found, nil
}

// AppendText implements [encoding.TextAppender].
func (d Digest) AppendText(b []byte) ([]byte, error) { return hex.AppendEncode(b, d[:]), nil }

// MarshalText implements [encoding.TextMarshaler].
func (d Digest) MarshalText() ([]byte, error) {
	return d.AppendText(make([]byte, 0, hex.EncodedLen(len(d))))
}

// UnmarshalText implements [encoding.TextUnmarshaler]; it accepts what
// [ParseDigest] accepts.
func (d *Digest) UnmarshalText(text []byte) error {
	parsed, err := ParseDigest(text)
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// ParseDigest reads 64 lower-case hexadecimal digits. Upper case is refused: one
// digest has one spelling.
func ParseDigest[T ~string | ~[]byte](text T) (Digest, error) {
	var d Digest
	if len(text) != hex.EncodedLen(len(d)) {
		return Digest{}, fmt.Errorf("a digest has %d hexadecimal digits, not %d", hex.EncodedLen(len(d)), len(text))
	}
	var wrong byte
	for i := range d {
		high, low := unhexLower[text[2*i]], unhexLower[text[2*i+1]]
		wrong |= high | low
		d[i] = high<<4 | low
	}
	if wrong > 0xf {
		return Digest{}, errNotLowerHex(text)
	}
	return d, nil
}

func errNotLowerHex[T ~string | ~[]byte](text T) error {
	i := 0
	for unhexLower[text[i]] != notHex {
		i++
	}
	return fmt.Errorf("a digest has lower-case hexadecimal digits only; character %d is another", i+1)
}

const notHex = 0xff

// unhex maps a hexadecimal digit of either case to its value, unhexLower one of
// lower case.
var unhex, unhexLower = unhexTables()

func unhexTables() (either, lower [256]byte) {
	for i := range either {
		either[i], lower[i] = notHex, notHex
	}
	for i, c := range []byte("0123456789abcdef") {
		either[c], lower[c] = byte(i), byte(i)
	}
	for i, c := range []byte("ABCDEF") {
		either[c] = byte(10 + i)
	}
	return either, lower
}
