package render

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/files/layout"
	"github.com/gatewright/gatewright/internal/ir"
)

func TestAFleetThatIsSuppliedByFiles(t *testing.T) {
	t.Parallel()
	gateway := exampleGateway()
	overXDS := render(t, gateway, exampleSettings(), exampleBundle)
	gateway.Fleet.Delivery = ir.Files
	byFiles := render(t, gateway, exampleSettings(), exampleBundle)
	pod := byFiles.deployment.Spec.Template
	volume := func(name string) *corev1.Volume {
		i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
		if i < 0 {
			return nil
		}
		return &pod.Spec.Volumes[i]
	}
	var required, optional []string
	for _, source := range volume("files").Projected.Sources {
		name, may := "", false
		switch {
		case source.ConfigMap != nil:
			name, may = source.ConfigMap.Name, *source.ConfigMap.Optional
		case source.Secret != nil:
			name, may = source.Secret.Name, *source.Secret.Optional
		}
		if may {
			optional = append(optional, name)
		} else {
			required = append(required, name)
		}
	}
	tests := []struct {
		name string
		ok   bool
	}{
		{"no proxy has a token or authorities", volume("token") == nil && len(byFiles.configMap.Data) == 1},
		{"no proxy starts without what all need", len(required) == 3},
		{"all objects are in the volume", len(required)+len(optional) == len(layout.Objects(gateway.Fleet.Name))},
		{"another delivery rolls the pods", pod.Annotations[bootstrapHash] != overXDS.deployment.Spec.Template.Annotations[bootstrapHash]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if !test.ok {
				t.Error("it is not so")
			}
		})
	}
}
