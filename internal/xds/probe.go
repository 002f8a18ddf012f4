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

// search looks for the virtual hosts and routes of a refused table that the proxy does not take. Envoy does not say which it was, but it
// does name the listeners that it refuses, so it is asked about parts of the table in listeners of their own, which bind no port: no
// request ever sees a probe, and a proxy serves what it had before until the search is over. The proxy's next round waits for that; other
// proxies do not.
//
// Hosts are read and probes are made by the stream's own goroutine without a lock, since a table may be large and everybody who changes the
// Gateway would wait. Meanwhile the search is in preparation, and only that goroutine touches it.
type search struct {
	typ     Type
	name    string
	version string

	table  string
	header *Resource
	reason string
	// hosts gives the hosts that the search is among. It is called once.
	hosts func() []hostInDoubt

	// preparing says that the stream's goroutine works on it, and judging that the proxy was sent probes and has not answered.
	preparing, judging bool
	// todo are the sets of parts still to be judged, asked those that the proxy is asked about, and probes the listeners for that.
	todo, asked [][]part
	probes      []*named
	verdict     string
	// used is the highest number of probes the proxy holds.
	used   int
	guilty []part
	// all are the hosts that the search is among. At least one of them is refused, whatever becomes of its parts.
	all []part
	// apart are the refused hosts of which each route is judged for itself, until one is found guilty.
	apart map[string]part
	// found is the result.
	found []Refusal
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
func (s *stream) searchTable(p *search, refused tableParts) {
	accepted := s.subscriptions[RouteTable].accepted[p.table].hosts
	p.header = refused.header
	p.hosts = func() (hosts []hostInDoubt) {
		refused.hosts.changed(accepted, func(domain string, host *Resource) { hosts = append(hosts, hostInDoubt{domain, host}) })
		return hosts
	}
	s.startSearch(p)
}

// searchScope begins a search in the virtual host of a refused scope.
func (s *stream) searchScope(p *search, d *delivery) {
	for _, sent := range d.named {
		refused, ok := sent.content.(*scope)
		if !ok || sent.name != p.name {
			continue
		}
		table, domain, _ := strings.Cut(p.name, scopeSeparator)
		p.table = table
		if refused.host == nil {
			s.searchTable(p, tableParts{header: refused.header, hosts: refused.wild})
			return
		}
		p.header = refused.header
		p.hosts = func() []hostInDoubt { return []hostInDoubt{{domain, refused.host}} }
		s.startSearch(p)
		return
	}
}

// startSearch puts a search behind those that there are. There is one at most for each version of a resource, and none for an older version
// but the one under way, so a proxy that refuses the same again and again costs no more than one that does not.
func (s *stream) startSearch(p *search) {
	same := func(other *search) bool { return other.typ == p.typ && other.name == p.name }
	for _, other := range s.searches {
		if same(other) && other.version == p.version {
			return
		}
	}
	if len(s.searches) > 1 {
		s.searches = append(s.searches[:1], slices.DeleteFunc(s.searches[1:], same)...)
	}
	p.preparing = true
	s.searches = append(s.searches, p)
}

// prepareSearches does the work that an answer of the proxy has made necessary. It is called by the stream's goroutine, without a lock.
func (s *stream) prepareSearches() {
	for _, p := range s.unprepared() {
		if s.beforeSearch != nil {
			s.beforeSearch()
		}
		p.prepare()
		s.prepared(p)
	}
}

func (s *stream) unprepared() []*search {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*search
	for _, p := range s.searches {
		if p.preparing {
			found = append(found, p)
		}
	}
	return found
}

func (s *stream) prepared(p *search) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.preparing = false
}

// prepare draws the conclusions from what is known, and makes the next probes, or the result if there is nothing more to ask.
func (p *search) prepare() {
	if p.hosts != nil {
		p.read()
	} else {
		p.narrow()
	}
	if len(p.guilty) < maxGuilty {
		count := min(len(p.todo), maxProbes)
		p.asked, p.todo = p.todo[:count], p.todo[count:]
	}
	for i, parts := range p.asked {
		if probe, err := NewResource(probeListener(i, p.header, parts)); err == nil {
			p.probes = append(p.probes, &named{name: probeName(i), content: probe})
		}
	}
	if len(p.asked) == 0 {
		p.found = p.result()
	}
}

// read reads the hosts that the search is among.
func (p *search) read() {
	var parts []part
	for _, h := range p.hosts() {
		message := &routev3.VirtualHost{}
		if h.host.read(message) == nil {
			parts = append(parts, part{domain: h.domain, version: h.host.version, host: message})
		}
	}
	p.hosts, p.apart = nil, map[string]part{}
	p.todo = split(parts, maxProbes)
	for _, whole := range parts {
		whole.together, whole.reason = true, p.reason
		p.all = append(p.all, whole)
	}
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
	if len(s.searches) > 0 && s.searches[0].judging {
		p := s.searches[0]
		p.judging, p.preparing, p.verdict = false, true, verdict
	}
}

// stepSearch goes on with the search, and says whether it is over.
func (s *stream) stepSearch() bool {
	p, own := s.searches[0], &s.subscriptions[Listener]
	if p.preparing || p.judging || !own.ready() || !s.answered(Listener) {
		return false
	}
	r := newResponse(Listener)
	r.probe = true
	if len(p.asked) > 0 {
		for _, probe := range p.probes {
			r.add(probe.name, probe)
		}
		p.probes, p.judging, p.used = nil, true, max(p.used, len(p.asked))
		s.hand(Listener, r)
		return false
	}
	for i := range p.used {
		r.remove(probeName(i))
	}
	s.searches = s.searches[1:]
	s.convict(p)
	if p.used > 0 {
		s.hand(Listener, r)
	}
	return true
}

// narrow draws the conclusions from an answer.
func (p *search) narrow() {
	asked := p.asked
	p.asked = nil
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

// result is what was found.
func (p *search) result() []Refusal {
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
		return []Refusal{{Type: RouteTable, Name: p.table, Reason: p.reason}}
	}
	var refusals []Refusal
	for _, part := range p.guilty {
		refusal := Refusal{
			Type: VirtualHost, Name: part.domain, Table: p.table, Version: part.version, Reason: part.reason,
			Filters: part.filters, Together: part.together,
		}
		for _, route := range routesOf(part.host) {
			refusal.Routes = append(refusal.Routes, route.GetName())
		}
		refusals = append(refusals, refusal)
	}
	return refusals
}

// convict reports what was found, as far as it is still wanted: what has changed meanwhile is sent, and judged, anew.
func (s *stream) convict(p *search) {
	table := s.group.tables[p.table]
	for _, refusal := range p.found {
		if refusal.Type == VirtualHost {
			var host *Resource
			if table != nil {
				host = table.hosts.get(refusal.Name)
			}
			if host == nil || host.version != refusal.Version {
				continue
			}
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
