package store

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Kind names a kind of object that is watched.
type Kind string

// The kinds that are watched.
const (
	GatewayClass   Kind = "GatewayClass"
	Gateway        Kind = "Gateway"
	HTTPRoute      Kind = "HTTPRoute"
	GRPCRoute      Kind = "GRPCRoute"
	ReferenceGrant Kind = "ReferenceGrant"
	Namespace      Kind = "Namespace"
	Service        Kind = "Service"
	Secret         Kind = "Secret"
	EndpointSlice  Kind = "EndpointSlice"
	Deployment     Kind = "Deployment"
)

// Change is one object that came, changed or went.
type Change struct {
	Kind Kind
	// Key is `namespace/name`, or the name alone for what has no namespace.
	Key string
	// Object is nil when the object is gone. It is never modified.
	Object metav1.Object
}

// Objects holds a table for each watched kind. Every table is keyed by [Key].
type Objects struct {
	GatewayClasses  *Table[*gwv1.GatewayClass]
	Gateways        *Table[*gwv1.Gateway]
	HTTPRoutes      *Table[*gwv1.HTTPRoute]
	GRPCRoutes      *Table[*gwv1.GRPCRoute]
	ReferenceGrants *Table[*gwv1.ReferenceGrant]
	Namespaces      *Table[*corev1.Namespace]
	Services        *Table[*corev1.Service]
	Secrets         *Table[*corev1.Secret]
	EndpointSlices  *Table[*discoveryv1.EndpointSlice]
	Deployments     *Table[*appsv1.Deployment]

	// GrantsByNamespace finds the ReferenceGrants of a namespace.
	GrantsByNamespace *Index[*gwv1.ReferenceGrant]
	// SlicesByService finds the EndpointSlices of the Service `namespace/name`.
	SlicesByService *Index[*discoveryv1.EndpointSlice]

	sinks map[Kind]sink
}

// NewObjects adds the tables of all watched kinds to a Store.
func NewObjects(s *Store) *Objects {
	o := &Objects{
		GatewayClasses:  NewTable[*gwv1.GatewayClass](s, string(GatewayClass)),
		Gateways:        NewTable[*gwv1.Gateway](s, string(Gateway)),
		HTTPRoutes:      NewTable[*gwv1.HTTPRoute](s, string(HTTPRoute)),
		GRPCRoutes:      NewTable[*gwv1.GRPCRoute](s, string(GRPCRoute)),
		ReferenceGrants: NewTable[*gwv1.ReferenceGrant](s, string(ReferenceGrant)),
		Namespaces:      NewTable[*corev1.Namespace](s, string(Namespace)),
		Services:        NewTable[*corev1.Service](s, string(Service)),
		Secrets:         NewTable[*corev1.Secret](s, string(Secret)),
		EndpointSlices:  NewTable[*discoveryv1.EndpointSlice](s, string(EndpointSlice)),
		Deployments:     NewTable[*appsv1.Deployment](s, string(Deployment)),
	}
	o.GrantsByNamespace = NewIndex(o.ReferenceGrants, "ReferenceGrant.byNamespace", func(_ string, g *gwv1.ReferenceGrant) []string {
		return []string{g.Namespace}
	})
	o.SlicesByService = NewIndex(o.EndpointSlices, "EndpointSlice.byService", func(_ string, s *discoveryv1.EndpointSlice) []string {
		service := s.Labels[discoveryv1.LabelServiceName]
		if service == "" {
			return nil
		}
		return []string{s.Namespace + "/" + service}
	})
	o.sinks = map[Kind]sink{
		GatewayClass:   into(o.GatewayClasses),
		Gateway:        into(o.Gateways),
		HTTPRoute:      into(o.HTTPRoutes),
		GRPCRoute:      into(o.GRPCRoutes),
		ReferenceGrant: into(o.ReferenceGrants),
		Namespace:      into(o.Namespaces),
		Service:        into(o.Services),
		Secret:         into(o.Secrets),
		EndpointSlice:  into(o.EndpointSlices),
		Deployment:     into(o.Deployments),
	}
	return o
}

// Apply brings one change into its table.
func (o *Objects) Apply(c Change) { o.sinks[c.Kind](c) }

// Key is the key of an object in its table.
func Key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// KeyOf is the [Key] of an object.
func KeyOf(object metav1.Object) string { return Key(object.GetNamespace(), object.GetName()) }

// SplitKey is the inverse of [Key].
func SplitKey(key string) (namespace, name string) {
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		return "", key
	}
	return namespace, name
}

type sink func(Change)

func into[V metav1.Object](t *Table[V]) sink {
	return func(c Change) {
		if c.Object == nil {
			t.Delete(c.Key)
			return
		}
		object, ok := c.Object.(V)
		if !ok {
			panic(fmt.Sprintf("a change of %s %s carries a %T", c.Kind, c.Key, c.Object))
		}
		t.Set(c.Key, object)
	}
}
