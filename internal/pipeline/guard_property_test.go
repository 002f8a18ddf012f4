package pipeline

import (
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/explain"
	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

var (
	guardSets = flag.Int("guards", 300, "how many sets of objects are damaged to see whether a request loses its guard")
	guardSeed = flag.Uint64("guards-seed", 29, "the seed of these sets")
)

// TestNoRequestLosesItsGuard damages sets of objects in one place each. A request that a rule or listener with a guard answered before is
// answered with that guard after it, or with an error; see [ir.RuleGuard].
func TestNoRequestLosesItsGuard(t *testing.T) {
	t.Parallel()
	kinds := slices.Sorted(maps.Keys(damages))
	guarded, closed := map[string]int{}, map[string]int{}
	for n := range *guardSets {
		kind := kinds[n%len(kinds)]
		d := damage{Generator: fuzzobjects.New(*guardSeed, uint64(n))}
		d.objects = d.Guarded()
		before, after := damages[kind](&d)
		if grown := after.grown(before); grown != "" && !strings.HasPrefix(kind, "panic") {
			t.Errorf("set %d of seed %d, %s: %s: %s", n, *guardSeed, kind, d.what, grown)
		}
		for _, request := range guardRequests() {
			was, is := before.protection(request), after.protection(request)
			if !was.guarded() {
				continue
			}
			guarded[kind]++
			switch {
			case !is.passes:
				closed[kind]++
			case !is.covers(was) && !after.leftOut(was, is) && !after.leftOutListener(d.objects, request) && !after.kept(request, was, is):
				t.Errorf("set %d of seed %d, %s: %s: %s:%d%s %v was answered by %s, and is answered by %s",
					n, *guardSeed, kind, d.what, request.Host, request.Port, request.Path, request.Headers, was, is)
			}
		}
	}
	for _, kind := range kinds {
		if *guardSets >= 100 && (guarded[kind] == 0 || closed[kind] == 0) {
			t.Errorf("%s: %d requests were guarded, and %d are answered with errors; there are too few", kind, guarded[kind], closed[kind])
		}
	}
	t.Logf("requests with a guard: %v; answered with errors afterwards: %v", guarded, closed)
}

func guardRequests() []explain.Request {
	var all []explain.Request
	for _, host := range fuzzobjects.AskedHosts {
		for _, path := range fuzzobjects.AskedPaths {
			for _, headers := range fuzzobjects.AskedHeaders {
				all = append(all,
					explain.Request{Method: "GET", Port: 80, Host: host, Path: path, Headers: headers},
					explain.Request{Method: "GET", Port: 443, TLS: true, ServerName: host, HTTP2: true, Host: host, Path: path, Headers: headers})
			}
		}
	}
	return all
}

// view is what proxies do at one time.
type view struct {
	config explain.Config
	routes map[string]route.Resolved
	// leftOutSets are the ListenerSets that there is no room for even if they only keep their hostnames.
	leftOutSets []string
	// moved says that the earlier version is where it was, and not where the route is today.
	moved bool
	// live is what proxies did before a version of the route of that key failed, so that an earlier one is served; nil for none.
	live    *view
	earlier string
}

func viewOf(p *Pipeline) view {
	v := view{config: p.Explainable(), routes: map[string]route.Resolved{}}
	v.config.Endpoints = nil
	for _, key := range p.graph.routes.Keys(nil) {
		v.routes[key], _ = p.graph.routes.Get(nil, key)
	}
	for _, key := range p.graph.gateways.Keys(nil) {
		gw, _ := p.graph.gateways.Get(nil, key)
		for _, set := range gw.Sets {
			if strings.Contains(set.Accepted.Message, "is left out") {
				v.leftOutSets = append(v.leftOutSets, set.Key)
			}
		}
	}
	return v
}

// grown says which route is where it was not before. What fails never takes requests from others.
func (v view) grown(before view) string {
	for _, key := range slices.Sorted(maps.Keys(v.routes)) {
		r, was := v.routes[key], before.routes[key]
		domains := was.Domains()
		for _, domain := range r.Domains() {
			if !slices.Contains(domains, domain) {
				return fmt.Sprintf("%s is served for %s, and was not before", key, domain)
			}
		}
	}
	return ""
}

// leftOutListener says whether a request is for a listener that is left out, of a namespace that has twice as many as there is room for.
func (v view) leftOutListener(objects []store.Change, request explain.Request) bool {
	return slices.ContainsFunc(objects, func(c store.Change) bool {
		set, ok := c.Object.(*gwv1.ListenerSet)
		return ok && slices.Contains(v.leftOutSets, c.Key) && slices.ContainsFunc(set.Spec.Listeners, func(l gwv1.ListenerEntry) bool {
			domain, wild := strings.CutPrefix(string(*l.Hostname), "*")
			return l.Port == request.Port && (domain == request.Host || wild && strings.HasSuffix(request.Host, domain))
		})
	})
}

// protection is what stands between a request and its backend.
type protection struct {
	rule    string
	host    *ir.VirtualHost
	filters []ir.ListenerFilter
	guard   *ir.RuleGuard
	// inherited says that the guard is from above the route, where others may have one of their own instead.
	inherited bool
	// passes says that the request may get through.
	passes bool
}

func (p protection) String() string {
	if !p.passes {
		return "an error"
	}
	text := fmt.Sprintf("%s with %d filters of its listener", p.rule, len(p.filters))
	if p.guard != nil && p.guard.Policy != nil && p.guard.Policy.Auth != nil {
		text += ", asking " + p.guard.Policy.Auth.Backend.String()
	}
	if p.guard != nil {
		text += fmt.Sprintf(", %d extensions", len(p.guard.Extensions.All()))
	}
	return text
}

func (v view) protection(request explain.Request) protection {
	e := explain.Explain(&v.config, request)
	for id := range v.config.Hosts {
		if id.Domain != e.Host || id.Table.Gateway != e.Gateway || id.Table.Port != request.Port {
			continue
		}
		host := v.config.Hosts[id]
		i := slices.IndexFunc(host.Rules, func(r ir.Rule) bool { return r.Name == e.Rule && !r.Match.Preflight })
		if i < 0 {
			return protection{}
		}
		rule := host.Rules[i]
		p := protection{rule: rule.Name, host: &host, filters: host.Filters, inherited: rule.Guard() == nil}
		rule.Policy = host.PolicyOf(&rule)
		p.guard = rule.Guard()
		p.passes = p.guard == nil || !p.guard.Closed
		return p
	}
	return protection{}
}

func (p protection) guarded() bool { return p.passes && (len(p.filters) > 0 || p.guard != nil) }

// covers says whether nothing is missing that was there before.
func (p protection) covers(before protection) bool {
	if len(before.filters) > 0 && !reflect.DeepEqual(p.filters, before.filters) {
		return false
	}
	switch {
	case before.guard == nil:
		return true
	case p.guard == nil:
		return false
	case before.inherited && !p.inherited:
		return true
	}
	for _, e := range before.guard.Extensions.All() {
		if !slices.ContainsFunc(p.guard.Extensions.All(), func(own ir.Extension) bool { return reflect.DeepEqual(own, e) }) {
			return false
		}
	}
	wanted, own := before.guard.Policy, p.guard.Policy
	if wanted == nil {
		return true
	}
	if own == nil || wanted.Auth != nil && !reflect.DeepEqual(own.Auth, wanted.Auth) {
		return false
	}
	return !slices.ContainsFunc(wanted.Authorization, func(a ir.Authorization) bool {
		return !slices.ContainsFunc(own.Authorization, func(b ir.Authorization) bool { return reflect.DeepEqual(a, b) })
	})
}

// leftOut says whether the route of a request is left out, being more than twice beyond a limit, or nothing of its rules is known, and a
// route of another namespace answers.
func (v view) leftOut(was, is protection) bool {
	kind, name, _ := route.ObjectOf(was.rule)
	_, other, _ := route.ObjectOf(is.rule)
	namespace, _ := store.SplitKey(name)
	if theirs, _ := store.SplitKey(other); theirs == namespace {
		return false
	}
	full := slices.ContainsFunc(is.host.Rules, func(r ir.Rule) bool { return r.Name == "beyond limits" })
	r := v.routes[store.KindKey(kind, name)]
	return full || len(r.Attachments) == 0 ||
		slices.ContainsFunc(r.At(is.host.Table.Gateway).Rules, func(rule route.Rule) bool { return rule.Rest })
}

// kept says whether an earlier version of a route still answers a request that is to be that of another route, or does not keep routes of
// the other kind away yet.
func (v view) kept(request explain.Request, was, is protection) bool {
	own := strings.HasPrefix(was.rule, v.earlier+"/")
	if v.moved && !own && strings.HasPrefix(was.rule, "HTTPRoute/") && strings.HasPrefix(is.rule, "GRPCRoute/") {
		return true
	}
	if v.live == nil || own || !strings.HasPrefix(is.rule, v.earlier+"/") {
		return false
	}
	live := v.live.protection(request)
	return live.rule == is.rule && reflect.DeepEqual(live.guard, is.guard) && reflect.DeepEqual(live.filters, is.filters)
}

// damage is what happens to one set of objects.
type damage struct {
	fuzzobjects.Generator
	objects []store.Change
	what    string
}

// damages are the ways to damage something. Each returns what proxies do before and after.
var damages = map[string]func(*damage) (before, after view){
	"break a route":              func(d *damage) (before, after view) { return d.edit(fuzzobjects.BreakRoute) },
	"break a listener":           func(d *damage) (before, after view) { return d.edit(fuzzobjects.BreakListener) },
	"make unreadable":            func(d *damage) (before, after view) { return d.edit(fuzzobjects.MakeUnreadable) },
	"delete what is referred to": func(d *damage) (before, after view) { return d.edit(fuzzobjects.DeleteReferent) },
	"exceed a limit":             (*damage).exceed,
	"panic":                      (*damage).panic,
	"panic later":                (*damage).panicLater,
	"reject by a proxy":          (*damage).reject,
}

func (d *damage) compute(objects []store.Change, options ...Option) *Pipeline {
	return Offline(objects, append([]Option{WithExtensions(store.ExtensionTypes{ExtProc: true, Lua: true})}, options...)...)
}

// choose returns a random route, and its key.
func (d *damage) choose() (*gwv1.HTTPRoute, string) {
	var routes []store.Change
	for _, c := range d.objects {
		if c.Kind == store.HTTPRoute {
			routes = append(routes, c)
		}
	}
	chosen := routes[d.IntN(len(routes))]
	r, _ := chosen.Object.(*gwv1.HTTPRoute)
	return r, chosen.Key
}

// edit damages an object of the set.
func (d *damage) edit(way fuzzobjects.Damage) (before, after view) {
	damaged, what := d.Damage(d.objects, way)
	d.what = what
	return viewOf(d.compute(d.objects)), viewOf(d.compute(damaged))
}

// exceed makes one of the limits smaller.
func (d *damage) exceed() (before, after view) {
	set := limits.Defaults()
	names := []string{
		limits.NameHostRules, limits.NameHostExpressions, limits.NameRoutes, limits.NameRules, limits.NameNamespaceExpressions,
		limits.NameBackends, limits.NameGatewayHostnames, limits.NameGatewayBackends, limits.NameRepeatedRules, limits.NameListeners,
		limits.NameNamespaceListeners, limits.NameRouteBytes, limits.NameHostBytes, limits.NameNamespaceBytes, limits.NameGatewayBytes,
		limits.NameWildcardBytes,
	}
	name := names[d.IntN(len(names))]
	limit := 1 + d.IntN(8)
	switch {
	case strings.Contains(strings.ToLower(name), "expressions"):
		limit *= 4
	case strings.HasSuffix(name, "Bytes"):
		limit *= 2000
	}
	d.what = fmt.Sprintf("%s is %d", name, limit)
	if err := set.Set(map[string]int{name: limit}); err != nil {
		panic(err)
	}
	return viewOf(d.compute(d.objects)), viewOf(d.compute(d.objects, WithLimits(set)))
}

// panic has a stage panic for one host or route, of which nothing is known from before.
func (d *damage) panic() (before, after view) {
	before = viewOf(d.compute(d.objects))
	stage := []string{stageVirtualHost, stageVirtualHost, stageRoute, stageRouteConflict}[d.IntN(4)]
	_, chosen := d.choose()
	key := store.KindKey(store.HTTPRoute, chosen)
	if stage == stageVirtualHost {
		var hosts []string
		for id := range before.config.Hosts {
			hosts = append(hosts, id.String())
		}
		slices.Sort(hosts)
		key = hosts[d.IntN(len(hosts))]
	}
	d.what = fmt.Sprintf("stage %s of %s", stage, key)
	return before, viewOf(d.compute(d.objects, WithFault(func(at, of string) {
		if at == stage && of == key {
			panic("made to")
		}
	})))
}

// panicLater has the stage of a route panic for a new version.
func (d *damage) panicLater() (before, after view) {
	old, _ := d.choose()
	fresh := d.GuardedRoute(old.Namespace, old.Name)
	fresh.Generation, fresh.CreationTimestamp = old.Generation+1, old.CreationTimestamp
	if d.coin() {
		// Only the filters change.
		spec := old.DeepCopy().Spec
		spec.Rules[0].Filters = append(spec.Rules[0].Filters, fresh.Spec.Rules[0].Filters...)
		fresh.Spec = spec
	}
	change := store.Change{Kind: store.HTTPRoute, Key: store.KeyOf(fresh), Object: fresh}
	d.what = "a new version of HTTPRoute " + change.Key
	before = viewOf(d.compute(append(slices.Clone(d.objects), change)))
	broken := false
	fault := WithFault(func(at, of string) {
		if broken && at == stageRoute && of == store.KindKey(store.HTTPRoute, change.Key) {
			panic("made to")
		}
	})
	p := New(discardAll(), prometheus.NewRegistry(), WithExtensions(store.ExtensionTypes{ExtProc: true, Lua: true}), fault)
	for _, c := range d.objects {
		p.Put(c)
	}
	p.Start()
	live := viewOf(p)
	broken = true
	p.Put(change)
	p.config.step()
	after = viewOf(p)
	after.live, after.earlier, after.moved = &live, store.KindKey(store.HTTPRoute, change.Key), true
	return before, after
}

func (d *damage) coin() bool { return d.IntN(2) == 0 }

// reject has proxies reject a new version of a route, and what is served instead of it, up to four times.
func (d *damage) reject() (before, after view) {
	l := &recorder{live: true, offers: map[string][]byte{}}
	out := discardAll()
	out.Statuses, out.Convergence, out.Peers = l, l, l
	p := New(out, prometheus.NewRegistry(), WithExtensions(store.ExtensionTypes{ExtProc: true, Lua: true}))
	for _, c := range d.objects {
		p.Put(c)
	}
	p.Start()
	live := viewOf(p)
	old, _ := d.choose()
	fresh := d.GuardedRoute(old.Namespace, old.Name)
	fresh.Generation, fresh.CreationTimestamp = old.Generation+1, old.CreationTimestamp
	if d.IntN(3) == 0 {
		// Only the rules change.
		fresh.Spec.Hostnames = old.Spec.Hostnames
		fresh.Spec.Rules = append(fresh.Spec.Rules, old.Spec.Rules...)
	}
	key := store.KindKey(store.HTTPRoute, store.KeyOf(fresh))
	p.Put(store.Change{Kind: store.HTTPRoute, Key: store.KeyOf(fresh), Object: fresh})
	p.config.step()
	before = viewOf(p)
	l.live = false
	times := 1 + d.IntN(4)
	for range times {
		rejectRoute(p, key)
		p.config.step()
	}
	d.what = fmt.Sprintf("%s, %d times", key, times)
	after = viewOf(p)
	after.live, after.earlier = &live, key
	return before, after
}

// rejectRoute has a proxy reject the rules of a route wherever they are.
func rejectRoute(p *Pipeline, key string) {
	for _, id := range p.graph.hosts.Keys(nil) {
		host, _ := p.graph.hosts.Get(nil, id)
		nack := xds.NACK{Type: xds.VirtualHost, Table: id.Table.String(), Name: id.Domain, Reason: "no such thing"}
		for _, rule := range host.Rules {
			if strings.HasPrefix(rule.Name, key+"/") {
				nack.Routes = append(nack.Routes, rule.Name)
			}
		}
		if current, _ := p.graph.virtualHosts.Get(nil, id); len(nack.Routes) > 0 {
			nack.Version = version(current.resource)
			p.NACKed(xds.Identity{Group: ownGroup(id.Table.Gateway)}, nack)
		}
	}
}
