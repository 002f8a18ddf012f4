package pipeline

import (
	"cmp"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/store"
)

const (
	stageChainBytes     = "chain bytes"
	stageListenerBudget = "listener budget"
	stageChainPlace     = "chain place"
)

// listenerRoom divides the bytes that the chains of a Gateway may take among the namespaces that have some. All those of a port are one
// resource, so that what one tenant has in it can keep the changes of others from proxies.
type listenerRoom struct {
	chains *store.TableOf[ir.ChainID, portChain]
	// bytes has what each chain takes of TCP ports, and byGateway those that there are. What is served over QUIC follows.
	bytes     *store.TableOf[ir.ChainID, int]
	byGateway *store.Index[int]
	budgets   *store.Table[limits.Tiers]
	exceeded  *store.Index[limits.Tiers]
	places    *store.TableOf[ir.ChainID, limits.Place]
	// closed has the chains of the TCP ports of each Gateway that are not served.
	closed *store.Index[limits.Place]
}

// addListenerBudgetStages adds the stages that find the chains that a Gateway has no room for. Each is measured before it is made to stay:
// of those beyond the limit nothing is kept.
func (g *graph) addListenerBudgetStages(
	byChain []store.SourceOf[ir.ChainID], chains *store.TableOf[ir.ChainID, portChain],
) listenerRoom {
	room := listenerRoom{chains: chains}
	room.bytes = memo.DeriveOf(g.memo, stageChainBytes, ir.ParseChainID, byChain, deepEqual[int], func(v *store.View, id ir.ChainID) int {
		if id.Port != id.Port.OfTCP() {
			return 0
		}
		in, _ := chains.Get(v, id)
		tracing, _ := g.tracing.Get(v, id.Port.Gateway)
		return in.bytes(id, tracing)
	})
	gatewayOf := func(key string) string { return ir.ParseChainID(key).Port.Gateway }
	room.byGateway = store.NewIndex(room.bytes.Table, "chain bytes.byGateway", func(key string, bytes int) []string {
		if bytes == 0 {
			return nil
		}
		return []string{gatewayOf(key)}
	})
	total := store.NewSums(room.bytes.Table, "chain bytes.total", func(key string, bytes int) map[string]int {
		return map[string]int{gatewayOf(key): bytes}
	})
	room.budgets = memo.Derive(g.memo, stageListenerBudget, from(room.byGateway), deepEqual[limits.Tiers],
		func(v *store.View, gateway string) limits.Tiers {
			if limit := g.objects.Limits.ListenerBytes; total.Get(v, gateway) > limit {
				return g.listenerTiers(v, room, gateway, limit)
			}
			return limits.Tiers{}
		})
	room.exceeded = store.NewIndex(room.budgets, "listener budget.beyond",
		func(_ string, t limits.Tiers) []string { return some(t.Limit() > 0) })
	room.places = memo.DeriveOf(g.memo, stageChainPlace, ir.ParseChainID, byChain, deepEqual[limits.Place],
		func(v *store.View, id ir.ChainID) limits.Place {
			tiers, _ := room.budgets.Get(v, id.Port.Gateway)
			if tiers.Limit() == 0 {
				return limits.Served
			}
			id.Port = id.Port.OfTCP()
			item, closedWeight := g.chainItem(v, room, id)
			if item.Weight == 0 {
				return limits.Served // it is not valid, which is reported
			}
			return tiers.OfBoth(item, closedWeight)
		})
	room.closed = store.NewIndex(room.places.Table, "chain place.closed", func(key string, place limits.Place) []string {
		if id := ir.ParseChainID(key); place == limits.Served || id.Port != id.Port.OfTCP() {
			return nil
		}
		return []string{gatewayOf(key)}
	})
	return room
}

// bytes is what a chain takes of a listener. One that is not valid takes nothing.
func (in portChain) bytes(id ir.ChainID, tracing *ir.Tracing) int {
	if in.chain.Name == "" {
		return 0
	}
	if in.shared {
		in.port.LoggedAs = id.Port.Gateway
	}
	part, err := in.build(in.port, tracing)
	if err != nil {
		return 0
	}
	return proto.Size(part)
}

// listenerTiers divides what a Gateway has room for. A chain that is closed takes little beside its name.
func (g *graph) listenerTiers(v *store.View, room listenerRoom, gateway string, limit int) limits.Tiers {
	var items []limits.Item
	closed := map[string]int{}
	for _, key := range room.byGateway.Keys(v, gateway) {
		item, weight := g.chainItem(v, room, ir.ParseChainID(key))
		items, closed[item.Key] = append(items, item), weight
	}
	return limits.TierBy(items, limit, func(i limits.Item) int { return closed[i.Key] })
}

