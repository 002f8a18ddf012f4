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

// backendTLS is how connections to backends are secured, nil where it is not asked for.
type backendTLS struct {
	// byBackend does not depend on Gateways. byGateway has the client certificate of the Gateway too.
	byBackend *store.TableOf[ir.Backend, *ir.BackendTLS]
	byGateway *store.TableOf[ir.GatewayBackend, *ir.BackendTLS]
}

// closedOnPanic lets no connection to a backend of which it is not known how to secure it.
var closedOnPanic = memo.OnPanic(func(_ *store.View, _ string, last *ir.BackendTLS, _ string) *ir.BackendTLS {
	if last != nil {
		return last
	}
	return &ir.BackendTLS{FailClosed: true}
})

// addBackendTLSStages adds the stages of BackendTLSPolicies. The effective policy is a part of clusters, not of routes: a change of a
// policy recomputes no route. It returns the bundles and the key pairs that Gateways need.
func (g *graph) addBackendTLSStages(backends backendSources) (byAuthorities, byCertificate store.SourceOf[ir.GatewaySecret]) {
	g.policies = memo.Derive(g.memo, stagePolicy, from(g.objects.BackendTLSPolicies), deepEqual[policy.ResolvedBackendTLS],
		func(v *store.View, key string) policy.ResolvedBackendTLS { return policy.BackendTLS(v, g.objects, key) },
		memo.OnPanic(func(v *store.View, key string, _ policy.ResolvedBackendTLS, _ string) policy.ResolvedBackendTLS {
			return policy.BrokenBackendTLS(v, g.objects, key)
		}))
	inputs := policy.Inputs{Objects: g.objects, Policies: g.policies}

	g.tls.byBackend = memo.DeriveOf(g.memo, stageBackendTLS, parseBackend, backends.names, deepEqual[*ir.BackendTLS],
		func(v *store.View, backend ir.Backend) *ir.BackendTLS {
			tls := g.askedTLS(v, inputs, backend)
			switch {
			case tls != nil && tls.FailClosed && !backend.Kind.IsService():
				// What cannot be served gets no connection of any kind.
				return tls
			case !backend.Protocol.TakesTLS() || backend.Kind == ir.KindFailover:
				return nil
			case tls == nil && backend.Protocol == ir.BackendWSS:
				// A route takes such a backend only where it is to be encrypted; otherwise it must not be reached in plain text.
				return &ir.BackendTLS{FailClosed: true}
			case tls == nil && backend.Protocol == ir.BackendPicker:
				return &ir.BackendTLS{Settings: &ir.BackendTLSSettings{SkipVerify: true}}
			}
			return tls
		}, closedOnPanic)
	g.tls.byGateway = memo.DeriveOf(g.memo, stageGatewayTLS, ir.ParseGatewayBackend, backends.byUser, deepEqual[*ir.BackendTLS],
		g.gatewayTLS, closedOnPanic)
	g.secretUsers.authorities = store.NewIndexOf(g.tls.byGateway.Table, "backend TLS.byAuthorities", neededAuthorities)
	g.secretUsers.certificates = store.NewIndexOf(g.tls.byGateway.Table, "backend TLS.byCertificate", neededCertificates)
	byMissing := store.NewIndex(g.routes, "route.byMissingService", func(_ string, r route.Resolved) []string { return r.MissingServices() })
	byServicePort := store.NewIndexOf(g.tls.byGateway.Table, "backend TLS.byServicePort", securableEndpoints)

	outcomes := memo.Derive(g.memo, stagePolicyStatus, from(g.objects.BackendTLSPolicies), deepEqual[outcome.Policy],
		func(v *store.View, key string) outcome.Policy {
			users := func(service ir.BackendTarget, port int32) []string {
				var gateways []string
				for _, user := range byServicePort.Keys(v, ir.Endpoints{Kind: service.Kind, Object: service.Object, Port: port}) {
					gateways = append(gateways, ir.ParseGatewayBackend(user).Gateway)
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
	g.addPolicies(store.BackendTLSPolicy, outcomes, stagePolicy, stagePolicyStatus)
	return g.secretUsers.authorities, g.secretUsers.certificates
}

// askedTLS is what a Backend, an XBackend or an InferencePool asks for itself, or policies do for a Service or a ServiceImport.
func (g *graph) askedTLS(v *store.View, policies policy.Inputs, backend ir.Backend) *ir.BackendTLS {
	switch backend.Kind {
	case ir.KindXBackend:
		own, _ := g.xbackends.Get(v, backend.Object.String())
		return own.TLS
	case ir.KindBackend:
		own, _ := g.fixedBackends.Get(v, backend.Object.String())
		return own.TLS
	case ir.KindInferencePool:
		own, _ := g.pools.Get(v, backend.Object.String())
		return own.TLS
	case ir.KindFailover:
		return nil
	default:
		return policies.PortTLS(v, backend.Target(), backend.Port)
	}
}

// neededCertificates are the key pairs that a Gateway needs for a backend.
func neededCertificates(key string, tls *ir.BackendTLS) []ir.GatewaySecret {
	return secretsOf(ir.ParseGatewayBackend(key).Gateway, ir.NeedsOf(tls).Certificates())
}

// neededAuthorities are the bundles that a Gateway needs for a backend.
func neededAuthorities(key string, tls *ir.BackendTLS) []ir.GatewaySecret {
	return secretsOf(ir.ParseGatewayBackend(key).Gateway, ir.NeedsOf(tls).Authorities())
}

// securableEndpoints are the endpoints that a Gateway sends requests to, if a policy can apply to them.
func securableEndpoints(key string, _ *ir.BackendTLS) []ir.Endpoints {
	backend := ir.ParseGatewayBackend(key).Backend
	if !backend.Protocol.TakesTLS() {
		return nil
	}
	return []ir.Endpoints{backend.Endpoints()}
}

// gatewayTLS is how the proxies of a Gateway secure connections to a backend, with the client certificate of the Gateway.
func (g *graph) gatewayTLS(v *store.View, user ir.GatewayBackend) *ir.BackendTLS {
	shared, _ := g.tls.byBackend.Get(v, user.Backend)
	// A cluster that Gateways share has no certificate of one. That may be about to leave, and have one already.
	if shared == nil || shared.FailClosed || shared.Inline || g.sharedClass(v, user.Gateway) != "" {
		return shared
	}
	own := *shared
	r, _ := g.gateways.Get(v, user.Gateway)
	own.ClientCertificate = r.ClientCertificate
	return &own
}
