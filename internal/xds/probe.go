package xds

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	// maxProbes is how many listeners are judged at once.
	maxProbes = 16
	// maxGuilty bounds what one search finds. What is left is found when the proxy refuses again.
	maxGuilty = 64
)

// search looks for the virtual hosts and routes of a refused table that the proxy does not take. Envoy does not say which it was, but it does name the
// listeners that it refuses, so it is asked about parts of the table in listeners of their own, which bind no port: no request ever sees a probe, and a
// proxy serves what it had before until the search is over. The proxy's next round waits for that; other proxies do not.
type search struct {
	table  string
	header *Resource
	reason string
	// todo are the sets of parts still to be judged, and asked those that the proxy was asked about and has not answered.
	todo, asked [][]part
	// judged says that there is an answer, and verdict what it is.
	judged  bool
	verdict string
	// used is the highest number of probes the proxy holds.
	used   int
	guilty []part
	// all are the hosts that the search is among. At least one of them is refused, whatever becomes of its parts.
	all []part
	// apart are the refused hosts of which each route is judged for itself, until one is found guilty.
	apart map[string]part
}

// part is a virtual host, or one with a single one of its routes, or one with the configuration of its filters alone.
type part struct {
	domain  string
	version string
	host    *routev3.VirtualHost
	// single says that the host has been taken apart, and filters that this is the part without routes.
	single  bool
	filters bool
	// together says that none of its parts is refused alone.
	together bool
	reason   string
}

// hostInDoubt is a virtual host that a search is among.
type hostInDoubt struct {
	domain string
	host   *Resource
}

// searchTable begins a search among the virtual hosts that the refused table has otherwise than the one the proxy took last.
func (s *stream) searchTable(table string, refused tableParts, reason string) {
	var hosts []hostInDoubt
	refused.hosts.changed(s.subscriptions[RouteTable].accepted[table].hosts, func(domain string, host *Resource) {
		hosts = append(hosts, hostInDoubt{domain, host})
	})
	s.startSearch(table, refused.header, hosts, reason)
}

// searchScope begins a search in the virtual host of a refused scope.
func (s *stream) searchScope(d *delivery, name, reason string) {
	for _, sent := range d.named {
		refused, ok := sent.content.(*scope)
		if !ok || sent.name != name {
			continue
		}
		table, domain, _ := strings.Cut(name, scopeSeparator)
		if refused.host != nil {
			s.startSearch(table, refused.header, []hostInDoubt{{domain, refused.host}}, reason)
			continue
		}
		s.searchTable(table, tableParts{header: refused.header, hosts: refused.wild}, reason)
	}
}

func (s *stream) startSearch(table string, header *Resource, hosts []hostInDoubt, reason string) {
	p := &search{table: table, header: header, reason: reason, apart: map[string]part{}}
	var parts []part
	for _, h := range hosts {
		message := &routev3.VirtualHost{}
		if h.host.read(message) == nil {
			parts = append(parts, part{domain: h.domain, version: h.host.version, host: message})
		}
	}
	p.todo = split(parts, maxProbes)
	for _, whole := range parts {
		whole.together, whole.reason = true, reason
		p.all = append(p.all, whole)
	}
	s.searches = append(s.searches, p)
}

// split cuts a list into at most n lists of about the same length.
func split(parts []part, n int) [][]part {
	if len(parts) == 0 {
		return nil
	}
	return slices.Collect(slices.Chunk(parts, (len(parts)+n-1)/n))
}

// judge takes the answer to the probes that were sent last.
func (s *stream) judge(verdict string) {
	if len(s.searches) > 0 {
		s.searches[0].judged, s.searches[0].verdict = true, verdict
	}
}

// stepSearch goes on with the search, and says whether it is over.
func (s *stream) stepSearch() bool {
	p, own := s.searches[0], &s.subscriptions[Listener]
	if !own.ready() || !s.answered(Listener) || len(p.asked) > 0 && !p.judged {
		return false
	}
	p.narrow()
	r := newResponse(Listener)
	r.probe = true
	if len(p.guilty) < maxGuilty {
		count := min(len(p.todo), maxProbes)
		p.asked, p.todo = p.todo[:count], p.todo[count:]
	}
	for i, parts := range p.asked {
		probe, err := NewResource(probeListener(i, p.header, parts))
		if err != nil {
			continue
		}
		r.add(probeName(i), &named{name: probeName(i), content: probe})
	}
	p.used = max(p.used, len(p.asked))
	if len(p.asked) > 0 {
		own.hand(r)
		return false
	}
	for i := range p.used {
		r.remove(probeName(i))
	}
	s.searches = s.searches[1:]
	s.convict(p)
	if p.used > 0 {
		own.hand(r)
	}
	return true
}

// narrow draws the conclusions from an answer.
func (p *search) narrow() {
	asked := p.asked
	p.asked, p.judged = nil, false
	refusals := guiltyProbes(len(asked), p.verdict)
	for i, parts := range asked {
		reason, refused := refusals[i]
		switch {
		case !refused:
		case len(parts) > 1:
			p.todo = append(p.todo, split(parts, maxProbes)...)
		case parts[0].single || len(routesOf(parts[0].host)) < 2 && len(parts[0].host.GetTypedPerFilterConfig()) == 0:
			parts[0].reason = reason
			p.guilty = append(p.guilty, parts[0])
			delete(p.apart, parts[0].domain)
		default:
			parts[0].reason = reason
			p.apart[parts[0].domain] = parts[0]
			p.todo = append(p.todo, split(singles(parts[0]), maxProbes)...)
		}
	}
}

