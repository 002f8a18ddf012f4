package gateway

import "github.com/gatewright/gatewright/internal/store"

// ListenerOwner is an object that has listeners of a Gateway: the Gateway itself, or a ListenerSet.
type ListenerOwner struct {
	Kind store.Kind
	Key  string
}

// Owners returns the names of the listeners for which about is true, by the object that has them.
func (r Resolved) Owners(about func(Listener) bool) map[ListenerOwner][]string {
	owners := map[ListenerOwner][]string{}
	for _, l := range r.Listeners {
		if !about(l) {
			continue
		}
		owner := ListenerOwner{store.Gateway, r.Gateway.Name.String()}
		if l.Set != "" {
			owner = ListenerOwner{store.ListenerSet, l.Set}
		}
		owners[owner] = append(owners[owner], l.Name)
	}
	return owners
}
