package gateway

import (
	"fmt"
	"slices"
	"strings"
)

// maxNamedListeners is how many listeners a message names.
const maxNamedListeners = 8

// leftOut names the listeners that proxies do not serve, and why; it is empty if they serve all.
func leftOut(listeners []Listener) string {
	var named []string
	count := 0
	for _, l := range listeners {
		if l.Usable() {
			continue
		}
		if count++; count > maxNamedListeners {
			continue
		}
		why := "has no usable certificate"
		switch {
		case !l.Accepted:
			why = "is not accepted"
		case l.ClosedBy != "":
			why = ClosesConnections(l.ClosedBy)
		}
		named = append(named, l.Name+" "+why)
	}
	if count == 0 {
		return ""
	}
	if count > maxNamedListeners {
		named = append(named, fmt.Sprintf("and %d more", count-maxNamedListeners))
	}
	who := fmt.Sprintf("%d of %d listeners cannot", count, len(listeners))
	if count == len(listeners) {
		who = "no listener can"
	}
	return fmt.Sprintf("%s be served: %s; see the conditions of each", who, strings.Join(named, ", "))
}

// own are the listeners of the Gateway itself.
func (r Resolved) own() []Listener {
	return slices.DeleteFunc(slices.Clone(r.Listeners), func(l Listener) bool { return l.Set != "" })
}
