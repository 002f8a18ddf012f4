package route

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

// Port completes a port of a Gateway with the routes that forward whole connections. Of a port that forwards none, it reads no route.
// A TCP or UDP port whose clients would all be rejected is not opened, so that they are refused at once.
func Port(
	v *store.View, routes *store.Table[Resolved], byListener *store.IndexOf[ir.ListenerID, Resolved], gatewayKey string, port ir.Port,
) ir.Port {
	complete := ir.Port{
		Number: port.Number, Protocol: port.Protocol, Logs: port.Logs, CountBackends: port.CountBackends, Accept: port.Accept,
	}
	for _, listener := range port.Chains {
		if listener.Stream == nil {
			complete.Chains = append(complete.Chains, listener)
			continue
		}
		streams := streamsOf(v, routes, byListener, gatewayKey, port, listener)
		if port.Protocol.ChoosesByName() {
			complete.Chains = append(complete.Chains, namedChains(listener, streams)...)
		} else if stream, ok := streams[anyHost]; ok && stream.Leads() {
			listener.Stream = stream
			complete.Chains = append(complete.Chains, listener)
		}
	}
	slices.SortFunc(complete.Chains, func(a, b ir.Chain) int { return cmp.Compare(a.Name, b.Name) })
	return complete
}

// namedChains gives each domain of a listener a chain with the policy of the listener. The listener's own hostname has one even where no
// route serves it, which closes the connections, so that no wider listener takes them.
func namedChains(listener ir.Chain, streams map[string]*ir.Stream) []ir.Chain {
	var chains []ir.Chain
	if _, served := streams[domainOf(listener)]; !served && listener.ServerName != "" {
		chains = append(chains, ir.Chain{Name: listener.Name, ServerName: listener.ServerName, Policy: listener.Policy})
	}
	for _, domain := range slices.Sorted(maps.Keys(streams)) {
		c := ir.Chain{
			Name: listener.Name + "/" + domain, Listener: listener.Name, Certificates: listener.Certificates, Stream: streams[domain],
			Policy: listener.Policy, Own: domain == domainOf(listener),
		}
		if len(c.Certificates) == 0 {
			c.Stream = c.Stream.Passthrough()
		}
		if domain != anyHost {
			c.ServerName = domain
		}
		chains = append(chains, c)
	}
	return chains
}

// streamsOf finds the route that serves each domain of a listener: the one whose own hostname is the most specific, then the oldest,
// then the first by name.
func streamsOf(
	v *store.View, routes *store.Table[Resolved], byListener *store.IndexOf[ir.ListenerID, Resolved],
	gatewayKey string, port ir.Port, listener ir.Chain,
) map[string]*ir.Stream {
	best := map[string]streamCandidate{}
	for _, key := range byListener.Keys(v, ir.ListenerID{Gateway: gatewayKey, Listener: listener.Name}) {
		r, _ := routes.Get(v, key)
		if r = r.At(gatewayKey); r.Stream == nil {
			// It is attached to a listener of the same name for requests, which only a cluster without validation has.
			continue
		}
		for _, h := range r.hostsAt(gatewayKey, listener.Name) {
			if owner(port.Chains, h.Domain) != listener.Name {
				continue
			}
			c := streamCandidate{route: r, original: specificity(h.Original)}
			known, taken := best[h.Domain]
			if !taken || c.hasPrecedence(known) {
				best[h.Domain] = c
			}
		}
	}
	streams := make(map[string]*ir.Stream, len(best))
	for domain, c := range best {
		streams[domain] = c.route.streamAt(gatewayKey, listener.Name)
	}
	return streams
}

// owner is the name of the chain whose server name is the most specific that covers a domain: a listener keeps what a wider one would take.
func owner(chains []ir.Chain, domain string) string {
	name, best := "", -1
	for _, c := range chains {
		pattern := domainOf(c)
		if covers(pattern, domain) && specificity(pattern) > best {
			name, best = c.Name, specificity(pattern)
		}
	}
	return name
}

func domainOf(c ir.Chain) string { return cmp.Or(c.ServerName, anyHost) }

// comparePrecedence orders routes by precedence: the older one first, then by name.
func comparePrecedence(a, b Resolved) int {
	return cmp.Or(
		cmp.Compare(a.Created, b.Created),
		cmp.Compare(a.Name.Namespace, b.Name.Namespace),
		cmp.Compare(a.Name.Name, b.Name.Name),
		cmp.Compare(a.Kind, b.Kind),
	)
}

// hostsAt are the hostnames the route has on a listener.
func (r Resolved) hostsAt(gatewayKey, listener string) []Host {
	for _, a := range r.Attachments {
		if a.Gateway == gatewayKey && a.Listener == listener {
			return a.Hosts
		}
	}
	return nil
}
