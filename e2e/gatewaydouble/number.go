package gatewaydouble

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// A JSON number reaches the hook as serde_json read and wrote it: as an unsigned
// or signed 64-bit integer where it is one, else as a double. serde_json is built
// without float_roundtrip and without arbitrary_precision, so a double is the
// decimal significand, as far as it fits in 64 bits, scaled by one power of ten.

type numberKind uint8

const (
	unsigned numberKind = iota // 0 to 2^64-1
	negative                   // -2^63 to -1
	float
)

// parsedNumber is the value of one number.
type parsedNumber struct {
	kind numberKind
	bits uint64 // the magnitude of an integer
	real float64
}

var errNumberRange = errors.New("number out of range")

// parseNumber reads the text of a number that is known to follow the grammar of
// JSON.
func parseNumber(text string) (parsedNumber, error) {
	digits, minus := strings.CutPrefix(text, "-")
	mantissa, exponentText := digits, ""
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		mantissa, exponentText = digits[:i], digits[i+1:]
	}
	whole, fraction, hasFraction := strings.Cut(mantissa, ".")

	// Once the significand is full, further digits only move the exponent, and
	// those of a fraction not even that.
	significand, exponent, exact := accumulate(0, whole)
	if hasFraction {
		var skipped int
		significand, skipped, _ = accumulate(significand, fraction)
		exponent += skipped - len(fraction)
	} else if exact && exponentText == "" {
		return integer(minus, significand), nil
	}
	if exponentText != "" {
		step, err := strconv.ParseInt(exponentText, 10, 32)
		if err != nil {
			if significand != 0 && exponentText[0] != '-' {
				return parsedNumber{}, errNumberRange
			}
			return parsedNumber{kind: float, real: signed(minus, 0)}, nil
		}
		exponent = clampInt32(int64(exponent) + step)
	}
	real, err := scale(significand, exponent)
	return parsedNumber{kind: float, real: signed(minus, real)}, err
}

// accumulate appends digits to a significand for as long as it fits in 64 bits.
// It returns how many digits it left out, and whether that was none.
func accumulate(significand uint64, digits string) (uint64, int, bool) {
	for i := range len(digits) {
		d := uint64(digits[i] - '0')
		if significand > (math.MaxUint64-d)/10 {
			return significand, len(digits) - i, false
		}
		significand = significand*10 + d
	}
	return significand, 0, true
}

// integer is a number without fraction and exponent. What a signed 64-bit integer
// cannot hold, negative zero among it, becomes a double.
func integer(minus bool, magnitude uint64) parsedNumber {
	switch {
	case !minus:
		return parsedNumber{kind: unsigned, bits: magnitude}
	case magnitude == 0 || magnitude > 1<<63:
		return parsedNumber{kind: float, real: -float64(magnitude)}
	default:
		return parsedNumber{kind: negative, bits: magnitude}
	}
}

func clampInt32(n int64) int {
	return int(max(math.MinInt32, min(math.MaxInt32, n)))
}

func signed(minus bool, real float64) float64 {
	if minus {
		return -real
	}
	return real
}

// scale is significand × 10^exponent with the rounding steps of serde_json: one
// multiplication or division by a power of ten, after divisions by 1e308 for
// very small numbers.
func scale(significand uint64, exponent int) (float64, error) {
	real := float64(significand)
	for exponent < -308 && real != 0 {
		real /= 1e308
		exponent += 308
	}
	switch {
	case real == 0:
		return 0, nil
	case exponent > 308:
		return 0, errNumberRange
	case exponent < 0:
		return real / powerOfTen(-exponent), nil
	}
	real *= powerOfTen(exponent)
	if math.IsInf(real, 0) {
		return 0, errNumberRange
	}
	return real, nil
}

// powerOfTen is the double nearest to 10^n, for n up to 308.
func powerOfTen(n int) float64 {
	real, err := strconv.ParseFloat("1e"+strconv.Itoa(n), 64)
	if err != nil {
		panic(err) // n is at most 308
	}
	return real
}

// spell writes a number as serde_json does.
func (n parsedNumber) spell() string {
	switch n.kind {
	case unsigned:
		return strconv.FormatUint(n.bits, 10)
	case negative:
		return "-" + strconv.FormatUint(n.bits, 10)
	default:
		return spellFloat(n.real, 64, 16, -5)
	}
}

// asFloat is the number as a double.
func (n parsedNumber) asFloat() float64 {
	switch n.kind {
	case unsigned:
		return float64(n.bits)
	case negative:
		return -float64(n.bits)
	default:
		return n.real
	}
}

// spellFloat32 writes the number as a single-precision field is written.
func (n parsedNumber) spellFloat32() string {
	return spellFloat(float64(float32(n.asFloat())), 32, 13, -6)
}

// spellFloat writes the shortest decimal that reads back as the same float: in
// plain notation, always with a fraction, where the decimal point stands within
// or at most up to the limits from the digits, else with an exponent. A value
// that is not finite is null, as serde_json has it.
func spellFloat(real float64, bits, most, least int) string {
	if math.IsInf(real, 0) || math.IsNaN(real) {
		return "null"
	}
	if real == 0 {
		if math.Signbit(real) {
			return "-0.0"
		}
		return "0.0"
	}
	text := strconv.FormatFloat(real, 'e', -1, bits)
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	mantissa, exponentText, _ := strings.Cut(text, "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	exponent, err := strconv.Atoi(exponentText)
	if err != nil {
		panic(err) // FormatFloat writes an exponent
	}
	point := exponent + 1 // digits before the decimal point
	switch {
	case len(digits) <= point && point <= most:
		return sign + digits + strings.Repeat("0", point-len(digits)) + ".0"
	case 0 < point && point <= most:
		return sign + digits[:point] + "." + digits[point:]
	case least < point && point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits
	case len(digits) == 1:
		return sign + digits + "e" + strconv.Itoa(exponent)
	default:
		return sign + digits[:1] + "." + digits[1:] + "e" + strconv.Itoa(exponent)
	}
}
