package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/store"
)

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
	"break what is referred to":  func(d *damage) (before, after view) { return d.edit(fuzzobjects.BreakReferent) },
	"exceed a limit":             (*damage).exceed,
	"panic":                      (*damage).panic,
	"panic anywhere":             (*damage).panicAnywhere,
	"panic later":                (*damage).panicLater,
	"reject a route":             func(d *damage) (before, after view) { return d.rejectRoute(false) },
	"reject a route apart":       func(d *damage) (before, after view) { return d.rejectRoute(true) },
	"reject filters":             func(d *damage) (before, after view) { return d.rejectFilters(false) },
	"reject filters apart":       func(d *damage) (before, after view) { return d.rejectFilters(true) },
}

// guardOptions have everything served that guards.
func guardOptions() []Option {
	return []Option{WithExtensions(store.ExtensionTypes{ExtProc: true, Lua: true}), WithGlobalRateLimits(true)}
}

func (d *damage) compute(objects []store.Change, options ...Option) *Pipeline {
	return Offline(objects, append(guardOptions(), options...)...)
}

// choose returns a random route, and its key, among those that suit, if there are any.
func (d *damage) choose(suits func(key string) bool) (*gwv1.HTTPRoute, string) {
	var routes, suitable []store.Change
	for _, c := range d.objects {
		if c.Kind == store.HTTPRoute {
			routes = append(routes, c)
			if suits(c.Key) {
				suitable = append(suitable, c)
			}
		}
	}
	if len(suitable) > 0 {
		routes = suitable
	}
	chosen := routes[d.IntN(len(routes))]
	r, _ := chosen.Object.(*gwv1.HTTPRoute)
	return r, chosen.Key
}

func anyRoute(string) bool { return true }

// readsSecrets says whether a policy on the route of that key asks for passwords or API keys.
func (d *damage) readsSecrets(key string) bool {
	return slices.ContainsFunc(d.objects, func(c store.Change) bool {
		p, ok := c.Object.(*v1alpha1.SecurityPolicy)
		if !ok || p.Spec.BasicAuth == nil && p.Spec.APIKeyAuth == nil {
			return false
		}
		target := p.Spec.TargetRefs[0]
		return target.Kind == gwv1.Kind(store.HTTPRoute) && store.Key(p.Namespace, string(target.Name)) == key
	})
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
		limits.NameWildcardBytes, limits.NameListenerBytes, limits.NameRateLimits,
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
	_, chosen := d.choose(anyRoute)
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
	return before, viewOf(d.compute(d.objects, panicAt(stage, key)))
}

// panicAnywhere has any stage panic for one of its keys, of which nothing is known from before.
func (d *damage) panicAnywhere() (before, after view) {
	keys := map[string][]string{}
	before = viewOf(d.compute(d.objects, WithFault(func(at, of string) {
		if !slices.Contains(keys[at], of) {
			keys[at] = append(keys[at], of)
		}
	})))
	stages := slices.Sorted(maps.Keys(keys))
	stage := stages[d.IntN(len(stages))]
	slices.Sort(keys[stage])
	key := keys[stage][d.IntN(len(keys[stage]))]
	d.what = fmt.Sprintf("stage %s of %s", stage, key)
	return before, viewOf(d.compute(d.objects, panicAt(stage, key)))
}

// panicAt has a stage panic for a key.
func panicAt(stage, key string) Option {
	return WithFault(func(at, of string) {
		if at == stage && of == key {
			panic("made to")
		}
	})
}

// panicLater has the stage of a route panic for a new version.
func (d *damage) panicLater() (before, after view) {
	changes := d.newVersion()
	change := changes[len(changes)-1]
	before = viewOf(d.compute(append(slices.Clone(d.objects), changes...)))
	broken := false
	fault := WithFault(func(at, of string) {
		if broken && at == stageRoute && of == store.KindKey(store.HTTPRoute, change.Key) {
			panic("made to")
		}
	})
	p := New(discardAll(), prometheus.NewRegistry(), append(guardOptions(), fault)...)
	for _, c := range d.objects {
		p.Put(c)
	}
	p.Start()
	broken = true
	for _, c := range changes {
		p.Put(c)
	}
	p.config.step()
	after = viewOf(p)
	live := viewOf(d.compute(append(slices.Clone(d.objects), changes[:len(changes)-1]...)))
	after.live, after.earlier, after.moved = &live, store.KindKey(store.HTTPRoute, change.Key), true
	return before, after
}

// newVersion changes a route, in the end, and perhaps passwords and API keys before it.
func (d *damage) newVersion() []store.Change {
	var changes []store.Change
	suits := anyRoute
	if d.IntN(2) == 0 {
		changes, suits = d.Revoke(d.objects), d.readsSecrets
	}
	old, key := d.choose(suits)
	fresh := d.GuardedRoute(old.Namespace, old.Name)
	fresh.Generation, fresh.CreationTimestamp = old.Generation+1, old.CreationTimestamp
	d.what = "a new version of HTTPRoute " + key
	switch spec := old.DeepCopy().Spec; d.IntN(4) {
	case 0:
		d.what += " with other rules too"
		fresh.Spec.Hostnames, fresh.Spec.Rules = spec.Hostnames, append(fresh.Spec.Rules, spec.Rules...)
	case 1:
		d.what += " with other filters"
		spec.Rules[0].Filters = append(spec.Rules[0].Filters, fresh.Spec.Rules[0].Filters...)
		fresh.Spec = spec
	case 2:
		d.what += " that is the same"
		fresh.Spec = spec
	}
	if len(changes) > 0 {
		d.what += ", beside other passwords"
	}
	return append(changes, store.Change{Kind: store.HTTPRoute, Key: key, Object: fresh})
}
