package client

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/store"
)

// Inputs are the tables that ClientTrafficPolicies are merged with.
type Inputs struct {
	Objects  *store.Objects
	Policies *store.Table[Policy]
	// ByTarget finds the policies that target an object, or a section of it, by [inherit.TargetKey].
	ByTarget *store.Index[Policy]
	Gateways *store.Table[gateway.Resolved]
}

// Effective is what policies say of a Gateway. Ports and chains without policies are not in it.
type Effective struct {
	// Sockets is by [ir.Port.ID], and Chains by that and the name of the chain.
	Sockets map[string]*ir.SocketPolicy
	Chains  map[ChainKey]*ir.ClientPolicy
	// closedBy names the policies because of which a chain accepts no connection.
	closedBy map[ChainKey]string
	// reaches are the listeners that policies apply to, with the settings that have no effect there.
	reaches []reach
}

// ChainKey is a chain of a port.
type ChainKey struct{ Port, Chain string }

// reach is a listener, last in the chain of what is above it, and the settings that have no effect there.
type reach struct {
	chain  []attach.Target
	losses []attach.Loss
}

// Effective merges the policies of the Gateway of that key.
func (in Inputs) Effective(v *store.View, key string) Effective {
	r, _ := in.Gateways.Get(v, key)
	e := Effective{}
	if !r.Ours {
		return e
	}
	top := inherit.GatewayChain(r)
	policies := in.attached(v, top)
	for i := range r.Listeners {
		if set := r.Listeners[i].Set; set != "" {
			name := ir.ParseName(set)
			policies = append(policies, in.attached(v, []attach.Target{attach.ListenerSets.Target(name.Namespace, name.Name, "")})...)
		}
	}
	if len(policies) == 0 {
		return e
	}
	policies = distinct(policies)
	for _, p := range r.Gateway.Ports {
		at := port{
			Port: p, objects: in.Objects, top: top, gateway: r, policies: policies, shared: r.Gateway.Fleet.Shared != (ir.Name{}),
			udp: slices.ContainsFunc(r.Gateway.Ports, func(o ir.Port) bool { return o.Protocol == ir.UDP && o.Number == p.Number }),
		}
		e.addPort(v, at, slices.DeleteFunc(slices.Clone(r.Listeners), func(l gateway.Listener) bool {
			return !l.Attachable || l.Port != p.Number || (l.Protocol == ir.UDP) != (p.Protocol == ir.UDP)
		}))
	}
	return e
}

// Broken is what policies say of the Gateway of that key if they cannot be merged: what they said last. A chain with TLS that was not there
// then accepts no client.
func (in Inputs) Broken(v *store.View, key string, last Effective) Effective {
	r, _ := in.Gateways.Get(v, key)
	chains := maps.Clone(last.Chains)
	for _, p := range r.Gateway.Ports {
		for _, c := range p.Chains {
			id := ChainKey{p.ID(), c.Name}
			if len(c.Certificates) == 0 || chains[id] != nil {
				continue
			}
			if chains == nil {
				chains = map[ChainKey]*ir.ClientPolicy{}
			}
			chains[id] = &ir.ClientPolicy{FailClosed: true}
		}
	}
	last.Chains = chains
	return last
}

func (in Inputs) attached(v *store.View, targets []attach.Target) []*Policy {
	var list []*Policy
	for _, t := range targets {
		for _, key := range in.ByTarget.Keys(v, inherit.TargetKey(t)) {
			if p, ok := in.Policies.Get(v, key); ok {
				list = append(list, &p)
			}
		}
	}
	return list
}

func distinct(policies []*Policy) []*Policy {
	slices.SortFunc(policies, func(a, b *Policy) int { return strings.Compare(a.Ref.Key(), b.Ref.Key()) })
	return slices.CompactFunc(policies, func(a, b *Policy) bool { return a.Ref == b.Ref })
}

