package fleet

import (
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
)

func TestAnAddressIsTheSameHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	have := []outcome.Address{{Value: "192.0.2.7"}, {Value: "2001:db8::7"}, {Value: "lb.example.com", Hostname: true}}
	wanted := []string{"192.0.2.7", "::ffff:192.0.2.7", "2001:DB8:0::7", "2001:db8::8"}
	if got := missingAddresses(wanted, have); len(got) != 1 || got[0] != "2001:db8::8" {
		t.Errorf("missing: %v", got)
	}
}

func TestAddressesThatCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	for value, wrong := range map[string]bool{
		"192.0.2.7": false, "2001:db8::7": false, "[2001:db8::7]": true, "fe80::1%eth0": true,
		"a.example": true,
	} {
		if got := UnsupportedAddress([]gwv1.GatewaySpecAddress{{Value: value}}); (got != "") != wrong {
			t.Errorf("%s: %q", value, got)
		}
	}
}
