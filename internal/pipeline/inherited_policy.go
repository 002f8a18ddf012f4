package pipeline

import (
	"math/bits"
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/resolve/policy"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/resolve/security"
	"github.com/gatewright/gatewright/internal/resolve/traffic"
	"github.com/gatewright/gatewright/internal/store"
	routetranslate "github.com/gatewright/gatewright/internal/translate/route"
)

const (
	stageClassPolicies    = "class policies"
	stageGatewayPolicies  = "gateway policies"
	stageListenerPolicies = "listener policies"
	stageRoutePolicies    = "route policies"
	stageBackendPolicies  = "backend policies"
	stageVariant          = "destination variant"
	stageRejectedRules    = "rejected rules"
)

// addInheritedKinds lists the kinds of policies whose settings listeners, routes, rules and backends inherit. A new kind is one line here.
func (g *graph) addInheritedKinds() {
	addInherited(g, &traffic.Kind, g.objects.BackendTrafficPolicies)
	addInherited(g, &security.Kind, g.objects.SecurityPolicies)
}

// inherited has the policies whose settings are inherited, in layers.
type inherited struct {
	kinds []inheritedKind
	// gateways has the layer of a Gateway and its class, of which the settings of destinations count, and listeners that of a listener and
	// all above it. classes has that of a class alone. routes and backends are by [inherit.TargetKey].
	classes   *store.Table[*inherit.Layer]
	gateways  *store.Table[*inherit.Layer]
	listeners *store.TableOf[ir.ListenerID, *inherit.Layer]
	routes    *store.Table[inherit.Sectioned]
	backends  *store.Table[inherit.Sectioned]
	// variants has the settings of destinations that differ by route or listener, by their digest, and byVariant finds the routes.
	variants  *store.Table[*ir.DestinationLayer]
	byVariant *store.Index[route.Resolved]
	// targets finds the Gateways of targets.
	targets inherit.Gateways
	// rules counts the rules of each listener, and rejected has those that policies of the listener reject.
	rules    *store.Sums[route.Resolved]
	rejected *store.TableOf[ir.ListenerID, []route.Rejected]
}

// inheritedKind is one kind of such policies.
type inheritedKind struct {
	layer    func(v *store.View, chain []attach.Target) *inherit.Layer
	sections func(v *store.View, object attach.Target) []string
	// byRoute and byBackend are the routes and backends that policies of the kind target.
	byRoute, byBackend store.Source
	addStatus          func(policy.Inherited)
}

// addInherited adds the stage that resolves the policies of a kind.
func addInherited[S, O any](g *graph, kind *inherit.Kind[S], objects *store.Table[O]) {
	var settings []memo.Setting[attach.Policy[S]]
	if kind.Broken != nil {
		settings = append(settings, memo.OnPanic(func(v *store.View, key string, last attach.Policy[S], _ string) attach.Policy[S] {
			return kind.Broken(v, g.objects, key, last)
		}))
	}
	table := memo.Derive(g.memo, kind.Name, from(objects), deepEqual[attach.Policy[S]],
		func(v *store.View, key string) attach.Policy[S] { return kind.Resolve(v, g.objects, key) }, settings...)
	targeted := func(wanted func(attach.Target) bool) func(string, attach.Policy[S]) []string {
		return func(key string, p attach.Policy[S]) []string {
			p.Targets = slices.DeleteFunc(slices.Clone(p.Targets), func(t attach.Target) bool { return !wanted(t) })
			return inherit.TargetKeys(key, p)
		}
	}
	policies := inherit.Policies[S]{
		Kind: kind, Objects: g.objects, Table: table, ByTarget: store.NewIndex(table, kind.Name+".byTarget", inherit.TargetKeys[S]),
	}
	g.inherited.kinds = append(g.inherited.kinds, inheritedKind{
		layer: policies.Layer, sections: policies.Sections,
		byRoute: store.NewIndex(table, kind.Name+".byRoute",
			targeted(func(t attach.Target) bool { return t.Object().Level() == attach.LevelRoute })),
		byBackend: store.NewIndex(table, kind.Name+".byBackend",
			targeted(func(t attach.Target) bool { return t.Object().Level() == attach.LevelBackend })),
		addStatus: func(in policy.Inherited) {
			stage := kind.Name + " status"
			outcomes := memo.Derive(g.memo, stage, from(objects), deepEqual[outcome.Policy],
				func(v *store.View, key string) outcome.Policy { return policy.InheritedStatus(v, in, policies, key) })
			g.addPolicies(store.Kind(kind.Name), outcomes, kind.Name, stage)
		},
	})
}

