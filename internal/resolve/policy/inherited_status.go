package policy

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

// Inherited are the tables by which it is known what became of policies whose settings are inherited.
type Inherited struct {
	Objects       *store.Objects
	Gateways      inherit.Gateways
	GatewayLayers *store.Table[*inherit.Layer]
	Listeners     *store.TableOf[ir.ListenerID, *inherit.Layer]
	// RouteLayers and BackendLayers are by [inherit.TargetKey].
	RouteLayers   *store.Table[inherit.Sectioned]
	BackendLayers *store.Table[inherit.Sectioned]
	Routes        *store.Table[route.Resolved]
	// Rules counts the rules of each listener, and Rejected has those that policies of the listener reject.
	Rules    *store.Sums[route.Resolved]
	Rejected *store.TableOf[ir.ListenerID, []route.Rejected]
	// ClosedBy names the policies because of which a listener of a Gateway accepts no connection, empty if it does.
	ClosedBy func(v *store.View, gateway string, l gateway.Listener) string
	// Users lists the Gateways that send requests or connections to a backend.
	Users func(v *store.View, target ir.BackendTarget) []string
}

// InheritedStatus is what became of the policy of that key.
func InheritedStatus[S any](v *store.View, in Inherited, policies inherit.Policies[S], key string) outcome.Policy {
	p, ok := policies.Table.Get(v, key)
	if !ok {
		return outcome.Policy{}
	}
	has := policies.Kind.Has(&p)
	var reaches []attach.Reach
	for _, t := range p.Targets {
		switch t.Object().Level() {
		case attach.LevelRoute:
			reaches = append(reaches, in.ofRoute(v, p.Ref, has, t)...)
		case attach.LevelBackend:
			reaches = append(reaches, in.ofBackend(v, t)...)
		default:
			reaches = append(reaches, in.ofListeners(v, p.Ref, t)...)
		}
	}
	if policies.Kind.Unserved != nil {
		for i := range reaches {
			if r, ok := in.Gateways.Table.Get(v, reaches[i].Gateway); ok && reaches[i].Missing == nil {
				reaches[i].Missing = policies.Kind.Unserved(&p, &r.Gateway)
			}
		}
	}
	o := policies.Kind.Status(&p, reaches)
	o.RateLimited = in.Objects.GlobalRateLimits && slices.Contains(has, "rateLimit.global")
	return o
}

// ofListeners is what a policy on a GatewayClass, a Gateway, a ListenerSet or a listener reaches: listeners, and the rules below them.
func (in Inherited) ofListeners(v *store.View, policy attach.Ref, t attach.Target) []attach.Reach {
	gateways, missing := in.Gateways.Of(v, t)
	if missing != nil {
		return []attach.Reach{*missing}
	}
	var reaches []attach.Reach
	for _, name := range gateways {
		r, _ := in.Gateways.Table.Get(v, name)
		for _, l := range r.Listeners {
			chain := inherit.ListenerChain(r, l)
			if !slices.Contains(chain, t) {
				continue
			}
			id := ir.ListenerID{Gateway: name, Listener: l.ID}
			layer, _ := in.Listeners.Get(v, id)
			reach := attach.Reach{
				Gateway: name, Target: t, Subject: chain[len(chain)-1], Others: in.Rules.Get(v, id.String()),
				// One Gateway that is not served says nothing of the policy of a class.
				NotServed: t.Level() != attach.LevelClass && (!l.Attachable || !l.Usable() || in.ClosedBy(v, name, l) != ""),
			}
			if layer != nil {
				reach.Losses = layer.Losses
			}
			reaches = append(reaches, reach)
			reaches = append(reaches, in.rejected(v, policy, reach, id)...)
		}
	}
	return reaches
}

// rejected are the rules of a listener that a policy above them rejects.
func (in Inherited) rejected(v *store.View, policy attach.Ref, above attach.Reach, id ir.ListenerID) []attach.Reach {
	rejected, _ := in.Rejected.Get(v, id)
	var reaches []attach.Reach
	for _, r := range rejected {
		if r.Override.Object == policy {
			reaches = append(reaches, attach.Reach{
				Gateway: id.Gateway, Target: above.Target, NotServed: above.NotServed,
				Subject: r.Inline.Object, Losses: []attach.Loss{r.Loss()},
			})
		}
	}
	return reaches
}

// ofRoute is what a policy on a route, or on a rule of it, reaches. has are the settings of the policy.
func (in Inherited) ofRoute(v *store.View, policy attach.Ref, has []string, t attach.Target) []attach.Reach {
	r, _ := in.Routes.Get(v, inherit.TargetKey(t))
	rules, exists := in.rulesOf(v, t)
	reach := attach.Reach{Target: t, Subject: t}
	switch {
	case !exists:
		reach.Missing = attach.NotFound(t)
	case t.Section != "" && !slices.Contains(rules, t.Section):
		reach.Missing = attach.SectionNotFound(t, "rule", rules)
	case t.Section == "":
		reach.Others = max(0, r.RuleCount()-1)
	}
	if len(r.Attachments) == 0 {
		if reach.Missing != nil {
			return []attach.Reach{reach}
		}
		return nil
	}
	layers, _ := in.RouteLayers.Get(v, inherit.TargetKey(t))
	own := layers.Of(t.Section)
	losses := in.lossesOfRoute(v, policy, has, t, r, own)
	var reaches []attach.Reach
	for _, a := range r.Attachments {
		above, _ := in.Listeners.Get(v, a.ID())
		reach.Gateway, reach.Losses = a.Gateway, slices.Concat(losses, above.Below(own))
		reaches = append(reaches, reach)
		// A rule that is reached through several listeners is one.
		reach.Others = 0
	}
	return reaches
}

