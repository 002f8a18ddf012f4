package inherit

import (
	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/store"
)

// ClassChain is a class alone.
func ClassChain(name string) []attach.Target {
	return []attach.Target{attach.GatewayClasses.Target("", name, "")}
}

// GatewayChain is a Gateway and its class.
func GatewayChain(r gateway.Resolved) []attach.Target {
	return []attach.Target{
		attach.GatewayClasses.Target("", r.Gateway.Fleet.Class, ""),
		attach.Gateways.Target(r.Gateway.Name.Namespace, r.Gateway.Name.Name, ""),
	}
}

// ListenerChain is a listener of a Gateway and all that is above it, the listener last.
func ListenerChain(r gateway.Resolved, l gateway.Listener) []attach.Target {
	chain := GatewayChain(r)
	if l.Set == "" {
		return append(chain, attach.Gateways.Target(r.Gateway.Name.Namespace, r.Gateway.Name.Name, l.Name))
	}
	name := ir.ParseName(l.Set)
	return append(chain,
		attach.ListenerSets.Target(name.Namespace, name.Name, ""), attach.ListenerSets.Target(name.Namespace, name.Name, l.Name))
}

// routeKinds are the kinds of routes that policies can target.
var routeKinds = map[store.Kind]attach.TargetKind{
	store.HTTPRoute: attach.HTTPRoutes, store.GRPCRoute: attach.GRPCRoutes, store.TLSRoute: attach.TLSRoutes,
	store.TCPRoute: attach.TCPRoutes, store.UDPRoute: attach.UDPRoutes,
}

// RouteTarget is the route of a key, [store.KindKey], or a rule of it. It is false for what is no route.
func RouteTarget(key, rule string) (attach.Target, bool) {
	kind, name := store.SplitKindKey(key)
	of, ok := routeKinds[kind]
	namespace, own := store.SplitKey(name)
	return of.Target(namespace, own, rule), ok
}

// BackendTarget is the object of a backend, or a port of it.
func BackendTarget(b ir.BackendTarget, port string) attach.Target {
	switch b.Kind {
	case ir.KindService:
		return attach.Services.Target(b.Object.Namespace, b.Object.Name, port)
	case ir.KindXBackend:
		return attach.XBackends.Target(b.Object.Namespace, b.Object.Name, port)
	case ir.KindInferencePool:
		return attach.InferencePools.Target(b.Object.Namespace, b.Object.Name, port)
	case ir.KindServiceImport:
		return attach.ServiceImports.Target(b.Object.Namespace, b.Object.Name, port)
	default:
		// No policy targets the others.
		return attach.Target{Group: v1alpha1.GroupName, Kind: b.Kind.String(), Namespace: b.Object.Namespace, Name: b.Object.Name}
	}
}

// Sectioned are the layers of a route by the names of its rules, or of a Service by those of its ports. The empty name is for those that
// no policy targets.
type Sectioned map[string]*Layer

// Of is the layer of a section.
func (s Sectioned) Of(section string) *Layer {
	if l, ok := s[section]; ok {
		return l
	}
	return s[""]
}

// AtListener is the layer of a listener of which the settings of destinations are those of the listener and its ListenerSet alone: what
// the Gateway and its class say is the same for all of its clusters, so these need not differ by listener. Gateways that share proxies
// share clusters, so there only what the class says is the same.
func (l *Layer) AtListener(shared bool) *Layer {
	if l == nil || l.Destination == nil {
		return l
	}
	least := attach.LevelListenerSet
	if shared {
		least = attach.LevelGateway
	}
	own := *l
	own.Destination = l.Destination.Only(func(setting string) bool {
		o, _ := l.Origin(setting)
		return o.Target.Level() >= least
	})
	return &own
}
