package render

import (
	"testing"

	klabels "k8s.io/apimachinery/pkg/labels"

	"github.com/gatewright/gatewright/internal/ir"
)

func TestObjectsNameTheInstallationThatMadeThem(t *testing.T) {
	t.Parallel()
	for _, installation := range []string{"", "blue"} {
		gateway := exampleGateway()
		gateway.Fleet.Labels[ir.InstallationLabel] = "forged"
		gateway.Fleet.Installation = installation
		fleet := render(t, gateway, exampleSettings(), exampleBundle)
		for kind, labels := range map[string]map[string]string{
			"ServiceAccount": fleet.serviceAccount.Labels, "ConfigMap": fleet.configMap.Labels, "Deployment": fleet.deployment.Labels,
			"Service": fleet.service.Labels,
		} {
			for _, other := range []string{"", "blue", "green", "forged"} {
				if got := Selector(other).Matches(klabels.Set(labels)); got != (other == installation) {
					t.Errorf("the %s of installation %q is chosen by %q: %t", kind, installation, other, got)
				}
			}
		}
		if _, ok := fleet.deployment.Spec.Selector.MatchLabels[ir.InstallationLabel]; ok {
			t.Error("the selector of a Deployment can never change")
		}
	}
}