// nameOverhead is what a server name takes beside its characters.
const nameOverhead = 4

// afterListeners is later than any listener was created.
const afterListeners = 1 << 40

// chainItem is a chain as it is counted, and what it takes while it is closed: for the route that has its connections, or else for the
// object that has its listener. Of a namespace, listeners come before routes, which may have what policies of others set. The Gateway's own
// listeners come first.
func (g *graph) chainItem(v *store.View, room listenerRoom, id ir.ChainID) (limits.Item, int) {
	in, _ := room.chains.Get(v, id)
	item := limits.Item{Key: id.String(), Owner: ir.ParseName(id.Port.Gateway).Namespace}
	item.Weight, _ = room.bytes.Get(v, id)
	listener := cmp.Or(in.chain.Listener, in.chain.Name)
	if in.chain.Stream != nil && in.chain.Stream.Route != "" {
		r, _ := g.routes.Get(v, in.chain.Stream.Route)
		item.Created, item.Owner = afterListeners+r.Created, r.Name.Namespace
	} else if i := strings.LastIndex(listener, "/"); i >= 0 {
		item.Owner, _, _ = strings.Cut(listener, "/")
		if set, found := g.objects.ListenerSets.Get(v, listener[:i]); found {
			item.Created = set.CreationTimestamp.Unix()
		}
	}
	if in.chain.Listener == "" || in.chain.Own {
		return item, 0 // the hostname of a listener is never left out: how many there are is limited
	}
	return item, nameOverhead + len(in.chain.ServerName)
}

// place is the place of a chain of a port.
func (r listenerRoom) place(v *store.View, id ir.ChainID) limits.Place {
	place, _ := r.places.Get(v, id)
	return place
}

// closedText is what is said about a closed chain: to the route that has its connections, and to the listener it is of.
type closedText struct{ route, listener string }

// closedChains are the texts about the chains of a Gateway that there is no room for, by port and name.
func (g *graph) closedChains(gateway string) map[ir.PortID]map[string]closedText {
	tiers, _ := g.listenerRoom.budgets.Get(nil, gateway)
	if tiers.Limit() == 0 {
		return nil
	}
	type group struct {
		route string
		place limits.Place
	}
	hostnames, groups, owners := map[group][]string{}, map[ir.ChainID]group{}, map[ir.ChainID]string{}
	for _, key := range g.listenerRoom.closed.Keys(nil, gateway) {
		id := ir.ParseChainID(key)
		in, _ := g.listenerRoom.chains.Get(nil, id)
		item, _ := g.chainItem(nil, g.listenerRoom, id)
		at := group{place: g.listenerRoom.place(nil, id)}
		if in.chain.Stream != nil {
			at.route = in.chain.Stream.Route
		}
		hostnames[at] = append(hostnames[at], cmp.Or(in.chain.ServerName, "all other hostnames"))
		groups[id], owners[id] = at, item.Owner
	}
	texts := map[ir.PortID]map[string]closedText{}
	for id, at := range groups {
		why := fmt.Sprintf("listeners of HTTPS and TLS of Gateway %s and its ListenerSets may have %d bytes together, a TLSRoute counts for "+
			"each of its hostnames, and those of namespace %s have more than its share; use fewer hostnames, fewer certificates or shorter texts "+
			"in ClientTrafficPolicies, or ask the operator for more (limit %s)", gateway, tiers.Limit(), owners[id], limits.NameListenerBytes)
		names := hostnames[at][0]
		if more := len(hostnames[at]) - 1; more > 0 {
			names = fmt.Sprintf("%s and %d more hostnames", names, more)
		}
		what := "are closed"
		if at.place == limits.LeftOut {
			what = "are left out, so that a wider listener or TLSRoute takes them"
		}
		if texts[id.Port] == nil {
			texts[id.Port] = map[string]closedText{}
		}
		texts[id.Port][id.Chain] = closedText{
			route:    fmt.Sprintf("connections for %s %s: %s", names, what, why),
			listener: "connections are closed: " + why,
		}
	}
	return texts
}

// noticeListeners tells the routes and listeners that a Gateway has no room for. They are told nothing about HTTP/3, for which the same is
// true.
func (g *graph) noticeListeners(all notices) {
	for _, gateway := range g.listenerRoom.exceeded.Keys(nil, beyond) {
		for id, texts := range g.closedChains(gateway) {
			g.noticeClosed(all, id, texts)
		}
	}
}
