package pipeline

import (
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/policy"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	stagePolicy       = "backend TLS policy"
	stageBackendTLS   = "backend TLS"
	stageGatewayTLS   = "backend TLS of gateway"
	stagePolicyStatus = "backend TLS policy status"
)

// backendTLS is how connections to backends are secured, nil where nobody asked for it.
type backendTLS struct {
	// byBackend is keyed by [ir.Backend.Name] and knows nothing of Gateways. byGateway has a Gateway's own certificate too, and is keyed by
	// `<gateway>|<backend>`.
	byBackend *store.Table[*ir.BackendTLS]
	byGateway *store.Table[*ir.BackendTLS]
}

// closedOnPanic lets no connection to a backend of which it is not known how to secure it.
var closedOnPanic = memo.OnPanic(func(_ *store.View, _ string, last *ir.BackendTLS, _ string) *ir.BackendTLS {
	if last != nil {
		return last
	}
	return &ir.BackendTLS{Refused: true}
})

// secureBackends lists the stages that weigh BackendTLSPolicies. What they decide is a part of the clusters, not of routes: a policy that
// comes, changes or can not be served touches no route, of whatever kind. It returns the bundles and the key pairs that Gateways need.
func (g *graph) secureBackends(byBackend, byGatewayBackend []store.Source) (byAuthorities, byCertificate store.Source) {
	g.policies = memo.Derive(g.memo, stagePolicy, from(g.objects.BackendTLSPolicies), deepEqual[policy.ResolvedBackendTLS],
		func(v *store.View, key string) policy.ResolvedBackendTLS { return policy.BackendTLS(v, g.objects, key) },
		memo.OnPanic(func(v *store.View, key string, _ policy.ResolvedBackendTLS, _ string) policy.ResolvedBackendTLS {
			return policy.BrokenBackendTLS(v, g.objects, key)
		}))
	inputs := policy.Inputs{Objects: g.objects, Policies: g.policies}

	g.tls.byBackend = memo.Derive(g.memo, stageBackendTLS, byBackend, deepEqual[*ir.BackendTLS],
		func(v *store.View, key string) *ir.BackendTLS {
			backend, ok := ir.ParseBackend(key)
			if !ok {
				return nil
			}
			tls := g.askedTLS(v, inputs, backend)
			switch {
			case tls != nil && tls.Refused && backend.XBackend:
				// Whoever can not be served gets no connection of any kind.
				return tls
			case !backend.Protocol.TakesTLS():
				return nil
			case tls == nil && backend.Protocol == ir.BackendWSS:
				// A route takes such a backend only where it is to be encrypted; otherwise it must not be reached in plain text.
				return &ir.BackendTLS{Refused: true}
			}
			return tls
		}, closedOnPanic)
	g.tls.byGateway = memo.Derive(g.memo, stageGatewayTLS, byGatewayBackend, deepEqual[*ir.BackendTLS],
		func(v *store.View, key string) *ir.BackendTLS {
			gateway, backend := splitKey(key)
			shared, _ := g.tls.byBackend.Get(v, backend)
			if shared == nil || shared.Refused || shared.Inline {
				return shared
			}
			own := *shared
			r, _ := g.gateways.Get(v, gateway)
			own.ClientCertificate = r.ClientCertificate
			return &own
		}, closedOnPanic)
	byAuthorities = store.NewIndex(g.tls.byGateway, "backend TLS.byAuthorities", authoritiesKey)
	byCertificate = store.NewIndex(g.tls.byGateway, "backend TLS.byCertificate", certificateKey)
	byMissing := store.NewIndex(g.routes, "route.byMissingService", func(_ string, r route.Resolved) []string { return r.MissingServices() })
	byServicePort := store.NewIndex(g.tls.byGateway, "backend TLS.byServicePort", servicePortKey)

	g.policyStatus = memo.Derive(g.memo, stagePolicyStatus, from(g.objects.BackendTLSPolicies), deepEqual[outcome.Policy],
		func(v *store.View, key string) outcome.Policy {
			users := func(service ir.Name, port int32) []string {
				var gateways []string
				for _, user := range byServicePort.Keys(v, ir.EndpointsName(service, port, false)) {
					gateway, _ := splitKey(user)
					gateways = append(gateways, gateway)
				}
				return gateways
			}
			missing := func(service string) []string {
				var gateways []string
				for _, user := range byMissing.Keys(v, service) {
					r, _ := g.routes.Get(v, user)
					gateways = append(gateways, r.Gateways()...)
				}
				return gateways
			}
			return inputs.BackendTLSStatus(v, policy.Users{OfPort: users, OfMissing: missing}, key)
		})
	return byAuthorities, byCertificate
}

// askedTLS is what an XBackend asks for itself, or policies do for a Service.
func (g *graph) askedTLS(v *store.View, policies policy.Inputs, backend ir.Backend) *ir.BackendTLS {
	if !backend.XBackend {
		return policies.PortTLS(v, backend.Object, backend.Port)
	}
	own, _ := g.xbackends.Get(v, backend.Object.String())
	return own.TLS
}

// certificateKey is the key pair that a Gateway needs for a backend, as `<gateway>|<secret>`.
func certificateKey(key string, tls *ir.BackendTLS) []string {
	return ofGateway(key, ir.NeedsOf(tls).Certificates())
}

// authoritiesKey is the bundle that a Gateway needs for a backend, as `<gateway>|<bundle>`.
func authoritiesKey(key string, tls *ir.BackendTLS) []string {
	return ofGateway(key, ir.NeedsOf(tls).Authorities())
}

// servicePortKey is the port of a Service that a Gateway sends requests to, if a policy can have a say in that.
func servicePortKey(key string, _ *ir.BackendTLS) []string {
	_, name := splitKey(key)
	backend, ok := ir.ParseBackend(name)
	if !ok || !backend.Protocol.TakesTLS() {
		return nil
	}
	return []string{backend.EndpointsName()}
}
