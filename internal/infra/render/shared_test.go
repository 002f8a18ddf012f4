package render

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/ir"
)

func TestASharedFleetAndWhomItServes(t *testing.T) {
	t.Parallel()
	shared := ir.Gateway{
		Name: ir.SharedFleet("gatewright"),
		Fleet: ir.Fleet{
			Name: ir.SharedFleetName("gatewright"), OtherNamespace: "gatewright-system", UID: "class-uid", Class: "gatewright",
			Proxies: ir.Proxies{Replicas: new(int32(2))},
		},
	}
	tenant := exampleGateway()
	tenant.Fleet.OtherNamespace, tenant.Fleet.Name = "gatewright-system", ir.SystemFleetName(tenant.Name, "gatewright")
	tenant.Fleet.Shared, tenant.Fleet.Proxies = shared.Name, shared.Fleet.Proxies
	for i := range tenant.Ports {
		tenant.Ports[i].TargetPort = 20000 + int32(i)
	}
	fleet, own := render(t, shared, exampleSettings(), exampleBundle), render(t, tenant, exampleSettings(), exampleBundle)
	owner, uid, owned := OwnerOf(&fleet.deployment, "gatewright-system")
	front := own.service
	for _, c := range []struct {
		what string
		so   bool
	}{
		{"the shared fleet has no Service", fleet.service == nil},
		{"it has a budget", fleet.budget != nil},
		{"it belongs to the class", owned && owner == shared.Name && uid == "class-uid"},
		{"it is no Gateway's", fleet.deployment.Labels[GatewayNameLabel] == ""},
		{"proxies say that they are the class's", strings.Contains(fleet.configMap.Data[bootstrap.ConfigFile], `"cluster": "/gatewright"`)},
		{"a Gateway has nothing but a Service", len(own.raw) == 1 && front != nil},
		{"no number of proxies is said for it", Scale(tenant) == nil && Scale(shared) != nil},
		{"the Service leads to the shared pods", metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: front.Spec.Selector}) ==
			metav1.FormatLabelSelector(fleet.deployment.Spec.Selector)},
		{
			"it leads to the sockets of the Gateway",
			front.Spec.Ports[0].Port == 80 && front.Spec.Ports[0].TargetPort.IntVal == 20000 && front.Spec.Ports[2].TargetPort.IntVal == 20002,
		},
		{
			"it is labelled as the Gateway's",
			front.Labels[GatewayNameLabel] == "edge" && front.Labels["team"] == "shop" && front.Labels[ir.OwnerLabel] == tenant.Fleet.UID,
		},
	} {
		if !c.so {
			t.Errorf("it is not so that %s", c.what)
		}
	}
}
