package fraction_test

import (
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/fraction"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		given   *gwv1.Fraction
		want    ir.Fraction
		message string
	}{
		{name: "not set", want: ir.Fraction{Numerator: 1, Denominator: 1}},
		{name: "a percentage without a denominator", given: &gwv1.Fraction{Numerator: 5}, want: ir.Fraction{Numerator: 5, Denominator: 100}},
		{
			name: "its own denominator", given: &gwv1.Fraction{Numerator: 1, Denominator: new(int32(3))},
			want: ir.Fraction{Numerator: 1, Denominator: 3},
		},
		{
			name: "more than the whole", given: &gwv1.Fraction{Numerator: 4, Denominator: new(int32(3))},
			message: "rate 4/3 is not a share of a whole; use a numerator from 0 to the denominator",
		},
		{
			name: "a negative numerator", given: &gwv1.Fraction{Numerator: -1},
			message: "rate -1/100 is not a share of a whole; use a numerator from 0 to the denominator",
		},
		{
			name: "a denominator of zero", given: &gwv1.Fraction{Denominator: new(int32(0))},
			message: "rate 0/0 is not a share of a whole; use a numerator from 0 to the denominator",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, message := fraction.Parse("rate", c.given, ir.Fraction{Numerator: 1, Denominator: 1})
			if got != c.want || message != c.message {
				t.Errorf("got %v, %q; want %v, %q", got, message, c.want, c.message)
			}
		})
	}
}
