package cluster

import (
	"slices"
	"testing"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

// TestEveryValueOfTheAPIIsTranslated: a value that is not known would silently mean the default.
func TestEveryValueOfTheAPIIsTranslated(t *testing.T) {
	t.Parallel()
	prototest.CheckAPIValues(t, map[string]func(value string) bool{
		"DNSLookupFamily": func(v string) bool { _, ok := families[v]; return ok },
		// Auto is not in the IR.
		"TLSVersion": func(v string) bool { _, ok := tlsVersions[v]; return ok || v == string(v1alpha1.TLSAuto) },
		"LoadBalancerType": func(v string) bool {
			return slices.Contains([]string{
				ir.BalanceHash, ir.BalanceLeast, ir.BalanceRandom, ir.BalanceRoundRobin, ir.BalanceUtilization,
			}, v)
		},
	})
}
