package gateway

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// Resolved is what a Gateway means. Of one that is not ours it holds no more than what is to be cleaned up, see [released].
type Resolved struct {
	Ours bool
	// Serves says that there is something to run a fleet for.
	Serves bool
	// sound says that the Gateway is accepted, but perhaps for its parameters.
	sound bool
	// Held says why the fleet is left as it is, empty if it is not: its parameters can not be used. What proxies serve goes on changing.
	Held string
	// Gateway is what its fleet should do, apart from routes.
	Gateway ir.Gateway
	// Listeners are the Gateway's own in the order of its spec, then those of each ListenerSet it takes, in order of precedence.
	Listeners []Listener
	// Sets are the ListenerSets that name the Gateway, taken or not, in order of precedence.
	Sets []Set
	// Accepted is the Gateway's own condition, before anything is known about its fleet.
	Accepted outcome.Condition
	// Conditions are the verdicts besides Accepted and Programmed.
	Conditions []outcome.Condition
	// ClientCertificate names the key pair that proxies show to backends, empty if none.
	ClientCertificate string
	// Tracing is which requests become spans, as the parameters say; nil for none.
	Tracing *ir.Tracing
	// DefaultScope is which routes it takes that do not name it, empty for none.
	DefaultScope string
	Generation   int64
}

// Resolve resolves the Gateway of that key. Of its class it reads only the verdict.
func Resolve(v *store.View, objects *store.Objects, classes *store.Table[ResolvedClass], key string) Resolved {
	gw, ok := objects.Gateways.Get(v, key)
	if !ok {
		return Resolved{}
	}
	class, _ := classes.Get(v, string(gw.Spec.GatewayClassName))
	if !class.Ours {
		return released(gw, class)
	}
	entries, sets := mergeSets(v, objects, gw)
	listeners := resolveListeners(v, objects, gw, entries)
	certificate, problem := clientCertificate(v, objects, gw)
	r := Resolved{
		Ours:              true,
		Listeners:         listeners,
		Sets:              sets,
		Accepted:          acceptance(gw, listeners[:len(gw.Spec.Listeners)]),
		Conditions:        slices.Concat(resolvedRefs(gw, problem), insecureValidation(gw), defaultGateway(gw, class)),
		ClientCertificate: certificate,
		DefaultScope:      defaultScope(gw, class),
		Generation:        gw.Generation,
	}
	r.judgeSets()
	r.Gateway = ir.Gateway{Name: ir.Name{Namespace: gw.Namespace, Name: gw.Name}, Fleet: fleet(objects, gw)}
	r.sound = r.Accepted.State == outcome.True
	if r.sound {
		r.Gateway.Ports = ports(r.Listeners)
		r.Serves = len(r.Gateway.Ports) > 0
	}
	r.takeParameters(v, objects, gw, class)
	return r
}

// takeParameters has the fleet run as the Gateway's parameters say. Those that can not be used hold it as it is: nobody loses a running
// fleet over a slip in how it is to be run.
func (r *Resolved) takeParameters(v *store.View, objects *store.Objects, gw *gwv1.Gateway, class ResolvedClass) {
	s, problem := parameters(v, objects, gw, class)
	wanted, wrong := proxies(s.spec)
	r.Gateway.Fleet.Proxies, r.Gateway.Fleet.Delivery = wanted, delivery(s.spec)
	r.Gateway.Fleet.Placed = placed(s, gw.Namespace, objects.System)
	problem = cmp.Or(problem, wrong, openOnNodes(&r.Gateway, r.Listeners))
	if problem == "" {
		problem = takeServiceType(&r.Gateway.Fleet)
	}
	if problem == "" {
		problem = place(&r.Gateway, s.placement, objects.System)
	}
	*r = r.Hold(cmp.Or(problem, r.takeTelemetry(v, objects, s)))
	if r.Held != "" {
		findAbroad(v, objects, &r.Gateway)
	}
	r.withoutCertificate()
}

