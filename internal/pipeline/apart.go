package pipeline

import (
	"slices"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/quarantine"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

const stageApart = "translate host apart"

// apartHost is what the proxies of a group get instead of a version of a virtual host that they reject. It has none if that is not what
// others serve.
type apartHost struct {
	rejected string
	resource *xds.Resource
	// beside are the routes that answer errors there because of others.
	beside []quarantine.Beside
}

// addApartStage stands behind virtual hosts. Most hosts have no row: it is for those that some proxies reject and others serve.
func (g *graph) addApartStage() {
	same := func(a, b apartHost) bool {
		return a.rejected == b.rejected && version(a.resource) == version(b.resource) && slices.Equal(a.beside, b.beside)
	}
	g.apart = memo.DeriveOf(g.memo, stageApart, quarantine.ParseGroupHost, typed[quarantine.GroupHost](g.substitutes.Apart), same,
		func(v *store.View, at quarantine.GroupHost) apartHost {
			closed := g.closedApart(v, at)
			if closed.resource == nil {
				return closed
			}
			substitute, _ := g.substitutes.Apart.Get(v, at)
			host, replaced := g.insteadOf(v, at.Host, substitute)
			if !replaced {
				return closed
			}
			if other := g.hostTranslation(v, host).resource; other != nil {
				return apartHost{closed.rejected, other, g.besideOf(v, at.Host, host)}
			}
			return closed
		},
		memo.OnPanic(func(v *store.View, key string, _ apartHost, _ string) apartHost {
			return g.closedApart(v, quarantine.ParseGroupHost(key))
		}))
}

// closedApart is a host that answers errors, for proxies that reject the host which others serve.
func (g *graph) closedApart(v *store.View, at quarantine.GroupHost) apartHost {
	substitute, _ := g.substitutes.Apart.Get(v, at)
	t, _ := g.virtualHosts.Get(v, at.Host)
	if rejected := version(t.resource); substitute.Replaces(rejected) && g.serves(v, at.Group, at.Host.Table.Gateway) {
		return apartHost{rejected: rejected, resource: closedTranslation(at.Host).resource}
	}
	return apartHost{}
}

// insteadOf is a host with the substitutes of its routes, or with its rules as a list. It returns false if there is neither.
func (g *graph) insteadOf(v *store.View, id ir.HostID, substitute quarantine.ApartSubstitute) (ir.VirtualHost, bool) {
	in := g.hostInputs
	in.Instead = g.routesApart(v, id.Table.Gateway, substitute)
	if len(in.Instead) == 0 && !substitute.Flat() {
		return ir.VirtualHost{}, false
	}
	host := in.VirtualHost(v, id)
	flat, _ := g.substitutes.FlatHosts.Get(v, id)
	host.Flat = flat || substitute.Flat()
	return host, true
}

// routesApart are what the proxies of a Gateway that reject routes get instead of them.
func (g *graph) routesApart(v *store.View, gateway string, substitute quarantine.ApartSubstitute) map[string]route.Resolved {
	return substitute.Routes(gateway, func(key string) route.Resolved {
		r, _ := g.routes.Get(v, key)
		return r
	}, func(key string) quarantine.RouteSubstitutes {
		substitutes, _ := g.substitutes.Routes.Get(v, key)
		return substitutes
	})
}

// besideOf are the routes that answer errors in a host which some proxies get, because of the substitutes of others.
func (g *graph) besideOf(v *store.View, id ir.HostID, host ir.VirtualHost) []quarantine.Beside {
	var found []quarantine.Beside
	others, _ := g.hosts.Get(v, id)
	for _, key := range host.ClosedBeside {
		if !slices.Contains(others.ClosedBeside, key) {
			found = append(found, quarantine.Beside{Route: key})
		}
	}
	if len(host.Shadowed) == 0 {
		return found
	}
	before, fails := map[string]bool{}, map[string]bool{}
	for _, s := range others.Shadowed {
		before[s.Rule] = true
	}
	for i := range host.Rules {
		fails[host.Rules[i].Name] = host.Rules[i].Fail != nil
	}
	for _, s := range host.Shadowed {
		if before[s.Rule] || !fails[s.By] {
			continue
		}
		own, by := routeKeyOf(s.Rule), routeKeyOf(s.By)
		if beside := (quarantine.Beside{Route: own, Because: by}); own != by && !slices.Contains(found, beside) {
			found = append(found, beside)
		}
	}
	return found
}

// routeKeyOf is the route of a rule, as `<kind>/<namespace>/<name>`.
func routeKeyOf(rule string) string {
	kind, name, _ := route.ObjectOf(rule)
	return string(kind) + "/" + name
}

// serves says whether the proxies of a group serve a Gateway. Its own proxies always do: old ones may still be connected.
func (g *graph) serves(v *store.View, group xds.GroupID, gateway string) bool {
	tenant, _ := g.shared.tenants.Get(v, gateway)
	return group == ownGroup(gateway) || tenant.Class != "" && group == xds.GroupID(ir.SharedFleet(tenant.Class))
}

// apartChanges returns what proxies get that reject hosts which others serve, as far as it has changed.
func (g *graph) apartChanges() []xds.Change {
	var changes []xds.Change
	for _, at := range g.apart.TakeChanged() {
		instead, _ := g.apart.Get(nil, at)
		if instead.resource == nil || version(instead.resource) == instead.rejected {
			// The xDS server forgets it with the host, or with that version of it. What is the same as the host is replaced in the next step.
			continue
		}
		t, _ := g.virtualHosts.Get(nil, at.Host)
		changes = append(changes, xds.Change{
			Group: at.Group, Type: xds.VirtualHost, Table: at.Host.Table.String(), Name: at.Host.Domain,
			Resource: t.resource, Instead: instead.resource,
		})
	}
	return changes
}
