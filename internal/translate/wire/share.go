package wire

import typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

const (
	hundred = 100
	million = 1_000_000
)

// Millionths is a fraction in millionths, the nearest. Fractions that one number is compared with, one after the other, need the same
// denominator: Envoy takes the remainder of the number by it, and two remainders have nothing to do with each other.
func Millionths(n, d uint64) *typev3.FractionalPercent {
	if d == 0 || n >= d {
		n, d = 1, 1
	}
	return &typev3.FractionalPercent{
		Numerator:   uint32((n*million + d/2) / d), //nolint:gosec // at most a million, as n is at most d
		Denominator: typev3.FractionalPercent_MILLION,
	}
}

// Share is a fraction in the denominators Envoy has: hundredths where they are exact, otherwise the nearest millionth. A fraction of
// nothing is the whole.
func Share(n, d uint64) *typev3.FractionalPercent {
	if d == 0 || n >= d {
		n, d = 1, 1
	}
	if n*hundred%d != 0 {
		return Millionths(n, d)
	}
	return &typev3.FractionalPercent{Numerator: uint32(n * hundred / d)} //nolint:gosec // at most a hundred, as n is at most d
}