// lossesOfRoute are the settings that have no effect on a route at any of its listeners.
func (in Inherited) lossesOfRoute(
	v *store.View, policy attach.Ref, has []string, t attach.Target, r route.Resolved, own *inherit.Layer,
) []attach.Loss {
	var losses []attach.Loss
	if own != nil {
		losses = slices.Clone(own.Losses)
	}
	for _, rejected := range r.RejectedByOwn() {
		losses = append(losses, rejected.Loss())
	}
	for _, b := range r.Backends {
		layers, ok := in.BackendLayers.Get(v, inherit.TargetKey(inherit.BackendTarget(b.Target(), "")))
		if ok {
			losses = append(losses, slices.DeleteFunc(layers.Of("").Below(own), func(l attach.Loss) bool {
				return !inherit.IsDestination(l.Setting)
			})...)
		}
	}
	if r.Stream == nil {
		return losses
	}
	for _, setting := range has {
		if inherit.IsRequest(setting) {
			losses = append(losses, attach.Loss{
				Setting: setting, Policy: policy, Target: t, Cause: attach.NotApplicable, Detail: fmt.Sprintf(
					"%s has no effect on %s, which forwards whole connections; target an HTTPRoute or a GRPCRoute", setting, t),
			})
		}
	}
	return losses
}

// rulesOf are the names of the rules of a route. It is false if there is no such route.
func (in Inherited) rulesOf(v *store.View, t attach.Target) ([]string, bool) {
	switch t.Kind {
	case attach.HTTPRoutes.Kind:
		return ruleNames(v, in.Objects.HTTPRoutes, t, func(r *gwv1.HTTPRoute) []gwv1.HTTPRouteRule { return r.Spec.Rules },
			func(r gwv1.HTTPRouteRule) *gwv1.SectionName { return r.Name })
	case attach.GRPCRoutes.Kind:
		return ruleNames(v, in.Objects.GRPCRoutes, t, func(r *gwv1.GRPCRoute) []gwv1.GRPCRouteRule { return r.Spec.Rules },
			func(r gwv1.GRPCRouteRule) *gwv1.SectionName { return r.Name })
	case attach.TLSRoutes.Kind:
		return ruleNames(v, in.Objects.TLSRoutes, t, func(r *gwv1.TLSRoute) []gwv1.TLSRouteRule { return r.Spec.Rules },
			func(r gwv1.TLSRouteRule) *gwv1.SectionName { return r.Name })
	case attach.TCPRoutes.Kind:
		return ruleNames(v, in.Objects.TCPRoutes, t, func(r *gwv1.TCPRoute) []gwv1.TCPRouteRule { return r.Spec.Rules },
			func(r gwv1.TCPRouteRule) *gwv1.SectionName { return r.Name })
	default:
		return ruleNames(v, in.Objects.UDPRoutes, t, func(r *gwv1.UDPRoute) []gwv1.UDPRouteRule { return r.Spec.Rules },
			func(r gwv1.UDPRouteRule) *gwv1.SectionName { return r.Name })
	}
}

func ruleNames[O, R any](
	v *store.View, table *store.Table[O], t attach.Target, rules func(O) []R, name func(R) *gwv1.SectionName,
) (names []string, exists bool) {
	object, ok := table.Get(v, t.Key())
	if !ok {
		return nil, false
	}
	for _, rule := range rules(object) {
		if n := name(rule); n != nil {
			names = append(names, string(*n))
		}
	}
	return names, true
}

// ofBackend is what a policy on a backend, or on a port of it, reaches.
func (in Inherited) ofBackend(v *store.View, t attach.Target) []attach.Reach {
	reach := attach.Reach{Target: t, Subject: t, Missing: in.missingBackend(v, t)}
	layers, _ := in.BackendLayers.Get(v, inherit.TargetKey(t))
	own := layers.Of(t.Section)
	users := in.Users(v, irTarget(t))
	if len(users) == 0 && reach.Missing != nil {
		return []attach.Reach{reach}
	}
	var reaches []attach.Reach
	for _, name := range users {
		above, _ := in.GatewayLayers.Get(v, name)
		reach.Gateway, reach.Losses = name, above.Below(own)
		if own != nil {
			reach.Losses = slices.Concat(own.Losses, reach.Losses)
		}
		reaches = append(reaches, reach)
	}
	return reaches
}

// missingBackend says what of a backend does not exist.
func (in Inherited) missingBackend(v *store.View, t attach.Target) *refs.Problem {
	if t.Kind == attach.InferencePools.Kind {
		if _, ok := in.Objects.InferencePools.Get(v, t.Key()); !ok {
			return attach.NotFound(t)
		}
		return nil
	}
	if t.Kind == attach.XBackends.Kind {
		if _, ok := in.Objects.XBackends.Get(v, t.Key()); !ok {
			return attach.NotFound(t)
		}
		return nil
	}
	service, ok := in.Objects.ServiceOf(v, irTarget(t))
	if !ok {
		return attach.NotFound(t)
	}
	if names := portNames(service); t.Section != "" && !slices.Contains(names, t.Section) {
		return attach.SectionNotFound(t, "port", names)
	}
	return nil
}
