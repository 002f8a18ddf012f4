package wire

import typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

// Share is a fraction in the denominators Envoy has: hundredths where they are exact, otherwise the nearest millionth. A fraction of
// nothing is the whole.
func Share(n, d uint64) *typev3.FractionalPercent {
	const hundred, million = 100, 1_000_000
	if d == 0 || n >= d {
		n, d = 1, 1
	}
	parts, in := (n*million+d/2)/d, typev3.FractionalPercent_MILLION
	if n*hundred%d == 0 {
		parts, in = n*hundred/d, typev3.FractionalPercent_HUNDRED
	}
	return &typev3.FractionalPercent{Numerator: uint32(parts), Denominator: in} //nolint:gosec // at most a million, as n is at most d
}
