package gateway

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/fleet"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// Resolved is what a Gateway means. Of one that is not ours it holds no more than what is to be cleaned up, see [notOurs].
type Resolved struct {
	Ours bool
	// Serves says that there is something to run a fleet for.
	Serves bool
	// listenersValid is set if the Gateway is accepted, apart from its parameters.
	listenersValid bool
	// Frozen says why the fleet stays as it is, empty if it does not: its parameters cannot be used. The resources of its proxies still
	// change.
	Frozen string
	// Gateway is what its fleet should do, apart from routes.
	Gateway ir.Gateway
	// Listeners are the Gateway's own in the order of its spec, then those of each ListenerSet it takes, in order of precedence.
	Listeners []Listener
	// Sets are the ListenerSets that name the Gateway, taken or not, in order of precedence.
	Sets []Set
	// Accepted is the Gateway's own condition, before anything is known about its fleet.
	Accepted outcome.Condition
	// Conditions are those besides Accepted and Programmed.
	Conditions []outcome.Condition
	// ClientCertificate names the key pair that proxies show to backends, empty if none.
	ClientCertificate string
	// Tracing is which requests become spans, as the parameters say; nil for none.
	Tracing *ir.Tracing
	// DefaultScope is which routes it takes that do not name it, empty for none.
	DefaultScope string
	Generation   int64
}

// Resolve resolves the Gateway of that key. Of its class it reads only whether it is accepted.
func Resolve(v *store.View, objects *store.Objects, classes *store.Table[class.Resolved], key string) Resolved {
	gw, ok := objects.Gateways.Get(v, key)
	if !ok {
		return Resolved{}
	}
	class, _ := classes.Get(v, string(gw.Spec.GatewayClassName))
	if !class.Ours {
		return notOurs(gw, class)
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
	r.evaluateSets()
	r.Gateway = ir.Gateway{Name: ir.Name{Namespace: gw.Namespace, Name: gw.Name}, Fleet: fleet.New(objects, gw)}
	r.listenersValid = r.Accepted.State == outcome.True
	if r.listenersValid {
		r.closeListeners()
		r.Gateway.Ports = ports(r.Listeners, sparePlacesOf(gw))
		r.Serves = len(r.Gateway.Ports) > 0
	}
	r.configure(v, objects, gw, class)
	return r
}

// configure configures the fleet from the Gateway's parameters. Those that cannot be used freeze it: a mistake in them does not stop a
// running fleet.
func (r *Resolved) configure(v *store.View, objects *store.Objects, gw *gwv1.Gateway, class class.Resolved) {
	configured := fleet.Configure(v, objects, gw, class, &r.Gateway, ownPorts(r.Listeners))
	r.Tracing = configured.Tracing
	for _, problem := range configured.Unresolved {
		r.Conditions = notResolved(r.Conditions, problem)
	}
	*r = r.Freeze(configured.Problem)
	r.withoutCertificate()
}

// ownPorts returns the names of the Gateway's own open listeners, by port ID.
func ownPorts(listeners []Listener) map[string]string {
	own := map[string]string{}
	for _, l := range listeners {
		if l.Attachable && l.Set == "" {
			own[ir.Port{Number: l.Port, Protocol: l.Protocol}.ID()] = l.Name
		}
	}
	return own
}

// notResolved says that a reference leads nowhere, unless that has been said of another.
func notResolved(conditions []outcome.Condition, problem *refs.Problem) []outcome.Condition {
	condition := outcome.Condition{
		Type: string(gwv1.GatewayConditionResolvedRefs), State: outcome.False, Reason: problem.Reason, Message: problem.Message,
	}
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

// Freeze freezes the fleet because of a problem with its parameters, if there is one. The first problem counts.
func (r Resolved) Freeze(problem string) Resolved {
	if problem == "" || r.Frozen != "" {
		return r
	}
	r.Frozen = problem
	if r.Accepted.State == outcome.True {
		r.Accepted.State = outcome.False
		r.Accepted.Reason = string(gwv1.GatewayReasonInvalidParameters)
		r.Accepted.Message = problem + "; until then the proxies run on as they were, if there are any"
	}
	return r
}

// acceptance evaluates the Gateway as a whole: at least one listener of its own has to be valid, and nothing may be asked for that is not
// served.
func acceptance(gw *gwv1.Gateway, listeners []Listener) outcome.Condition {
	condition := outcome.Condition{Type: string(gwv1.GatewayConditionAccepted), State: outcome.False}
	if message := fleet.UnsupportedAddress(gw.Spec.Addresses); message != "" {
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
