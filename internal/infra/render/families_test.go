package render

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

func TestFamiliesOfTheService(t *testing.T) {
	t.Parallel()
	dual := ir.Families{ir.IPv4, ir.IPv6}
	for _, c := range []struct {
		name      string
		families  ir.Families
		addresses []string
		wanted    ir.Service
		policy    corev1.IPFamilyPolicy
		want      []corev1.IPFamily
	}{
		{"a cluster of one family chooses by itself", ir.Families{ir.IPv6}, nil, ir.Service{}, "", nil},
		{"both where the cluster has both", dual, nil, ir.Service{}, corev1.IPFamilyPolicyPreferDualStack, nil},
		{"the policy of the parameters", dual, nil, ir.Service{FamilyPolicy: "SingleStack"}, corev1.IPFamilyPolicySingleStack, nil},
		{"the families of the parameters", dual, nil, ir.Service{Families: []string{"IPv6"}}, "", []corev1.IPFamily{corev1.IPv6Protocol}},
		{
			"the family of an address that is asked for", dual,
			[]string{"2001:db8::7"},
			ir.Service{},
			corev1.IPFamilyPolicySingleStack,
			[]corev1.IPFamily{corev1.IPv6Protocol},
		},
		{"an address in a cluster of one family", ir.Families{ir.IPv4}, []string{"192.0.2.7"}, ir.Service{}, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gateway, settings := exampleGateway(), exampleSettings()
			gateway.Fleet.Addresses, gateway.Fleet.Proxies.Service, settings.Families = c.addresses, c.wanted, c.families
			spec := render(t, gateway, settings, exampleBundle).service.Spec
			var policy corev1.IPFamilyPolicy
			if spec.IPFamilyPolicy != nil {
				policy = *spec.IPFamilyPolicy
			}
			if policy != c.policy || !slices.Equal(spec.IPFamilies, c.want) {
				t.Errorf("policy %q, families %v", policy, spec.IPFamilies)
			}
		})
	}
}
