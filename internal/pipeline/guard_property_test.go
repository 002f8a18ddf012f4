package pipeline

import (
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/explain"
	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
)

var (
	guardSets = flag.Int("guards", 300, "how many sets of objects are damaged to see whether a request loses its guard")
	guardSeed = flag.Uint64("guards-seed", 29, "the seed of these sets")
	guardStop = flag.Bool("guards-stop", false, "end with the first set in which a request loses its guard")
)

// TestNoRequestLosesItsGuard damages sets of objects in one place each. A request that a rule or listener with a guard answered before is
// answered with that guard after it, or with an error; see [ir.RuleGuard].
func TestNoRequestLosesItsGuard(t *testing.T) {
	t.Parallel()
	kinds := slices.Sorted(maps.Keys(damages))
	asked := tally{guarded: map[string]int{}, closed: map[string]int{}, settings: map[string]int{}}
	for n := range *guardSets {
		if t.Failed() && *guardStop {
			return
		}
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
			asked.count(kind, was, is)
			if is.passes && !is.covers(was) && !after.excepted(&d, before, request, was, is) {
				t.Errorf("set %d of seed %d, %s: %s: %s:%d%s %v was answered by %s, and is answered by %s",
					n, *guardSeed, kind, d.what, request.Host, request.Port, request.Path, request.Headers, was, is)
			}
		}
	}
	if *guardSets >= 100 {
		asked.check(t, kinds)
	}
	t.Logf("requests with a guard: %v; answered with errors afterwards: %v; guards of rules: %v", asked.guarded, asked.closed, asked.settings)
}

// tally counts requests that were guarded and are answered with errors, by the kind of damage, and what guarded them.
type tally struct{ guarded, closed, settings map[string]int }

func (c tally) count(kind string, was, is protection) {
	c.guarded[kind]++
	for _, name := range was.settings() {
		c.settings[name]++
	}
	if !is.passes {
		c.closed[kind]++
	}
}

// check sees that the sets show something.
func (c tally) check(t *testing.T, kinds []string) {
	t.Helper()
	for _, kind := range kinds {
		if c.guarded[kind] == 0 || c.closed[kind] == 0 {
			t.Errorf("%s: %d requests were guarded, and %d are answered with errors; there are too few", kind, c.guarded[kind], c.closed[kind])
		}
	}
	for _, name := range []string{
		extensions, "extAuth", "jwt", "basicAuth", "apiKeyAuth", "any authentication", "authorization", "csrf",
		"rateLimit.local", "rateLimit.global", certificates,
	} {
		if c.settings[name] == 0 {
			t.Errorf("no request was guarded by %s", name)
		}
	}
}

func guardRequests() []explain.Request {
	var all []explain.Request
	for _, host := range fuzzobjects.AskedHosts {
		for _, path := range fuzzobjects.AskedPaths {
			for _, headers := range fuzzobjects.AskedHeaders {
				plain := explain.Request{Method: "GET", Port: 80, Host: host, Path: path, Headers: headers}
				secure := plain
				secure.Port, secure.TLS, secure.ServerName, secure.HTTP2, secure.Certificate = 443, true, host, true, true
				all = append(all, plain, secure)
			}
		}
	}
	return all
}

// view is what proxies do at one time.
type view struct {
	config explain.Config
	routes map[string]route.Resolved
	// listeners are those of the Gateway, by their IDs.
	listeners map[string]gateway.Listener
	// leftOutSets are the ListenerSets that there is no room for even if they only keep their hostnames.
	leftOutSets []string
	// moved says that the earlier version is where it was, and not where the route is today.
	moved bool
	// live is what proxies would do with the version of the route of that key from before one that failed; nil for none.
	live    *view
	earlier string
}

func viewOf(p *Pipeline) view {
	v := view{config: p.Explainable(), routes: map[string]route.Resolved{}, listeners: map[string]gateway.Listener{}}
	v.config.Endpoints = nil
	for _, key := range p.graph.routes.Keys(nil) {
		v.routes[key], _ = p.graph.routes.Get(nil, key)
	}
	for _, key := range p.graph.gateways.Keys(nil) {
		gw, _ := p.graph.gateways.Get(nil, key)
		for _, l := range gw.Listeners {
			v.listeners[l.ID] = l
		}
		for _, set := range gw.Sets {
			if strings.Contains(set.Accepted.Message, "is left out") {
				v.leftOutSets = append(v.leftOutSets, set.Key)
			}
		}
	}
	return v
}

// grown says which route is where it was not before. What fails never takes requests from others, but for a hostname that was handed on.
func (v view) grown(before view) string {
	for _, key := range slices.Sorted(maps.Keys(v.routes)) {
		r, was := v.routes[key], before.routes[key]
		domains := was.Domains()
		for _, domain := range r.Domains() {
			if !slices.Contains(domains, domain) && !v.handedOn(before, v.listeners[domain.Listener.Listener]) {
				return fmt.Sprintf("%s is served for %s, and was not before", key, domain)
			}
		}
	}
	return ""
}

// handedOn says whether a listener has the port and hostname of another one whose protocol has changed to one that the port does not have,
// or that is not known. Such a listener keeps a hostname only if no other listener of the port has it, which is no wider.
func (v view) handedOn(before view, l gateway.Listener) bool {
	for id, had := range before.listeners {
		lost := v.listeners[id]
		same := had.Port == l.Port && had.Hostname == l.Hostname && id != l.ID
		if same && had.Attachable && !lost.Attachable && lost.Protocol != had.Protocol {
			return l.Attachable && !before.listeners[l.ID].Attachable
		}
	}
	return false
}

// listenerOf is the listener with the most specific hostname for a request.
func (v view) listenerOf(request explain.Request) gateway.Listener {
	var found gateway.Listener
	best := -1
	for _, l := range v.listeners {
		domain, wild := strings.CutPrefix(l.Hostname, "*")
		specific := len(domain)
		switch {
		case l.Port != request.Port || !l.Attachable:
			continue
		case domain == request.Host:
			specific += len(request.Host)
		case domain != "" && (!wild || !strings.HasSuffix(request.Host, domain)):
			continue
		}
		if specific > best {
			found, best = l, specific
		}
	}
	return found
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

// excepted says whether a guard may be lost, as docs/threat-model.md says.
func (v view) excepted(d *damage, before view, request explain.Request, was, is protection) bool {
	return v.leftOut(was, is) || v.leftOutListener(d.objects, request) || v.kept(request, was, is) || v.handedOn(before, v.listenerOf(request))
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
// the other kind away yet, or still does, so that what answers is what did before.
func (v view) kept(request explain.Request, was, is protection) bool {
	own := strings.HasPrefix(was.rule, v.earlier+"/")
	if v.moved && !own && strings.HasPrefix(was.rule, "HTTPRoute/") && strings.HasPrefix(is.rule, "GRPCRoute/") {
		return true
	}
	keepsAway := strings.HasPrefix(was.rule, "GRPCRoute/") && strings.HasPrefix(is.rule, "HTTPRoute/")
	if v.live == nil || own || !keepsAway && !strings.HasPrefix(is.rule, v.earlier+"/") {
		return false
	}
	live := v.live.protection(request)
	return live.rule == is.rule && reflect.DeepEqual(live.guard, is.guard) && reflect.DeepEqual(live.filters, is.filters)
}
