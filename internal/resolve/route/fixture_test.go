package route_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

// fixture is a Gateway infra/gw with the given listeners, and whatever objects a case adds.
type fixture struct {
	objects *store.Objects
	parents *store.Table[gateway.Parent]
	tables  *store.TableOf[ir.TableID, []gateway.ParentListener]
	repeats *store.TableOf[ir.ListenerID, limits.Tiers]
	routes  *store.Table[route.Resolved]
	byHost  *store.IndexOf[ir.DomainID, route.Resolved]
}

const services = `
kind: Service
metadata: {namespace: infra, name: one}
spec: {ports: [{port: 80}]}
---
kind: Service
metadata: {namespace: infra, name: two}
spec: {ports: [{port: 80}, {port: 81, appProtocol: kubernetes.io/h2c}]}
---
kind: Service
metadata: {namespace: other, name: far}
spec: {ports: [{port: 80}]}
---
`

func newFixture(t *testing.T, listeners, objects string) fixture {
	t.Helper()
	s := store.New()
	f := fixture{
		objects: resolvetest.Objects(t, services+objects),
		parents: store.NewTable[gateway.Parent](s, "parent"),
		tables:  store.NewTableOf[ir.TableID, []gateway.ParentListener](s, "table", ir.ParseTableID),
		routes:  store.NewTable[route.Resolved](s, "route"),
		repeats: store.NewTableOf[ir.ListenerID, limits.Tiers](s, "repeats", ir.ParseListenerID),
	}
	f.byHost = store.NewIndexOf(f.routes, "byHost", func(_ string, r route.Resolved) []ir.DomainID { return r.Domains() })
	parent := parse(listeners)
	f.parents.Set("infra/gw", parent)
	for _, l := range parent.Listeners {
		sharing, _ := f.tables.Get(nil, l.Table)
		f.tables.Set(l.Table, append(sharing, l))
	}
	in := route.Inputs{Objects: f.objects, Parents: f.parents}
	for _, key := range f.objects.HTTPRoutes.Keys(nil) {
		f.routes.Set("HTTPRoute/"+key, route.HTTP(nil, in, key))
	}
	for _, key := range f.objects.GRPCRoutes.Keys(nil) {
		f.routes.Set("GRPCRoute/"+key, route.GRPC(nil, in, key))
	}
	return f
}

