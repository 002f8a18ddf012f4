package inherit

import (
	"slices"

	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/store"
)

// Gateways finds our Gateways that targets of policies belong to.
type Gateways struct {
	Objects *store.Objects
	Table   *store.Table[gateway.Resolved]
	// ByClass finds the Gateways of a class.
	ByClass *store.Index[gateway.Resolved]
}

// Of lists our Gateways of a target: a GatewayClass, a Gateway, a ListenerSet or a listener. missing reports a target that does not exist,
// and is nil for one that does.
func (g Gateways) Of(v *store.View, t attach.Target) (gateways []string, missing *attach.Reach) {
	switch t.Kind {
	case attach.GatewayClasses.Kind:
		if _, ok := g.Objects.GatewayClasses.Get(v, t.Key()); !ok {
			return nil, &attach.Reach{Target: t, Subject: t, Missing: attach.NotFound(t)}
		}
		return g.ByClass.Keys(v, t.Name), nil
	case attach.ListenerSets.Kind:
		set, ok := g.Objects.ListenerSets.Get(v, t.Key())
		if !ok {
			return nil, &attach.Reach{Target: t, Subject: t, Missing: attach.NotFound(t)}
		}
		parent, _ := store.ParentGateway(set)
		return g.listenerOf(v, t, parent, t.Key())
	default:
		if _, ok := g.Objects.Gateways.Get(v, t.Key()); !ok {
			return nil, &attach.Reach{Target: t, Subject: t, Missing: attach.NotFound(t), Gateway: t.Key()}
		}
		return g.listenerOf(v, t, t.Key(), "")
	}
}

// listenerOf is the Gateway of that key, if it is ours. A listener that is targeted has to be one of its own, or of a ListenerSet.
func (g Gateways) listenerOf(v *store.View, t attach.Target, key, set string) ([]string, *attach.Reach) {
	r, _ := g.Table.Get(v, key)
	if !r.Ours {
		return nil, nil
	}
	var names []string
	for _, l := range r.Listeners {
		if l.Set == set {
			names = append(names, l.Name)
		}
	}
	if t.Section != "" && !slices.Contains(names, t.Section) {
		return nil, &attach.Reach{Target: t, Subject: t, Missing: attach.SectionNotFound(t, "listener", names), Gateway: key}
	}
	return []string{key}, nil
}
