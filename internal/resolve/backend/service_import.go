package backend

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// serviceImport resolves a reference to a port of a ServiceImport. GEP-1748: it stands wherever a Service may, and a grant for one is not a
// grant for the other.
func serviceImport(
	v *store.View, objects *store.Objects, from refs.Origin, ref gwv1.BackendObjectReference, fallback ir.BackendProtocol,
) (ir.Backend, *refs.Problem) {
	target := refs.Target{
		Group: mcsv1beta1.GroupName, Kind: string(store.ServiceImport), Namespace: namespaceOf(from, ref), Name: string(ref.Name),
	}
	if !refs.Permitted(v, objects, from, target) {
		return ir.Backend{}, notGranted(from, target)
	}
	of := ir.BackendTarget{Kind: ir.KindServiceImport, Object: ir.Name{Namespace: target.Namespace, Name: target.Name}}
	service, ok := objects.ServiceOf(v, of)
	if !ok {
		return ir.Backend{}, &refs.Problem{
			Reason: string(gwv1.RouteReasonBackendNotFound),
			Message: fmt.Sprintf("ServiceImport %s does not exist; export the Service in a cluster that has it, or correct the name",
				of.Object),
			Missing: of.String(),
		}
	}
	return servicePort(v, objects, from, service, ref.Port, fallback)
}