// layer is what policies of all kinds say at some levels.
func (i *inherited) layer(v *store.View, chain []attach.Target) *inherit.Layer {
	layers := make([]*inherit.Layer, 0, len(i.kinds))
	for _, kind := range i.kinds {
		layers = append(layers, kind.layer(v, chain))
	}
	return inherit.Combine(layers...)
}

// sectioned is what policies say of an object and its sections, the object named by [inherit.TargetKey].
func (i *inherited) sectioned(v *store.View, object attach.Target) inherit.Sectioned {
	layers := inherit.Sectioned{"": i.layer(v, []attach.Target{object})}
	for _, kind := range i.kinds {
		for _, name := range kind.sections(v, object) {
			section := object
			section.Section = name
			layers[name] = i.layer(v, []attach.Target{object, section})
		}
	}
	return layers
}

// closedLayer keeps what was known, and lets no request pass where nothing was.
func closedLayer(last *inherit.Layer) *inherit.Layer {
	if last != nil {
		return last
	}
	return &inherit.Layer{Request: &ir.RequestPolicy{FailClosed: true}}
}

// addLayerStages adds the stages that merge the policies on Gateways and listeners, on routes, and on backends, each apart.
func (g *graph) addLayerStages() {
	i := &g.inherited
	closed := memo.OnPanic(func(_ *store.View, _ string, last *inherit.Layer, _ string) *inherit.Layer { return closedLayer(last) })
	closedSections := memo.OnPanic(func(_ *store.View, _ string, last inherit.Sectioned, _ string) inherit.Sectioned {
		if last != nil {
			return last
		}
		return inherit.Sectioned{"": closedLayer(nil)}
	})
	i.gateways = memo.Derive(g.memo, stageGatewayPolicies, from(g.gateways), deepEqual[*inherit.Layer],
		func(v *store.View, key string) *inherit.Layer {
			r, _ := g.gateways.Get(v, key)
			if !r.Ours {
				return nil
			}
			return i.layer(v, inherit.GatewayChain(r))
		}, closed)
	byClass := store.NewIndex(g.gateways, "gateway.byClass", classOf)
	i.classes = memo.Derive(g.memo, stageClassPolicies, from(byClass), deepEqual[*inherit.Layer],
		func(v *store.View, class string) *inherit.Layer { return i.layer(v, inherit.ClassChain(class)) }, closed)
	byListener := store.NewIndexOf(g.gateways, "gateway.byListener", listenersOf)
	i.listeners = memo.DeriveOf(g.memo, stageListenerPolicies, ir.ParseListenerID, typed[ir.ListenerID](byListener), deepEqual[*inherit.Layer],
		func(v *store.View, id ir.ListenerID) *inherit.Layer {
			r, _ := g.gateways.Get(v, id.Gateway)
			for _, l := range r.Listeners {
				if l.ID == id.Listener {
					return i.layer(v, inherit.ListenerChain(r, l)).AtListener(g.sharedClass(v, id.Gateway) != "")
				}
			}
			return nil
		}, closed)
	i.targets = inherit.Gateways{
		Objects: g.objects, Table: g.gateways, ByClass: byClass,
	}
	var byRoute, byBackend []store.Source
	for _, kind := range i.kinds {
		byRoute, byBackend = append(byRoute, kind.byRoute), append(byBackend, kind.byBackend)
	}
	i.routes = memo.Derive(g.memo, stageRoutePolicies, byRoute, deepEqual[inherit.Sectioned],
		func(v *store.View, key string) inherit.Sectioned {
			target, _ := inherit.RouteTarget(key, "")
			return i.sectioned(v, target)
		}, closedSections)
	i.backends = memo.Derive(g.memo, stageBackendPolicies, byBackend, deepEqual[inherit.Sectioned],
		func(v *store.View, key string) inherit.Sectioned { return i.sectioned(v, backendOf(key)) }, closedSections)
}

