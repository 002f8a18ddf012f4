package endpoints

import (
	corev1 "k8s.io/api/core/v1"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// OfInferencePool are the endpoints of an InferencePool: every port of every pod.
func OfInferencePool(p *inferencev1.InferencePool) []ir.Endpoints {
	return []ir.Endpoints{{Kind: ir.KindInferencePool, Object: ir.Name{Namespace: p.Namespace, Name: p.Name}}}
}

// poolPorts are the ports of a pool that the Service which was made for it has. After a change of the pool it has others for a moment,
// and those that stay go on serving.
func poolPorts(v *store.View, objects *store.Objects, service *corev1.Service, of ir.Endpoints) []corev1.ServicePort {
	pool, ok := objects.InferencePools.Get(v, of.Object.String())
	if !ok {
		return nil
	}
	var ports []corev1.ServicePort
	for _, target := range pool.Spec.TargetPorts {
		if port, found := servicePort(service, int32(target.Number), corev1.ProtocolTCP); found {
			ports = append(ports, port)
		}
	}
	return ports
}