// addPort merges the policies of a port that these listeners share.
func (e *Effective) addPort(v *store.View, in port, listeners []gateway.Listener) {
	if len(listeners) == 0 || in.Protocol == ir.UDP {
		return
	}
	shared := in.top
	if len(listeners) == 1 {
		shared = inherit.ListenerChain(in.gateway, listeners[0])
	}
	socket := Kind.Merge(attach.Subject{Chain: shared}, in.policies)
	in.proxyProtocol = socket.Spec.ProxyProtocol != nil
	if policy := newConverter(in.objects).socket(&socket.Spec); policy != (ir.SocketPolicy{}) {
		if e.Sockets == nil {
			e.Sockets = map[string]*ir.SocketPolicy{}
		}
		e.Sockets[in.ID()] = &policy
	}
	for _, l := range listeners {
		own := inherit.ListenerChain(in.gateway, l)
		subject, name, lost := attach.Subject{Chain: own, Inline: inline(in.top, l)}, l.ID, socketSettings
		if !in.Protocol.ChoosesByName() {
			// All listeners of HTTP at a port have one chain.
			subject.Chain, name, lost = shared, in.Chains[0].Name, slices.Concat(socketSettings, chainSettings)
		}
		merged := Kind.Merge(subject, in.policies)
		problem := e.addChain(v, &in, ChainKey{in.ID(), name}, merged, l)
		losses := slices.Concat(merged.Losses, http3Loss(&merged, l, problem))
		if len(listeners) > 1 {
			losses = append(losses, sharedLosses(in.policies, own[len(in.top):], lost, listeners)...)
		}
		e.reaches = append(e.reaches, reach{chain: own, losses: losses})
	}
}

// port is a port of a Gateway, and the policies above it.
type port struct {
	ir.Port
	objects  *store.Objects
	gateway  gateway.Resolved
	top      []attach.Target
	policies []*Policy
	// shared says that the proxies serve other Gateways too, udp that a listener has the UDP port of the same number, and proxyProtocol
	// that connections begin with the PROXY protocol.
	shared, udp, proxyProtocol bool
}

// demandUnknown are the policies of a listener with a field below tls that is not known, and may demand more of clients.
func (in *port) demandUnknown(v *store.View, chain []attach.Target) []string {
	var names []string
	for _, p := range in.policies {
		object, ok := in.objects.ClientTrafficPolicies.Get(v, p.Ref.Key())
		if ok && slices.ContainsFunc(p.Targets, func(t attach.Target) bool { return slices.Contains(chain, t) }) &&
			slices.ContainsFunc(store.UnknownFields(object), func(path string) bool { return strings.HasPrefix(path, "spec.tls") }) {
			names = append(names, p.Ref.String())
		}
	}
	return names
}

// inline is what a listener says itself by fields of the standard.
func inline(top []attach.Target, l gateway.Listener) []attach.Inline {
	if l.Clients == nil {
		return nil
	}
	return []attach.Inline{{Setting: clientValidation, Object: top[len(top)-1], Path: "spec.tls.frontend"}}
}

const clientValidation = "tls.clientValidation"

// sharedLosses are the settings of policies on one listener, or on a ListenerSet, that listeners of one port share.
func sharedLosses(policies []*Policy, targets []attach.Target, shared []string, listeners []gateway.Listener) []attach.Loss {
	names := make([]string, 0, len(listeners))
	for _, l := range listeners {
		names = append(names, l.ID)
	}
	var losses []attach.Loss
	for _, p := range policies {
		for _, t := range targets {
			if !slices.Contains(p.Targets, t) {
				continue
			}
			for _, setting := range Kind.Has(p) {
				if slices.Contains(shared, setting) {
					losses = append(losses, attach.Loss{
						Setting: setting, Policy: p.Ref, Target: t, Cause: attach.NotApplicable,
						Detail: fmt.Sprintf("%s has no effect on %s: listeners %s share port %d and this setting; target the Gateway",
							setting, t, strings.Join(names, ", "), listeners[0].Port),
					})
				}
			}
		}
	}
	return losses
}

// addChain adds the policy of a chain. It returns why HTTP/3 cannot be served there, if it is wanted.
func (e *Effective) addChain(v *store.View, in *port, key ChainKey, merged attach.Effective[Spec], l gateway.Listener) string {
	c := newConverter(in.objects)
	c.hostname = exact(l.Hostname)
	policy := c.chain(&merged.Spec)
	policy.Origins = originsOf(merged.Origins)
	var unknown []string
	if l.Terminates {
		unknown = in.demandUnknown(v, inherit.ListenerChain(in.gateway, l))
		policy.FailClosed = len(merged.Rejections) > 0 || len(unknown) > 0 ||
			slices.ContainsFunc(c.Problems, func(p string) bool { return strings.HasPrefix(p, "tls.") })
	}
	if l.Terminates && merged.Spec.TLS != nil && merged.Spec.TLS.ClientValidation != nil {
		var ok bool
		policy.TLS.Clients, ok = validationOf(v, in.objects, merged)
		policy.FailClosed = policy.FailClosed || !ok
	}
	problem := in.serveHTTP3(v, &policy, &merged.Spec, l)
	if e.Chains == nil {
		e.Chains = map[ChainKey]*ir.ClientPolicy{}
	}
	e.Chains[key] = &policy
	if policy.FailClosed {
		if e.closedBy == nil {
			e.closedBy = map[ChainKey]string{}
		}
		e.closedBy[key] = named(append(in.atFault(&merged), unknown...))
	}
	return problem
}

