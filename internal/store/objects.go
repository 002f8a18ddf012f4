package store

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/limits"
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
	// System is the namespace that Gatewright runs in, empty if what is there is not watched. It is set before anything is computed.
	System string
	// Limits is how much a tenant may take. They are set before anything is computed.
	Limits limits.Limits
	// ClusterDomain is the DNS domain of the cluster, empty for the usual one. It is set before anything is computed.
	ClusterDomain string
	// ClusterID is the name of the cluster among those that share ServiceImports, empty if it has none. It is set before anything is computed.
	ClusterID string
	// NoExternalHostnames says that XBackends may not lead out of the cluster. It is set before anything is computed.
	NoExternalHostnames bool
	// DeniedAddresses are where neither names outside the cluster nor Backends may lead, beside those that are always denied.
	// SocketDirectories are where Unix sockets of Backends may be. Both are set before anything is computed.
	DeniedAddresses   []netip.Prefix
	SocketDirectories []string
	// EnabledExtensions are the types of extensions that the operator enables. They are set before anything is computed.
	EnabledExtensions ExtensionTypes
	// GlobalRateLimits says that the operator enables the rate limit service. RateLimitBudgets has, for each namespace, the first policy
	// that the service has no room for; nil for room for all. Both are set before anything is computed.
	GlobalRateLimits bool
	RateLimitBudgets *Table[limits.Cutoff]
	// Controller is the name by which a GatewayClass chooses this installation, empty for the default. It is set before anything is computed.
	Controller gwv1.GatewayController

	tables
	sinks map[Kind]sink
}

// ExtensionTypes are types of extensions.
type ExtensionTypes struct {
	ExtProc, Lua bool
}

// Any reports whether any type is enabled.
func (t ExtensionTypes) Any() bool { return t != ExtensionTypes{} }

// NewObjects makes the tables and indexes of all [Kinds]. It panics when one of them has no descriptor.
func NewObjects(s *Store) *Objects {
	o := &Objects{Limits: limits.Defaults(), sinks: make(map[Kind]sink, len(Kinds))}
	for _, d := range Kinds {
		o.sinks[d.Kind] = d.open(s, o)
	}
	made := reflect.ValueOf(o.tables)
	for i := range made.NumField() {
		if made.Field(i).IsNil() {
			panic(fmt.Sprintf("no descriptor makes %s", made.Type().Field(i).Name))
		}
	}
	return o
}

// Apply brings one change into its table.
func (o *Objects) Apply(c Change) {
	sink, watched := o.sinks[c.Kind]
	if !watched {
		panic(fmt.Sprintf("%s %s changed, which is not watched", c.Kind, c.Key))
	}
	sink(c)
}

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

// KindKey names an object among those of several kinds: `<kind>/<namespace>/<name>`.
func KindKey(kind Kind, key string) string { return string(kind) + "/" + key }

// SplitKindKey is the inverse of [KindKey].
func SplitKindKey(text string) (kind Kind, key string) {
	before, after, _ := strings.Cut(text, "/")
	return Kind(before), after
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
