package gateway

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/limits"
	"github.com/gatewright/gatewright/internal/store"
)

// listenerRoom is how many listeners of ListenerSets a Gateway takes. What its own leave is shared by namespaces. There is room for as many
// again that only keep their hostnames. A namespace that has more than that is closed: its youngest ListenerSets are left out.
type listenerRoom struct {
	limits limits.Limits
	// all is for those of all namespaces together, and own for those of each.
	all limits.Tiers
	own map[string]limits.Tiers
}

func newListenerRoom(l limits.Limits, gateways int, sets []*gwv1.ListenerSet) listenerRoom {
	var items []limits.Item
	byNamespace := map[string][]limits.Item{}
	for _, set := range sets {
		item := itemOf(set)
		items = append(items, item)
		byNamespace[set.Namespace] = append(byNamespace[set.Namespace], item)
	}
	room := listenerRoom{limits: l, own: map[string]limits.Tiers{}}
	room.all.Closed = limits.Share(items, max(0, l.Listeners-gateways))
	room.all.LeftOut = limits.Share(slices.DeleteFunc(items, func(i limits.Item) bool { return !room.all.Closed.Excludes(i) }), l.Listeners)
	for namespace, own := range byNamespace {
		room.own[namespace] = limits.Tier(own, l.NamespaceListeners)
	}
	return room
}

func itemOf(set *gwv1.ListenerSet) limits.Item {
	return limits.Item{
		Created: set.CreationTimestamp.Unix(), Key: store.KeyOf(set), Owner: set.Namespace, Weight: len(set.Spec.Listeners),
	}
}

// of is the place of a ListenerSet, and why it is not served, if it is not.
func (r listenerRoom) of(set *gwv1.ListenerSet) (limits.Place, string) {
	item := itemOf(set)
	all, own := r.all.Of(item), r.own[set.Namespace].Of(item)
	place := max(all, own)
	var message string
	switch {
	case place == limits.Served:
		return place, ""
	case all >= own:
		message = fmt.Sprintf("the Gateway and its ListenerSets may have %d listeners together, and those of namespace %s have more than its "+
			"share of them", r.limits.Listeners, set.Namespace)
	default:
		message = fmt.Sprintf("the ListenerSets of namespace %s may have %d listeners at the Gateway, and they have more",
			set.Namespace, r.limits.NamespaceListeners)
	}
	if place == limits.LeftOut {
		message += ", even of those that only keep their hostnames; this is one of the youngest, and is left out"
	}
	return place, message + "; remove some, or use another Gateway"
}
