package pipeline

import (
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
}

// addApartStage stands behind virtual hosts. Most hosts have no row: it is for those that some proxies reject and others serve.
func (g *graph) addApartStage() {
	same := func(a, b apartHost) bool {
		return a.rejected == b.rejected && version(a.resource) == version(b.resource)
	}
	g.apart = memo.DeriveOf(g.memo, stageApart, quarantine.ParseGroupHost, typed[quarantine.GroupHost](g.substitutes.Apart), same,
		func(v *store.View, at quarantine.GroupHost) apartHost {
			closed := g.closedApart(v, at)
			if closed.resource == nil {
				return closed
			}
			substitute, _ := g.substitutes.Apart.Get(v, at)
			if other := g.insteadOf(v, at.Host, substitute); other != nil && version(other) != closed.rejected {
				return apartHost{closed.rejected, other}
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
		return apartHost{rejected, closedTranslation(at.Host).resource}
	}
	return apartHost{}
}

// insteadOf is a host with the substitutes of its routes, or with its rules as a list, nil if there is neither.
func (g *graph) insteadOf(v *store.View, id ir.HostID, substitute quarantine.ApartSubstitute) *xds.Resource {
	in := g.hostInputs
	in.Instead = substitute.Routes(id.Table.Gateway, func(key string) route.Resolved {
		r, _ := g.routes.Get(v, key)
		return r
	}, func(key string) quarantine.RouteSubstitutes {
		substitutes, _ := g.substitutes.Routes.Get(v, key)
		return substitutes
	})
	if len(in.Instead) == 0 && !substitute.Flat() {
		return nil
	}
	host := in.VirtualHost(v, id)
	flat, _ := g.substitutes.FlatHosts.Get(v, id)
	host.Flat = flat || substitute.Flat()
	return g.hostTranslation(v, host).resource
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
		if instead.resource == nil {
			// The xDS server forgets it with the host, or with that version of it.
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
