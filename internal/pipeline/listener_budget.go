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
			return tiers.OfBoth(g.chainItem(v, room, id))
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

// chainItem is a chain as it is counted, and what it takes while it is closed: for the route that has its connections, or else for the
// object that has its listener. The Gateway's own listeners come first.
func (g *graph) chainItem(v *store.View, room listenerRoom, id ir.ChainID) (limits.Item, int) {
	in, _ := room.chains.Get(v, id)
	item := limits.Item{Key: id.String(), Owner: ir.ParseName(id.Port.Gateway).Namespace}
	item.Weight, _ = room.bytes.Get(v, id)
	listener := cmp.Or(in.chain.Listener, in.chain.Name)
	if in.chain.Stream != nil && in.chain.Stream.Route != "" {
		r, _ := g.routes.Get(v, in.chain.Stream.Route)
		item.Created, item.Owner = r.Created, r.Name.Namespace
	} else if i := strings.LastIndex(listener, "/"); i >= 0 {
		item.Owner, _, _ = strings.Cut(listener, "/")
		if set, found := g.objects.ListenerSets.Get(v, listener[:i]); found {
			item.Created = set.CreationTimestamp.Unix()
		}
	}
	return item, nameOverhead + len(in.chain.ServerName)
}

// place is the place of a chain of a port.
func (r listenerRoom) place(v *store.View, id ir.ChainID) limits.Place {
	place, _ := r.places.Get(v, id)
	return place
}

// closedChains are the messages about the chains of a port that there is no room for, by name. Where HTTP/3 alone is not served there are
// none: the same is true of the TCP port.
func (g *graph) closedChains(id ir.PortID) map[string]string {
	tiers, _ := g.listenerRoom.budgets.Get(nil, id.Gateway)
	if tiers.Limit() == 0 || id != id.OfTCP() {
		return nil
	}
	port, _ := g.ports.Get(nil, id)
	messages := map[string]string{}
	for _, chainID := range chainsOf(id.String(), port) {
		if g.listenerRoom.place(nil, chainID) == limits.Served {
			continue
		}
		in, _ := g.listenerRoom.chains.Get(nil, chainID)
		item, _ := g.chainItem(nil, g.listenerRoom, chainID)
		messages[chainID.Chain] = fmt.Sprintf("connections for %s are closed: listeners of HTTPS and TLS of Gateway %s and its ListenerSets may "+
			"have %d bytes together, for each hostname of a TLSRoute again, and those of namespace %s have more than its share; this one has %d; "+
			"use shorter texts in ClientTrafficPolicies, fewer certificates or fewer hostnames, or ask the operator for more (limit %s)",
			cmp.Or(in.chain.ServerName, "all other hostnames"), id.Gateway, tiers.Limit(), item.Owner, item.Weight, limits.NameListenerBytes)
	}
	return messages
}

// noticeListeners tells the routes and listeners that a Gateway has no room for.
func (g *graph) noticeListeners(all notices) {
	for _, key := range g.listenerRoom.exceeded.Keys(nil, beyond) {
		resolved, _ := g.gateways.Get(nil, key)
		for _, port := range resolved.Gateway.Ports {
			id := ir.PortID{Gateway: key, Port: port.ID()}
			if messages := g.closedChains(id); len(messages) > 0 {
				g.noticeClosed(all, id, messages)
			}
		}
	}
}
