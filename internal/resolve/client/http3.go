package client

import (
	"fmt"
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// http3Setting is the name of the setting.
const http3Setting = "http3"

// altSvcAge is for how many seconds clients remember that HTTP/3 is served: a day, as Envoy's documentation shows it.
const altSvcAge = 86400

// serveHTTP3 serves HTTP/3 at a chain, if its settings say so. It returns why that is not possible.
func (in *port) serveHTTP3(v *store.View, policy *ir.ClientPolicy, spec *Spec, l gateway.Listener) string {
	if spec.HTTP3 == nil || l.Protocol != ir.HTTPS || policy.FailClosed {
		return ""
	}
	if problem := in.withoutHTTP3(v, policy, l); problem != "" {
		return problem
	}
	policy.HTTP3 = true
	late := ir.HeaderMutation{}
	if policy.Headers.Late != nil {
		late = *policy.Headers.Late
	}
	late.AddIfAbsent = append(slices.Clone(late.AddIfAbsent),
		ir.Header{Name: "alt-svc", Value: fmt.Sprintf(`h3=":%d"; ma=%d`, in.Number, altSvcAge)})
	policy.Headers.Late = &late
	return ""
}

// withoutHTTP3 says why a listener of HTTPS cannot serve HTTP/3, and what to do.
func (in *port) withoutHTTP3(v *store.View, policy *ir.ClientPolicy, l gateway.Listener) string {
	switch {
	case in.shared:
		return "the proxies are shared with other Gateways; use a class whose Gateways have their own"
	case in.udp:
		return fmt.Sprintf("another listener has UDP port %d; choose another port for one of them", in.Number)
	case in.proxyProtocol:
		return "datagrams do not carry the PROXY protocol; remove proxyProtocol, or http3"
	case l.Clients != nil || policy.TLS.Clients != nil:
		return "Envoy does not validate client certificates over QUIC; remove the validation, or http3"
	}
	for _, name := range l.Certificates {
		if !refs.SupportsQUIC(v, in.objects, name) {
			return fmt.Sprintf("the key of Secret %s is not supported by Envoy's QUIC; use RSA with 2048 bits or more, or ECDSA P-256", name)
		}
	}
	return ""
}

// http3Loss is the loss of a policy whose http3 has no effect on a listener.
func http3Loss(merged *attach.Effective[Spec], l gateway.Listener, problem string) []attach.Loss {
	origin, ok := merged.Origin(http3Setting)
	if problem == "" || !ok {
		return nil
	}
	return []attach.Loss{{
		Setting: http3Setting, Policy: origin.Object, Target: origin.Target, Cause: attach.NotApplicable,
		Detail: fmt.Sprintf("http3 has no effect on listener %s: %s", l.ID, problem),
	}}
}

// HTTP3Ports are the numbers of the ports that serve HTTP/3 too, sorted.
func (e Effective) HTTP3Ports(ports []ir.Port) []int32 {
	var numbers []int32
	for _, p := range ports {
		if p.Protocol == ir.HTTPS && len(e.Apply(p).HTTP3().Chains) > 0 {
			numbers = append(numbers, p.Number)
		}
	}
	return numbers
}
