package gateway

import (
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// Parent is the part of a Gateway that routes need to know. It is apart so that, say, a new certificate does not touch any route.
type Parent struct {
	Ours      bool
	Listeners []ParentListener
}

// ParentListener is the part of a listener that routes need to know.
type ParentListener struct {
	Name       string
	Hostname   string
	Port       int32
	Protocol   ir.Protocol
	Table      string
	Accepted   bool
	Kinds      []outcome.RouteKind
	Namespaces NamespaceRule
}

// Listeners is what routes need to know of the Gateway of that key.
func Listeners(v *store.View, gateways *store.Table[Resolved], key string) Parent {
	r, _ := gateways.Get(v, key)
	parent := Parent{Ours: r.Ours}
	for _, l := range r.Listeners {
		parent.Listeners = append(parent.Listeners, ParentListener{
			Name: l.Name, Hostname: l.Hostname, Port: l.Port, Protocol: l.Protocol, Table: l.Table,
			Accepted: l.Accepted && r.Accepted.State == outcome.True, Kinds: l.Kinds, Namespaces: l.Namespaces,
		})
	}
	return parent
}
