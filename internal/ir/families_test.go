package ir_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

func TestFamilies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		families ir.Families
		first    ir.Family
		dual     bool
		any      []string
	}{
		{"none known is IPv4", nil, ir.IPv4, false, []string{"0.0.0.0"}},
		{"IPv4", ir.Families{ir.IPv4}, ir.IPv4, false, []string{"0.0.0.0"}},
		{"IPv6", ir.Families{ir.IPv6}, ir.IPv6, false, []string{"::"}},
		{"both", ir.Families{ir.IPv4, ir.IPv6}, ir.IPv4, true, []string{"0.0.0.0", "::"}},
		{"both, IPv6 preferred", ir.Families{ir.IPv6, ir.IPv4}, ir.IPv6, true, []string{"0.0.0.0", "::"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.families.First() != c.first || c.families.Dual() != c.dual || !slices.Equal(c.families.Any(), c.any) {
				t.Errorf("got %v, %v, %v", c.families.First(), c.families.Dual(), c.families.Any())
			}
		})
	}
	for text, want := range map[string]ir.Family{"192.0.2.1": ir.IPv4, "::ffff:192.0.2.1": ir.IPv4, "2001:db8::1": ir.IPv6} {
		if got := ir.FamilyOf(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is %s", text, got)
		}
	}
}
