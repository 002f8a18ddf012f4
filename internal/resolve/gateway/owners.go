package gateway

import "github.com/gatewright/gatewright/internal/store"

// ListenerOwner is an object that has listeners of a Gateway: the Gateway itself, or a ListenerSet.
type ListenerOwner struct {
	Kind store.Kind
	Key  string
}

// Owner is the object that has a listener of a Gateway.
func (l Listener) Owner(gateway string) ListenerOwner {
	if l.Set != "" {
		return ListenerOwner{store.ListenerSet, l.Set}
	}
	return ListenerOwner{store.Gateway, gateway}
}

// Owners returns the names of the listeners for which about is true, by the object that has them.
func (r Resolved) Owners(about func(Listener) bool) map[ListenerOwner][]string {
	owners := map[ListenerOwner][]string{}
	for _, l := range r.Listeners {
		if !about(l) {
			continue
		}
		owner := l.Owner(r.Gateway.Name.String())
		owners[owner] = append(owners[owner], l.Name)
	}
	return owners
}