// guiltyProbes are the numbers of the probes that an answer names, with the reason.
func guiltyProbes(count int, verdict string) map[int]string {
	reasons := map[int]string{}
	if verdict == "" {
		return reasons
	}
	d := &delivery{versions: map[string]string{}}
	for i := range count {
		d.versions[probeName(i)] = "asked"
	}
	named := guilty(Listener, d, verdict)
	for i := range count {
		if slices.Contains(named, probeName(i)) {
			reasons[i] = reasonOf(probeName(i), verdict)
		}
	}
	return reasons
}

// convict reports what was found, as far as it is still wanted: what has changed meanwhile is sent, and judged, anew.
func (s *stream) convict(p *search) {
	for _, domain := range slices.Sorted(maps.Keys(p.apart)) {
		// Each route would do; together they would not.
		found := p.apart[domain]
		found.together = true
		p.guilty = append(p.guilty, found)
	}
	if len(p.guilty) == 0 {
		p.guilty = p.all[:min(len(p.all), maxGuilty)]
	}
	if len(p.guilty) == 0 {
		s.observer.Refused(s.identity, Refusal{Type: RouteTable, Name: p.table, Reason: p.reason})
		return
	}
	table := s.group.tables[p.table]
	for _, part := range p.guilty {
		var host *Resource
		if table != nil {
			host = table.hosts.get(part.domain)
		}
		if host == nil || host.version != part.version {
			continue
		}
		refusal := Refusal{
			Type: VirtualHost, Name: part.domain, Table: p.table, Version: part.version, Reason: part.reason,
			Filters: part.filters, Together: part.together,
		}
		for _, route := range routesOf(part.host) {
			refusal.Routes = append(refusal.Routes, route.GetName())
		}
		s.observer.Refused(s.identity, refusal)
	}
}

// routesOf are the routes of a virtual host, be they in its list or in its matcher, where the same one may be in several places.
func routesOf(host *routev3.VirtualHost) []*routev3.Route {
	routes := host.GetRoutes()
	if host.GetMatcher() == nil {
		return routes
	}
	seen := map[string]bool{}
	_ = protorange.Options{Stable: true}.Range(host.GetMatcher().ProtoReflect(), func(p protopath.Values) error {
		message, ok := p.Index(-1).Value.Interface().(protoreflect.Message)
		if !ok {
			return nil
		}
		if route, ok := message.Interface().(*routev3.Route); ok {
			if content := string(packed(route).GetValue()); !seen[content] {
				seen[content] = true
				routes = append(routes, route)
			}
			return protorange.Break
		}
		return nil
	}, nil)
	return routes
}

// singles takes a host apart into one for each route, and one for the configuration of its filters.
func singles(p part) []part {
	var parts []part
	if config := p.host.GetTypedPerFilterConfig(); len(config) > 0 {
		host := &routev3.VirtualHost{Name: p.host.GetName(), Domains: p.host.GetDomains(), TypedPerFilterConfig: config}
		parts = append(parts, part{domain: p.domain, version: p.version, host: host, single: true, filters: true})
	}
	for _, route := range routesOf(p.host) {
		host := &routev3.VirtualHost{Name: p.host.GetName(), Domains: p.host.GetDomains(), Routes: []*routev3.Route{route}}
		parts = append(parts, part{domain: p.domain, version: p.version, host: host, single: true})
	}
	return parts
}

func probeName(i int) string { return fmt.Sprintf("probe/%d", i) }

// probeListener is a listener that nothing reaches, for the sake of the routes in it.
func probeListener(number int, header *Resource, parts []part) *listenerv3.Listener {
	table := &routev3.RouteConfiguration{}
	if header.read(table) != nil {
		table = &routev3.RouteConfiguration{}
	}
	table.ValidateClusters = wrapperspb.Bool(false)
	hosts := map[string]*routev3.VirtualHost{}
	for _, part := range parts {
		if host := hosts[part.domain]; host != nil {
			// The one with the configuration of filters comes first.
			host.Routes = append(host.Routes, part.host.GetRoutes()...)
			continue
		}
		hosts[part.domain] = part.host
		if part.single {
			hosts[part.domain] = &routev3.VirtualHost{
				Name: part.host.GetName(), Domains: part.host.GetDomains(), Routes: part.host.GetRoutes(), TypedPerFilterConfig: part.host.GetTypedPerFilterConfig(),
			}
		}
		table.VirtualHosts = append(table.VirtualHosts, hosts[part.domain])
	}
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix:     "probe",
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: table},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name: "envoy.filters.http.router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(&routerv3.Router{})},
		}},
	}
	return &listenerv3.Listener{
		Name:       probeName(number),
		BindToPort: wrapperspb.Bool(false),
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			// Addresses must differ, even those that nobody binds.
			Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(number) + 1}, //nolint:gosec // at most maxProbes
		}}},
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name: "envoy.filters.network.http_connection_manager", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: packed(manager)},
		}}}},
	}
}

// packed never fails for what was unmarshalled before.
func packed(message proto.Message) *anypb.Any {
	body := &anypb.Any{}
	_ = anypb.MarshalFrom(body, message, proto.MarshalOptions{Deterministic: true})
	return body
}