// atFault are the policies whose settings of TLS a listener has that cannot be served, or who reject it.
func (in *port) atFault(merged *attach.Effective[Spec]) []string {
	var names []string
	for _, o := range merged.Origins {
		if strings.HasPrefix(o.Setting, "tls.") && slices.ContainsFunc(in.policies, func(p *Policy) bool {
			return p.Ref == o.Object && (p.Accepted != nil || p.ResolvedRefs != nil)
		}) {
			names = append(names, o.Object.String())
		}
	}
	for _, r := range merged.Rejections {
		names = append(names, r.Override.Object.String())
	}
	return names
}

// named lists policies, up to a number of them.
func named(policies []string) string {
	const most = 8
	slices.Sort(policies)
	policies = slices.Compact(policies)
	if len(policies) > most {
		policies = append(policies[:most:most], fmt.Sprintf("and %d more", len(policies)-most))
	}
	return strings.Join(policies, ", ")
}

// Closes says whether policies close a listener.
func (e Effective) Closes() bool {
	for _, policy := range e.Chains {
		if policy.FailClosed {
			return true
		}
	}
	return false
}

// ClosedBy names the policies because of which a listener accepts no connection, empty if it does.
func (e Effective) ClosedBy(l gateway.Listener) string {
	key := ChainKey{ir.Port{Number: l.Port, Protocol: l.Protocol}.ID(), l.ID}
	if policy := e.Chains[key]; policy == nil || !policy.FailClosed {
		return ""
	}
	return cmp.Or(e.closedBy[key], "a "+Kind.Name)
}

// validationOf is what clients have to show. It is false where that cannot be told: then no client is accepted.
func validationOf(v *store.View, objects *store.Objects, merged attach.Effective[Spec]) (*ir.ClientValidation, bool) {
	c, spec := newConverter(objects), merged.Spec.TLS.ClientValidation
	validation := c.validation(spec)
	if len(spec.CACertificateRefs) > 0 {
		origin, _ := merged.Origin(clientValidation)
		validation.Authorities, _ = authorities(v, objects, origin.Object.Namespace, spec)
		if validation.Authorities == "" {
			return nil, false
		}
	}
	return validation, len(c.Problems) == 0
}

// exact is a hostname that is not a wildcard.
func exact(hostname string) string {
	if strings.HasPrefix(hostname, "*") {
		return ""
	}
	return hostname
}

// Apply is a port with the settings of its policies.
func (e Effective) Apply(port ir.Port) ir.Port {
	if len(e.Sockets)+len(e.Chains) == 0 {
		return port
	}
	port.Accept = e.Sockets[port.ID()]
	port.Chains = slices.Clone(port.Chains)
	for i := range port.Chains {
		port.Chains[i].Policy = e.Chains[ChainKey{port.ID(), port.Chains[i].Name}]
	}
	return port
}

// Authorities lists the bundles by which clients are validated, sorted, each once.
func (e Effective) Authorities() []string {
	needs := &ir.Needs{}
	for _, policy := range e.Chains {
		needs.Add(policy)
	}
	return needs.Authorities()
}

// originsOf are the policies of some settings, sorted, each once.
func originsOf(settings []attach.Origin) []ir.ObjectRef {
	var origins []ir.ObjectRef
	for _, o := range settings {
		if o.Object.Kind == Kind.Name {
			origins = append(origins, ir.ObjectRef{Kind: o.Object.Kind, Name: ir.Name{Namespace: o.Object.Namespace, Name: o.Object.Name}})
		}
	}
	slices.SortFunc(origins, ir.ObjectRef.Compare)
	return slices.Compact(origins)
}

// Origins are the policies of the chains that are of interest, sorted, each once.
func (e Effective) Origins(interest func(ChainKey, *ir.ClientPolicy) bool) []ir.ObjectRef {
	var origins []ir.ObjectRef
	for key, policy := range e.Chains {
		if interest(key, policy) {
			origins = append(origins, policy.Origins...)
		}
	}
	slices.SortFunc(origins, ir.ObjectRef.Compare)
	return slices.Compact(origins)
}
