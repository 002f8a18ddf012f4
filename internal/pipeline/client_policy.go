package pipeline

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/client"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	stageClientPolicy       = "client traffic policy"
	stageClientSettings     = "client settings"
	stageClientPolicyStatus = "client traffic policy status"
	stageHTTP3              = "http3 ports"
)

// addClientPolicyStages lists the stages that merge ClientTrafficPolicies.
func (g *graph) addClientPolicyStages() {
	policies := memo.Derive(g.memo, stageClientPolicy, from(g.objects.ClientTrafficPolicies), deepEqual[client.Policy],
		func(v *store.View, key string) client.Policy { return client.Resolve(v, g.objects, key) },
		memo.OnPanic(func(v *store.View, key string, last client.Policy, _ string) client.Policy {
			return client.Broken(v, g.objects, key, last)
		}))
	inputs := client.Inputs{
		Objects: g.objects, Policies: policies, Gateways: g.gateways,
		ByTarget: store.NewIndex(policies, "client traffic policy.byTarget", inherit.TargetKeys[client.Spec]),
	}
	g.clientSettings = memo.Derive(g.memo, stageClientSettings, from(g.gateways), deepEqual[client.Effective], inputs.Effective,
		memo.OnPanic(func(v *store.View, key string, last client.Effective, _ string) client.Effective {
			return inputs.Broken(v, key, last)
		}))
	g.http3 = memo.Derive(g.memo, stageHTTP3, from(g.clientSettings), deepEqual[[]int32], func(v *store.View, key string) []int32 {
		settings, _ := g.clientSettings.Get(v, key)
		r, _ := g.gateways.Get(v, key)
		return settings.HTTP3Ports(r.Gateway.Ports)
	})
	outcomes := memo.Derive(g.memo, stageClientPolicyStatus, from(g.objects.ClientTrafficPolicies), deepEqual[outcome.Policy],
		func(v *store.View, key string) outcome.Policy {
			return inputs.Status(v, g.clientSettings, g.inherited.targets, key)
		})
	g.addPolicies(store.ClientTrafficPolicy, outcomes, stageClientPolicy, stageClientPolicyStatus)
}

// withClientSettings is a port of the Gateway of that key with what policies say of it.
func (g *graph) withClientSettings(v *store.View, key string, port ir.Port) ir.Port {
	settings, _ := g.clientSettings.Get(v, key)
	return settings.Apply(port)
}

// closedBy names the policies that close a listener of the Gateway of that key, empty if none does.
func (g *graph) closedBy(v *store.View, key string, l gateway.Listener) string {
	settings, _ := g.clientSettings.Get(v, key)
	return settings.ClosedBy(l)
}

// withClosed tells routes which listeners of their parent policies close.
func (g *graph) withClosed(v *store.View, parent gateway.Parent) gateway.Parent {
	settings, _ := g.clientSettings.Get(v, parent.Gateway)
	if !settings.Closes() {
		return parent
	}
	r, _ := g.gateways.Get(v, parent.Gateway)
	for i := range parent.Listeners {
		own := &parent.Listeners[i]
		j := slices.IndexFunc(r.Listeners, func(l gateway.Listener) bool { return l.ID == own.ID })
		if j < 0 || !own.Usable {
			continue
		}
		own.ClosedBy = settings.ClosedBy(r.Listeners[j])
		own.Usable = own.ClosedBy == ""
	}
	return parent
}

// withHTTP3 is a Gateway with the ports that serve HTTP/3.
func (g *graph) withHTTP3(v *store.View, r gateway.Resolved) gateway.Resolved {
	numbers, _ := g.http3.Get(v, r.Gateway.Name.String())
	if len(numbers) == 0 {
		return r
	}
	ports := slices.Clone(r.Gateway.Ports)
	for _, p := range r.Gateway.Ports {
		if p.Protocol == ir.HTTPS && slices.Contains(numbers, p.Number) {
			p.Protocol = ir.QUIC
			ports = append(ports, p)
		}
	}
	r.Gateway.Ports = ports
	return r
}

// http3Ports are the ports of a Gateway that serve HTTP/3.
func http3Ports(key string, numbers []int32) []ir.PortID {
	ids := make([]ir.PortID, 0, len(numbers))
	for _, number := range numbers {
		ids = append(ids, ir.PortID{Gateway: key, Port: ir.Port{Number: number, Protocol: ir.QUIC}.ID()})
	}
	return ids
}

// http3Certificates are the key pairs that proxies of a Gateway offer over QUIC.
func http3Certificates(key string, port ir.Port) []ir.GatewaySecret {
	if port.Protocol != ir.QUIC {
		return nil
	}
	var secrets []ir.GatewaySecret
	for _, chain := range port.Chains {
		for _, name := range chain.Certificates {
			secrets = append(secrets, ir.GatewaySecret{Gateway: ir.ParsePortID(key).Gateway, Secret: name})
		}
	}
	return secrets
}

// clientAuthorities lists the bundles that policies validate the clients of a Gateway by.
func clientAuthorities(key string, e client.Effective) []ir.GatewaySecret {
	var secrets []ir.GatewaySecret
	for _, name := range e.Authorities() {
		secrets = append(secrets, ir.GatewaySecret{Gateway: key, Secret: name})
	}
	return secrets
}