// sharedClass is the class whose Gateways share proxies with this one, and with them clusters. It is empty for none.
func (g *graph) sharedClass(v *store.View, gateway string) string {
	tenant, _ := g.shared.tenants.Get(v, gateway)
	return tenant.Class
}

// clusterLayer has the settings of destinations that all clusters of the proxies of a Gateway have.
func (g *graph) clusterLayer(v *store.View, gateway string) *inherit.Layer {
	layer, _ := g.inherited.gateways.Get(v, gateway)
	if layer == nil || layer.Destination == nil {
		return layer
	}
	if class := g.sharedClass(v, gateway); class != "" {
		layer, _ = g.inherited.classes.Get(v, class)
	}
	return layer
}

// classOf is the class of a Gateway of ours.
func classOf(_ string, r gateway.Resolved) []string {
	if !r.Ours {
		return nil
	}
	return []string{r.Gateway.Fleet.Class}
}

// listenersOf are the listeners of a Gateway of ours.
func listenersOf(key string, r gateway.Resolved) []ir.ListenerID {
	if !r.Ours {
		return nil
	}
	ids := make([]ir.ListenerID, 0, len(r.Listeners))
	for _, l := range r.Listeners {
		ids = append(ids, ir.ListenerID{Gateway: key, Listener: l.ID})
	}
	return ids
}

// backendOf is the inverse of [inherit.TargetKey] for a backend.
func backendOf(key string) attach.Target {
	kind, name := store.SplitKindKey(key)
	target := ir.BackendTarget{Object: ir.ParseName(name)}
	switch kind {
	case store.XBackend:
		target.Kind = ir.KindXBackend
	case store.InferencePool:
		target.Kind = ir.KindInferencePool
	case store.ServiceImport:
		target.Kind = ir.KindServiceImport
	default:
	}
	return inherit.BackendTarget(target, "")
}

// withListenerSettings tells routes what policies on listeners say of connections to backends, and about how much the rest takes.
func (g *graph) withListenerSettings(v *store.View, parent gateway.Parent) gateway.Parent {
	filters := map[string]int{}
	resolved, _ := g.gateways.Get(v, parent.Gateway)
	for i := range resolved.Listeners {
		if l := &resolved.Listeners[i]; len(l.Filters) > 0 {
			filters[l.ID] = about(routetranslate.FilterSize(l.Filters))
		}
	}
	sizes := map[*ir.RequestPolicy]int{nil: 0}
	for i := range parent.Listeners {
		l := &parent.Listeners[i]
		l.FilterBytes = filters[l.ID]
		if layer, _ := g.inherited.listeners.Get(v, ir.ListenerID{Gateway: parent.Gateway, Listener: l.ID}); layer != nil {
			l.Destination = layer.Destination
			if _, known := sizes[layer.Request]; !known {
				sizes[layer.Request] = about(routetranslate.PolicySize(layer.Request))
			}
			l.PolicyBytes = sizes[layer.Request]
		}
	}
	return parent
}

// leastAbout is the least size that counts.
const leastAbout = 1 << 10

// about is the next power of two: what depends on it need not change with each edit.
func about(bytes int) int {
	if bytes == 0 {
		return 0
	}
	return 1 << bits.Len(uint(max(bytes, leastAbout)-1))
}

