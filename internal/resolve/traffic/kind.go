package traffic

import (
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// Spec has the settings of a policy. Its targets do not count.
type Spec = v1alpha1.BackendTrafficPolicySpec

// requestSettings decide about requests, and destinationSettings about the connections to backends. Each is one field of
// [ir.RequestPolicy] or [ir.DestinationSettings], by its tag.
var (
	requestSettings = []string{
		"timeout.http.requestTimeout", "timeout.http.maxStreamDuration", "timeout.http.streamIdleTimeout", "retry",
		"rateLimit.local", "rateLimit.global", "faultInjection", "compressor", "requestBuffer", "bandwidthLimit", "admissionControl",
		"responseOverride", "httpUpgrade", "telemetry.tracing", "telemetry.metrics.routeStatName",
	}
	destinationSettings = []string{
		"timeout.tcp.connectTimeout", "timeout.http.connectionIdleTimeout", "timeout.http.maxConnectionDuration",
		"loadBalancer", "circuitBreaker", "healthCheck.active", "healthCheck.passive", "healthCheck.panicThreshold",
		"connection.bufferLimit", "connection.socketBufferLimit", "connection.preconnect",
		"http2", "tcpKeepalive", "proxyProtocol", "dns", "useClientProtocol",
	}
)

// kind is how BackendTrafficPolicies attach and merge.
var kind = attach.Kind[Spec]{
	Name: string(store.BackendTrafficPolicy),
	Targets: []attach.TargetKind{
		attach.GatewayClasses, attach.Gateways, attach.ListenerSets, attach.HTTPRoutes, attach.GRPCRoutes, attach.TLSRoutes,
		attach.TCPRoutes, attach.UDPRoutes, attach.Services, attach.XBackends, attach.InferencePools,
		attach.ServiceImports,
	},
	Settings:  slices.Concat(at(attach.RequestLevels, requestSettings), at(attach.DestinationLevels, destinationSettings)),
	Inherited: true,
}

// Kind is how BackendTrafficPolicies are inherited.
var Kind = inherit.Kind[Spec]{Kind: kind, Resolve: resolve, Convert: convert, Broken: broken}

func at(levels []attach.Level, names []string) []attach.Setting[Spec] {
	settings := attach.Fields[Spec](names...)
	for i := range settings {
		settings[i] = settings[i].At(levels...)
	}
	return settings
}

const serves = "the settings apply to the requests and backends of the targets"

// resolve resolves the BackendTrafficPolicy of that key.
func resolve(v *store.View, objects *store.Objects, key string) attach.Policy[Spec] {
	object, ok := objects.BackendTrafficPolicies.Get(v, key)
	if !ok {
		return attach.Policy[Spec]{}
	}
	p := inherit.New(v, objects, &kind, object, &object.Spec.PolicyTargets)
	p.Spec, p.Serves = object.Spec, serves
	p.Spec.PolicyTargets = v1alpha1.PolicyTargets{}
	if len(p.Spec.Compressor) == 0 {
		p.Spec.Compressor = p.Spec.Compression
	}
	c := newConverter(objects)
	c.requests(&p.Spec)
	c.overrides(v, p.Ref.Namespace, p.Spec.ResponseOverride)
	c.destinations(&p.Spec)
	if p.Spec.RateLimit != nil {
		_, problems := globalRateLimit(v, objects, key, p.Spec.RateLimit.Global)
		c.Problems = append(c.Problems, problems...)
	}
	c.Accept(refs.UnknownFields(object))
	unknown := unknownLimits(object)
	c.Accept(unknown.problem())
	p.Spec.RateLimit = unknown.broken(p.Spec.RateLimit)
	p.Unknown = unknown.settings()
	if len(c.Problems) > 0 && p.Accepted == nil {
		p.Accepted = &refs.Problem{Reason: string(gwv1.PolicyReasonInvalid), Message: strings.Join(c.Problems, "; ")}
	}
	return p
}

// broken is a policy whose resolution panicked: what it was last. Limits that were others then, or are not known, fail closed. Its other
// settings guard nothing.
func broken(v *store.View, objects *store.Objects, key string, last attach.Policy[Spec]) attach.Policy[Spec] {
	object, ok := objects.BackendTrafficPolicies.Get(v, key)
	if !ok {
		return last
	}
	p := inherit.New(v, objects, &kind, object, &object.Spec.PolicyTargets)
	p.Spec, p.Serves = last.Spec, serves
	closed := changedLimits(object, last.Spec.RateLimit)
	p.Spec.RateLimit, p.Unknown = closed.broken(last.Spec.RateLimit), closed.settings()
	if p.Accepted == nil {
		p.Accepted = last.Accepted
	}
	if problem := closed.problem(); problem != "" && p.Accepted == nil {
		p.Accepted = &refs.Problem{Reason: string(gwv1.PolicyReasonInvalid), Message: problem}
	}
	return p
}

// convert is what merged settings mean. One that cannot be served is left out; the policy it comes from says so.
func convert(v *store.View, objects *store.Objects, e *attach.Effective[Spec]) inherit.Values {
	c := newConverter(objects)
	request := c.requests(&e.Spec)
	if origin, ok := e.Origin("responseOverride"); ok {
		request.Overrides = c.overrides(v, origin.Object.Namespace, e.Spec.ResponseOverride)
	}
	if origin, ok := e.Origin("rateLimit.global"); ok {
		request.GlobalRateLimit, _ = globalRateLimit(v, objects, origin.Object.Key(), e.Spec.RateLimit.Global)
	}
	return inherit.Values{Request: request, Destination: c.destinations(&e.Spec)}
}
