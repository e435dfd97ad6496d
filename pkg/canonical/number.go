package canonical

import (
	"bytes"
	"strconv"

	"github.com/gowebpki/jcs"
)

// exactDigits is the number of decimal digits that a double always holds.
const exactDigits = 15

// appendNumber appends the canonical spelling of the number text. steady tells
// whether a parser that multiplies the digits by a power of ten, as fast parsers
// do, gets the nearest double for certain.
func appendNumber(dst, text []byte, integer bool, at int) (out []byte, steady bool, refusal *Refusal) {
	if integer {
		switch {
		case string(text) == "-0":
			return append(dst, '0'), true, nil
		case len(text) <= exactDigits || within64Bits(text):
			return append(dst, text...), true, nil
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return dst, false, &Refusal{RuleNumber, at, "the number is beyond the range of a double"}
	}
	if f == 0 {
		f = 0 // -0 and 0 are one value
	}
	spelled, err := jcs.NumberToJSON(f)
	if err != nil {
		return dst, false, &Refusal{RuleNumber, at, "the number is beyond the range of a double"}
	}
	have := parseDecimal(text)
	if !have.equal(parseDecimal([]byte(spelled))) {
		return dst, false, &Refusal{RuleNumber, at, "the number has digits that a double cannot hold"}
	}
	return append(dst, spelled...), have.steady(), nil
}

// within64Bits reports whether the plain digits of text stand for an integer
// from -2^63 to 2^64-1.
func within64Bits(text []byte) bool {
	if len(text) > len("18446744073709551615") {
		return false
	}
	if text[0] == '-' {
		_, err := strconv.ParseInt(string(text), 10, 64)
		return err == nil
	}
	_, err := strconv.ParseUint(string(text), 10, 64)
	return err == nil
}

// A decimal is digits * 10^exponent, without leading or trailing zeros. Zero has
// no digits.
type decimal struct {
	negative bool
	digits   []byte
	exponent int
	written  int // significant digits as they were written, trailing zeros included
	shift    int // the power of ten of the last digit written
}

// parseDecimal reads the spelling of a JSON number.
func parseDecimal(text []byte) decimal {
	var d decimal
	if text[0] == '-' {
		d.negative, text = true, text[1:]
	}
	mantissa, exponent := text, 0
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], boundedExponent(text[i+1:])
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	all := make([]byte, 0, len(whole)+len(fraction))
	all = append(append(all, whole...), fraction...)
	exponent -= len(fraction)
	all = bytes.TrimLeft(all, "0")
	d.written, d.shift = len(all), exponent
	trimmed := bytes.TrimRight(all, "0")
	exponent += len(all) - len(trimmed)
	d.digits = trimmed
	if len(trimmed) > 0 {
		d.exponent = exponent
	} else {
		d.negative = false
	}
	return d
}

// boundedExponent reads an exponent, held within a billion: beyond that every
// number is an overflow or zero.
func boundedExponent(text []byte) int {
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	const bound = 1_000_000_000
	n := 0
	for _, c := range text {
		if n = n*10 + int(c-'0'); n > bound {
			n = bound
			break
		}
	}
	if negative {
		return -n
	}
	return n
}

func (d decimal) equal(e decimal) bool {
	return d.negative == e.negative && d.exponent == e.exponent && bytes.Equal(d.digits, e.digits)
}

// steady reports whether the digits as written fit 53 bits and the power of ten
// is one that a double holds, so that one multiplication or division is exact.
func (d decimal) steady() bool {
	const exactPower = 22
	if d.shift < -exactPower || d.shift > exactPower || d.written > len("9007199254740992") {
		return len(d.digits) == 0
	}
	significand := uint64(0)
	for _, c := range d.digits {
		significand = significand*10 + uint64(c-'0')
	}
	for range d.written - len(d.digits) {
		significand *= 10
	}
	return significand <= 1<<53
}
