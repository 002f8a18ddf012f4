package backend

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// Fixed is how proxies connect to a Backend.
type Fixed struct {
	Endpoints []ir.FixedEndpoint
	// TLS is nil for plain text. It refuses connections if the Backend cannot be served.
	TLS *ir.BackendTLS
	// Accepted says why the Backend cannot be served, Partial what is wrong with one that is served nevertheless.
	Accepted   *refs.Problem
	Partial    *refs.Problem
	Generation int64
}

// ResolveFixed resolves the Backend of that key.
func ResolveFixed(v *store.View, objects *store.Objects, key string) Fixed {
	b, ok := objects.Backends.Get(v, key)
	if !ok {
		return Fixed{}
	}
	f := Fixed{Generation: b.Generation}
	unknown := refs.UnknownFields(b)
	switch {
	case unknown != "":
		f.Accepted = invalid(unknown + "; until then requests are answered 503")
	case ptr.Deref(b.Spec.Type, v1alpha1.BackendEndpoints) != v1alpha1.BackendEndpoints:
		f.Accepted = invalid(fmt.Sprintf("type %s is not supported, since clients would choose where proxies connect to, so requests are "+
			"answered 503; list the endpoints", *b.Spec.Type))
	case len(b.Spec.Endpoints) == 0:
		f.Accepted = invalid("there are no endpoints, so requests are answered 503; add one")
	}
	for i := range b.Spec.Endpoints {
		if f.Accepted == nil {
			f.Accepted = f.add(objects, fmt.Sprintf("endpoints[%d]", i), &b.Spec.Endpoints[i])
		}
	}
	if f.Accepted == nil && mixed(f.Endpoints) {
		f.Accepted = invalid("endpoints with fqdn are beside others, so requests are answered 503; use two Backends")
	}
	if f.Accepted == nil {
		f.setTLS(v, objects, b)
	}
	return f.closed()
}

// closed lets no connection to what cannot be served.
func (f Fixed) closed() Fixed {
	if f.Accepted != nil {
		f.Endpoints, f.TLS = nil, &ir.BackendTLS{FailClosed: true}
	}
	return f
}

// add adds an endpoint, or says why it cannot be served.
func (f *Fixed) add(objects *store.Objects, field string, e *v1alpha1.BackendEndpoint) *refs.Problem {
	endpoint := ir.FixedEndpoint{Hostname: string(ptr.Deref(e.Hostname, "")), Zone: ptr.Deref(e.Zone, "")}
	var problem *refs.Problem
	switch {
	case e.FQDN != nil:
		endpoint.Name, endpoint.Port = e.FQDN.Hostname, e.FQDN.Port
		endpoint.Hostname = strings.TrimSuffix(e.FQDN.Hostname, ".")
		problem = checkOutsideName(objects, field+".fqdn.hostname", e.FQDN.Hostname)
	case e.IP != nil:
		endpoint.Address, endpoint.Port = e.IP.Address, e.IP.Port
		problem = checkAddress(objects, field+".ip.address", e.IP.Address)
	case e.Unix != nil:
		endpoint.Path = e.Unix.Path
		problem = checkSocket(objects, field+".unix.path", e.Unix.Path)
	default:
		problem = invalid(field + " has no address, so requests are answered 503; set fqdn, ip or unix")
	}
	f.Endpoints = append(f.Endpoints, endpoint)
	return problem
}

func mixed(endpoints []ir.FixedEndpoint) bool {
	named := func(e ir.FixedEndpoint) bool { return e.Name != "" }
	return slices.ContainsFunc(endpoints, named) && slices.ContainsFunc(endpoints, func(e ir.FixedEndpoint) bool { return !named(e) })
}

// checkAddress rejects addresses that are not outside the proxy and its node. Private networks are allowed, see docs/egress.md.
func checkAddress(objects *store.Objects, field, text string) *refs.Problem {
	if objects.NoExternalHostnames {
		return switchedOff("endpoints with addresses")
	}
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" {
		return invalid(fmt.Sprintf("%s %q is not an address, so requests are answered 503; write one such as 192.0.2.1", field, text))
	}
	for _, denied := range slices.Concat(ir.InsideAddresses, objects.DeniedAddresses) {
		if denied.Contains(address) {
			return invalid(fmt.Sprintf("%s %s is in %s, which is the proxy itself, its network or a range that the operator denies, so requests "+
				"are answered 503; use an address outside, or a Service", field, text, denied))
		}
	}
	return nil
}

// checkSocket rejects sockets outside the directories that the operator allows.
func checkSocket(objects *store.Objects, field, text string) *refs.Problem {
	const longest = 107
	switch {
	case len(text) > longest || !path.IsAbs(text) || path.Clean(text) != text || strings.ContainsRune(text, 0):
		return invalid(fmt.Sprintf("%s %q is not the absolute path of a socket with at most %d characters, so requests are answered 503; "+
			"write it without . and ..", field, text, longest))
	case len(objects.SocketDirectories) == 0:
		return &refs.Problem{Reason: ReasonUnixSocketsDisabled, Message: field + ": the operator of Gatewright allows no Unix sockets " +
			"(unixSockets.directories), so requests are answered 503; use an address, or ask the operator"}
	}
	for _, directory := range objects.SocketDirectories {
		if strings.HasPrefix(text, strings.TrimSuffix(directory, "/")+"/") {
			return nil
		}
	}
	return &refs.Problem{Reason: ReasonUnixSocketsDisabled, Message: fmt.Sprintf("%s %s is in none of the directories that the operator of "+
		"Gatewright allows (unixSockets.directories: %s), so requests are answered 503; use one of them",
		field, text, strings.Join(objects.SocketDirectories, ", "))}
}

// ReasonUnixSocketsDisabled is why a Unix socket is not served.
const ReasonUnixSocketsDisabled = "UnixSocketsDisabled"

// Outcome returns the status of a Backend that these Gateways send requests to.
func (f Fixed) Outcome(gateways []string) outcome.Policy {
	accepted := outcome.Condition{
		Type: string(gwv1.PolicyConditionAccepted), State: outcome.True, Reason: string(gwv1.PolicyReasonAccepted),
		Message: fmt.Sprintf("requests are sent to %d endpoints", len(f.Endpoints)),
	}
	switch {
	case f.Accepted != nil:
		accepted.State, accepted.Reason, accepted.Message = outcome.False, f.Accepted.Reason, f.Accepted.Message
	case f.Partial != nil:
		accepted.Message += "; " + f.Partial.Message
	case f.TLS == nil:
		accepted.Message += ", in plain text"
	}
	return outcome.Policy{Generation: f.Generation, Conditions: []outcome.Condition{accepted}, Gateways: gateways}
}
