package fraction

import (
	"fmt"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// defaultDenominator is that of the Gateway API: a fraction without one is a percentage.
const defaultDenominator = 100

// Parse reads the fraction in a field of that name; unset is the value of nil. It returns a message if the fraction is not between 0 and 1.
func Parse(field string, f *gwv1.Fraction, unset ir.Fraction) (ir.Fraction, string) {
	if f == nil {
		return unset, ""
	}
	denominator := ptr.Deref(f.Denominator, defaultDenominator)
	if f.Numerator < 0 || denominator < 1 || f.Numerator > denominator {
		return ir.Fraction{}, fmt.Sprintf("%s %d/%d is not a share of a whole; use a numerator from 0 to the denominator",
			field, f.Numerator, denominator)
	}
	return ir.Fraction{Numerator: uint32(f.Numerator), Denominator: uint32(denominator)}, ""
}
