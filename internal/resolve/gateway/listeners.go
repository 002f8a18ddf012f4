package gateway

import (
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// Parent is the part of a Gateway or a ListenerSet that routes need to know. It is apart so that, say, a new certificate does not touch any
// route, nor a ListenerSet the routes of another.
type Parent struct {
	Ours bool
	// Gateway is the `namespace/name` of the Gateway that serves the listeners.
	Gateway string
	// Shared is the `namespace/name` of the fleet that the Gateway shares with others, empty for none.
	Shared string
	// Accepted is the condition of the parent as a whole.
	Accepted bool
	// Listeners are those the parent itself holds: what names a Gateway does not reach those of its ListenerSets.
	Listeners []ParentListener
}

// ParentListener is the part of a listener that routes need to know.
type ParentListener struct {
	// ID is unique in the Gateway, Name in the parent.
	ID       string
	Name     string
	Hostname string
	Port     int32
	Protocol ir.Protocol
	Table    ir.TableID
	// Passthrough says that connections stay encrypted on their way to the backend.
	Passthrough bool
	// Accepted says that routes may attach, and Usable that proxies can serve the listener.
	Accepted bool
	Usable   bool
	// ClosedBy names the policies because of which it accepts no connection, empty if it does. The pipeline fills it in.
	ClosedBy   string
	Kinds      []outcome.RouteKind
	Namespaces NamespaceRule
	// Filters, that each of its hosts is looked up by itself, and the databases of proxies are known only to [TableListeners]: of these a
	// route depends on FilterBytes alone.
	Filters   []ir.ListenerFilter
	ByHost    bool
	Databases ir.GeoDatabases
	// Destination has the settings of policies on the listener, or its ListenerSet, for connections to backends; nil for none. Policies are
	// not known here: the pipeline fills it in.
	Destination *ir.DestinationLayer
	// PolicyBytes is how many bytes the other settings of these policies add to each rule, about. The pipeline fills it in, too.
	PolicyBytes int
	// FilterBytes is how many bytes the filters add to each hostname, about. The pipeline fills it in.
	FilterBytes int
}

// ParentKey names a parent of routes: `<namespace>/<name>` for a Gateway, `<kind>/<namespace>/<name>` for any other kind.
func ParentKey(kind store.Kind, namespace, name string) string {
	key := store.Key(namespace, name)
	if kind == store.Gateway {
		return key
	}
	return string(kind) + "/" + key
}

// Listeners is what routes need to know of the Gateway or the ListenerSet that a [ParentKey] names.
func Listeners(v *store.View, objects *store.Objects, gateways *store.Table[Resolved], key string) Parent {
	parent := Parent{Gateway: key}
	set, isSet := strings.CutPrefix(key, string(store.ListenerSet)+"/")
	if isSet {
		if parent.Gateway = gatewayOfSet(v, objects, set); parent.Gateway == "" {
			return Parent{}
		}
	} else {
		set = ""
	}
	r, _ := gateways.Get(v, parent.Gateway)
	parent.Ours, parent.Accepted = r.Ours, r.accepted(set)
	if shared := r.Gateway.Fleet.Shared; shared != (ir.Name{}) {
		parent.Shared = shared.String()
	}
	for _, l := range r.Listeners {
		if l.Set == set {
			parent.Listeners = append(parent.Listeners, forRoutes(l))
		}
	}
	return parent
}

// TableListeners lists the listeners that share a route table of a Gateway, whichever object has them.
func TableListeners(v *store.View, gateways *store.Table[Resolved], table ir.TableID) []ParentListener {
	r, _ := gateways.Get(v, table.Gateway)
	var listeners []ParentListener
	for _, l := range r.Listeners {
		if l.onPort() && l.Table == table {
			listener := forRoutes(l)
			listener.Filters, listener.ByHost, listener.Databases = l.Filters, r.byHost(l), r.Gateway.Fleet.Proxies.GeoIP
			if l.Closed {
				listener.Filters = unserved
			}
			listeners = append(listeners, listener)
		}
	}
	return listeners
}

// FallsThrough says whether requests for a hostname of the listener of that ID fall through to wider ones, so that rules need not be
// repeated.
func (r Resolved) FallsThrough(id string) bool {
	i := slices.IndexFunc(r.Listeners, func(l Listener) bool { return l.ID == id })
	return i >= 0 && r.byHost(r.Listeners[i]) && len(r.Listeners[i].Filters) == 0
}

// byHost says whether each host of a listener is looked up by itself: whether the chain it is in does so.
func (r Resolved) byHost(l Listener) bool {
	for _, port := range r.Gateway.Ports {
		for _, c := range port.Chains {
			if c.RouteTable == l.Table && (c.Name == l.ID || l.Protocol == ir.HTTP) {
				return r.Gateway.Fleet.Delivery.ByHost(c)
			}
		}
	}
	return false
}

// Tables lists the route tables of listeners that routes may attach to, or that answer errors.
func (r Resolved) Tables() []ir.TableID {
	var tables []ir.TableID
	for _, l := range r.Listeners {
		if l.onPort() && !l.Table.IsZero() {
			tables = append(tables, l.Table)
		}
	}
	return tables
}

func forRoutes(l Listener) ParentListener {
	return ParentListener{
		ID: l.ID, Name: l.Name, Hostname: l.Hostname, Port: l.Port, Protocol: l.Protocol, Table: l.Table,
		Passthrough: l.Protocol == ir.TLS && !l.Terminates,
		Accepted:    l.Attachable, Usable: l.Usable(), Kinds: l.Kinds, Namespaces: l.Namespaces,
	}
}
