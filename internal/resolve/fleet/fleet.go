package fleet

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/proxyconfig"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// New returns the fleet of a Gateway before its parameters are read.
func New(objects *store.Objects, gw *gwv1.Gateway) ir.Fleet {
	f := ir.Fleet{
		Name:  ir.FleetName(gw.Name, string(gw.Spec.GatewayClassName)),
		UID:   string(gw.UID),
		Class: string(gw.Spec.GatewayClassName),

		Installation: class.Installation(objects.Controller),
	}
	if infra := gw.Spec.Infrastructure; infra != nil {
		f.Labels = make(map[string]string, len(infra.Labels))
		for k, value := range infra.Labels {
			f.Labels[string(k)] = string(value)
		}
		f.Annotations = make(map[string]string, len(infra.Annotations))
		for k, value := range infra.Annotations {
			f.Annotations[string(k)] = string(value)
		}
	}
	setAddresses(&f, gw.Spec.Addresses)
	return f
}

// Configured is the part of the parameters that does not belong to the fleet itself.
type Configured struct {
	// Problem says why the parameters cannot be used, empty if they can.
	Problem string
	// Tracing is which requests become spans, nil for none.
	Tracing *ir.Tracing
	// Unresolved are references that do not resolve.
	Unresolved []*refs.Problem
}

// Configure sets how the proxies of a Gateway run, and where, from the ProxyConfigs of the Gateway and its class. ownPorts has the names of
// the Gateway's own listeners by port ID. A fleet whose parameters cannot be used is configured as far as they can, and placed where its
// objects are now.
func Configure(
	v *store.View, objects *store.Objects, gw *gwv1.Gateway, class class.Resolved, gateway *ir.Gateway, ownPorts map[string]string,
) Configured {
	s, problem := parameters(v, objects, gw, class)
	wanted, wrong := proxyconfig.Proxies(s.spec)
	gateway.Fleet.Proxies, gateway.Fleet.Delivery = wanted, proxyconfig.Delivery(s.spec)
	gateway.Fleet.Placed = placed(s, gw.Namespace, objects.System)
	problem = cmp.Or(problem, wrong, OpenOnNodes(gateway, ownPorts))
	if problem == "" {
		problem = setServiceType(&gateway.Fleet)
	}
	if problem == "" {
		problem = place(gateway, s.placement, objects.System)
	}
	c := Configured{Problem: problem}
	c.setTelemetry(v, objects, s, gateway)
	if c.Problem != "" {
		findInSystemNamespace(v, objects, gateway)
	}
	return c
}

// setTelemetry sets where the access logs and the spans of a Gateway go.
func (c *Configured) setTelemetry(v *store.View, objects *store.Objects, s settings, gateway *ir.Gateway) {
	logs, invalidLog, unresolvedLog := accessLogs(v, objects, s)
	for i := range gateway.Ports {
		gateway.Ports[i].Logs = logs
		gateway.Ports[i].CountBackends = gateway.Fleet.Proxies.Metrics.Backends
	}
	spans, invalidTracing, unresolvedTracing := tracing(v, objects, s)
	c.Tracing = spans
	c.Problem = cmp.Or(c.Problem, invalidLog, invalidTracing)
	for _, problem := range []*refs.Problem{unresolvedLog, unresolvedTracing} {
		if problem != nil {
			c.Unresolved = append(c.Unresolved, problem)
		}
	}
}

// setServiceType sets where a fleet can be reached whose parameters choose the type of its Service. It returns a message if the type
// cannot have the addresses that the Gateway asks for. For a Gateway that asks only for cluster addresses the type has no effect.
func setServiceType(f *ir.Fleet) string {
	if f.InClusterOnly {
		f.Proxies.Service.Type = ""
	}
	kind := corev1.ServiceType(f.Proxies.Service.Type)
	if kind == "" || kind == corev1.ServiceTypeLoadBalancer {
		return ""
	}
	if len(f.Addresses) > 0 {
		return fmt.Sprintf("spec.addresses asks for %s, and service.type %s of the parameters has no load balancer; leave out one of them",
			f.Addresses[0], kind)
	}
	if kind == corev1.ServiceTypeClusterIP && !f.Proxies.Pod.HostPorts {
		f.InCluster, f.InClusterOnly = true, true
	}
	return ""
}