// addVariantStages adds the stages for what depends on policies and routes.
func (g *graph) addVariantStages(byListener *store.IndexOf[ir.ListenerID, route.Resolved]) {
	i := &g.inherited
	i.byVariant = store.NewIndex(g.routes, "route.byVariant", func(_ string, r route.Resolved) []string {
		var digests []string
		for digest := range r.DestinationLayers() {
			digests = append(digests, digest)
		}
		slices.Sort(digests)
		return digests
	})
	i.variants = memo.Derive(g.memo, stageVariant, from(i.byVariant), deepEqual[*ir.DestinationLayer],
		func(v *store.View, digest string) *ir.DestinationLayer {
			for _, key := range i.byVariant.Keys(v, digest) {
				r, _ := g.routes.Get(v, key)
				if layer := r.DestinationLayers()[digest]; layer != nil {
					return layer.Plain()
				}
			}
			return nil
		})
	i.rules = store.NewSums(g.routes, "route.rulesByListener",
		func(_ string, r route.Resolved) map[string]int { return r.RulesByListener() })
	i.rejected = memo.DeriveOf(g.memo, stageRejectedRules, ir.ParseListenerID, typed[ir.ListenerID](i.listeners), deepEqual[[]route.Rejected],
		func(v *store.View, id ir.ListenerID) []route.Rejected {
			layer, _ := i.listeners.Get(v, id)
			if !layer.Locks() {
				return nil
			}
			var rejected []route.Rejected
			for _, key := range byListener.Keys(v, id) {
				r, _ := g.routes.Get(v, key)
				rejected = append(rejected, r.Rejections(layer)...)
			}
			return rejected
		})
}

// addInheritedStatusStages adds the stages that say what became of policies.
func (g *graph) addInheritedStatusStages() {
	i := &g.inherited
	in := policy.Inherited{
		Objects: g.objects, Gateways: i.targets, GatewayLayers: i.gateways, Listeners: i.listeners,
		RouteLayers: i.routes, BackendLayers: i.backends, Routes: g.routes, Rules: i.rules, Rejected: i.rejected,
		ClosedBy: g.closedBy, Users: g.usersOf,
	}
	for _, kind := range i.kinds {
		kind.addStatus(in)
	}
}

// destination are the settings of policies for connections of a Gateway to a backend; layer is that of the Gateway.
func (g *graph) destination(v *store.View, layer *inherit.Layer, backend ir.Backend) *ir.DestinationSettings {
	var above *ir.DestinationLayer
	if layer != nil {
		above = layer.Destination
	}
	listener, rule := backend.VariantDigests()
	return inherit.Destination(above, g.variant(v, listener), g.ownDestination(v, backend), g.variant(v, rule))
}

func (g *graph) variant(v *store.View, digest string) *ir.DestinationLayer {
	if digest == "" {
		return nil
	}
	layer, _ := g.inherited.variants.Get(v, digest)
	return layer
}

// ownDestination are the settings of policies on the backend itself, or its port.
func (g *graph) ownDestination(v *store.View, backend ir.Backend) *ir.DestinationLayer {
	layers, ok := g.inherited.backends.Get(v, inherit.TargetKey(inherit.BackendTarget(backend.Target(), "")))
	if !ok {
		return nil
	}
	port := ""
	if service, ok := g.objects.ServiceOf(v, backend.Target()); ok {
		for _, p := range service.Spec.Ports {
			if p.Port == backend.Port {
				port = p.Name
			}
		}
	}
	if layer := layers.Of(port); layer != nil {
		return layer.Destination
	}
	return nil
}

// destinationOrigins are the policies that a cluster of a Gateway has settings from.
func (g *graph) destinationOrigins(user ir.GatewayBackend) []ir.ObjectRef {
	layer, _ := g.inherited.gateways.Get(nil, user.Gateway)
	var origins []ir.ObjectRef
	if layer != nil {
		origins = append(origins, layer.Destination.Objects()...)
	}
	origins = append(origins, g.ownDestination(nil, user.Backend).Objects()...)
	listener, rule := user.Backend.VariantDigests()
	for _, digest := range []string{listener, rule} {
		for _, key := range g.inherited.byVariant.Keys(nil, digest) {
			r, _ := g.routes.Get(nil, key)
			origins = append(origins, r.DestinationLayers()[digest].Objects()...)
		}
	}
	return origins
}