// takeTelemetry notes who is told about requests, and says what is wrong with how.
func (r *Resolved) takeTelemetry(v *store.View, objects *store.Objects, s settings) string {
	logs, wrong, unresolved := accessLogs(v, objects, s)
	for i := range r.Gateway.Ports {
		r.Gateway.Ports[i].Logs = logs
		r.Gateway.Ports[i].CountBackends = r.Gateway.Fleet.Proxies.Metrics.Backends
	}
	spans, invalid, nowhere := tracing(v, objects, s)
	r.Tracing = spans
	for _, problem := range []*refs.Problem{unresolved, nowhere} {
		if problem != nil {
			r.Conditions = notResolved(r.Conditions, problem)
		}
	}
	return cmp.Or(wrong, invalid)
}

// notResolved says that a reference leads nowhere, unless that has been said of another.
func notResolved(conditions []outcome.Condition, problem *refs.Problem) []outcome.Condition {
	condition := outcome.Condition{Type: string(gwv1.GatewayConditionResolvedRefs), State: outcome.False, Reason: problem.Reason, Message: problem.Message}
	for i := range conditions {
		if conditions[i].Type == condition.Type {
			if conditions[i].State == outcome.True {
				conditions[i] = condition
			}
			return conditions
		}
	}
	return append(conditions, condition)
}

// takeServiceType notes where a fleet can be reached whose Service is to be of another type than a Gateway has otherwise. A Gateway that
// asks for no address outside the cluster has its way.
func takeServiceType(f *ir.Fleet) string {
	if f.InClusterOnly {
		f.Proxies.Service.Type = ""
	}
	kind := corev1.ServiceType(f.Proxies.Service.Type)
	if kind == "" || kind == corev1.ServiceTypeLoadBalancer {
		return ""
	}
	if len(f.Addresses) > 0 {
		return fmt.Sprintf("spec.addresses asks for %s, and service.type %s of the parameters has no load balancer; leave out one of them", f.Addresses[0], kind)
	}
	if kind == corev1.ServiceTypeClusterIP && !f.Proxies.Pod.HostPorts {
		f.InCluster, f.InClusterOnly = true, true
	}
	return ""
}

// Hold says that the Gateway's parameters can not be used, unless there is no problem, or a greater one.
func (r Resolved) Hold(problem string) Resolved {
	if problem == "" || r.Held != "" {
		return r
	}
	r.Held = problem
	if r.Accepted.State == outcome.True {
		r.Accepted.State = outcome.False
		r.Accepted.Reason = string(gwv1.GatewayReasonInvalidParameters)
		r.Accepted.Message = problem + "; until then the proxies run on as they were, if there are any"
	}
	return r
}

func fleet(objects *store.Objects, gw *gwv1.Gateway) ir.Fleet {
	f := ir.Fleet{
		Name:  ir.FleetName(gw.Name, string(gw.Spec.GatewayClassName)),
		UID:   string(gw.UID),
		Class: string(gw.Spec.GatewayClassName),

		Installation: Installation(objects.Controller),
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
	takeAddresses(&f, gw.Spec.Addresses)
	return f
}

// acceptance judges the Gateway as a whole: at least one listener of its own has to be valid, and nothing may be asked for that is not
// served.
func acceptance(gw *gwv1.Gateway, listeners []Listener) outcome.Condition {
	condition := outcome.Condition{Type: string(gwv1.GatewayConditionAccepted), State: outcome.False}
	if message := unsupportedAddress(gw.Spec.Addresses); message != "" {
		condition.Reason = string(gwv1.GatewayReasonUnsupportedAddress)
		condition.Message = message
		return condition
	}
	accepted := slices.ContainsFunc(listeners, func(l Listener) bool { return l.Accepted })
	switch message := leftOut(listeners); {
	case message == "":
		condition.State = outcome.True
		condition.Reason = string(gwv1.GatewayReasonAccepted)
		condition.Message = "all listeners are valid"
	case accepted:
		// A listener without a certificate is accepted by the standard, and so is its Gateway.
		condition.State = outcome.True
		fallthrough
	default:
		condition.Reason, condition.Message = string(gwv1.GatewayReasonListenersNotValid), message
	}
	return condition
}