// parse reads listeners written as `name:port:hostname`, separated by spaces. Those that end in `:all` are for routes of all namespaces.
func parse(text string) gateway.Parent {
	parent := gateway.Parent{Ours: true, Accepted: true, Gateway: "infra/gw"}
	for _, field := range strings.Fields(text) {
		parts := strings.Split(field, ":")
		port, _ := strconv.ParseInt(parts[1], 10, 32)
		parent.Listeners = append(parent.Listeners, gateway.ParentListener{
			ID:         parts[0],
			Name:       parts[0],
			Namespaces: gateway.NamespaceRule{Home: "infra", All: len(parts) > 3},
			Port:       int32(port),
			Hostname:   parts[2],
			Protocol:   ir.HTTP,
			Table:      ir.TableID{Gateway: "infra/gw", Port: int32(port)},
			Accepted:   true,
			Kinds: []outcome.RouteKind{
				{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"},
				{Group: "gateway.networking.k8s.io", Kind: "GRPCRoute"},
			},
		})
	}
	return parent
}

// request answers one request as a proxy would, with the name of the backend or what else happens. Whether hosts are looked up by
// themselves makes no difference.
func (f fixture) request(host, path string, headers ...string) string {
	repeated := f.answer(host, path, headers)
	f.lookUp(true)
	defer f.lookUp(false)
	if byHost := f.answer(host, path, headers); byHost != repeated {
		return fmt.Sprintf("%s where rules are repeated, %s where hosts are looked up by themselves", repeated, byHost)
	}
	return repeated
}

// lookUp says whether hosts are looked up by themselves.
func (f fixture) lookUp(byHost bool) {
	for _, table := range f.tables.Keys(nil) {
		listeners, _ := f.tables.Get(nil, table)
		listeners = slices.Clone(listeners)
		for i := range listeners {
			listeners[i].ByHost = byHost
		}
		f.tables.Set(table, listeners)
	}
}

func (f fixture) answer(host, path string, headers []string) string {
	domains := map[string]bool{}
	for _, key := range f.routes.Keys(nil) {
		r, _ := f.routes.Get(nil, key)
		for _, k := range r.VirtualHosts() {
			domains[strings.TrimPrefix(k.String(), "infra/gw/80|")] = true
		}
	}
	parent, _ := f.parents.Get(nil, "infra/gw")
	for _, l := range parent.Listeners {
		domains[map[bool]string{true: "*", false: l.Hostname}[l.Hostname == ""]] = true
	}
	best := ""
	for domain := range domains {
		if (domain == "*" || strings.HasPrefix(domain, "*.") && strings.HasSuffix(host, domain[1:])) && len(domain) > len(best) {
			best = domain
		}
	}
	all := limits.Defaults()
	in := route.Hosts{Tables: f.tables, Routes: f.routes, ByDomain: f.byHost, Repeats: f.repeats, Limits: &all}
	candidates := []string{best}
	if domains[host] {
		candidates = []string{host, best}
	}
	for _, domain := range candidates {
		vh := in.VirtualHost(nil, ir.ParseTableID("infra/gw/80").Host(domain))
		for _, rule := range vh.Rules {
			if matches(rule.Match, path, headers) {
				return describe(rule)
			}
		}
		if !vh.FallsThrough {
			break
		}
	}
	return "404"
}

// matches knows headers as `name=value`, the method among them as `:method=POST`; it is GET otherwise.
func matches(m ir.Match, path string, headers []string) bool {
	asked := m.Headers
	if !slices.ContainsFunc(headers, func(h string) bool { return strings.HasPrefix(h, ":method=") }) {
		headers = append(slices.Clone(headers), ":method=GET")
	}
	if m.Method != "" {
		asked = append(slices.Clone(asked), ir.NamedMatch{Name: ":method", StringMatch: ir.StringMatch{Value: m.Method}})
	}
	for _, h := range asked {
		if !slices.ContainsFunc(headers, func(given string) bool {
			name, value, _ := strings.Cut(given, "=")
			return name == h.Name && (value == h.Value || h.Kind == ir.Regex && whole(h.Value).MatchString(value))
		}) {
			return false
		}
	}
	switch m.Path.Kind {
	case ir.Exact:
		return path == m.Path.Value
	case ir.Prefix:
		return m.Path.Value == "/" || path == m.Path.Value || strings.HasPrefix(path, m.Path.Value+"/")
	default:
		return whole(m.Path.Value).MatchString(path)
	}
}

func whole(expression string) *regexp.Regexp { return regexp.MustCompile("^(?:" + expression + ")$") }

func describe(rule ir.Rule) string {
	switch {
	case rule.Redirect != nil:
		return "redirect to " + rule.Redirect.Hostname + ":" + strconv.Itoa(int(rule.Redirect.Port))
	case rule.Fail != nil:
		return strconv.Itoa(rule.Fail.StatusCode)
	default:
		return rule.Forward.Backends[0].Backend.String()
	}
}

// httpRoute writes an HTTPRoute in namespace infra that names the Gateway as its parent.
func httpRoute(name, created, rest string) string {
	return "kind: HTTPRoute\nmetadata: {namespace: infra, name: " + name + ", creationTimestamp: \"2026-01-0" + created + "T00:00:00Z\"}\n" +
		"spec:\n  parentRefs: [{name: gw}]\n" + rest + "\n---\n"
}

// grpcRoute is [httpRoute] for a GRPCRoute.
func grpcRoute(name, created, rest string) string {
	return strings.Replace(httpRoute(name, created, rest), "kind: HTTPRoute", "kind: GRPCRoute", 1)
}
