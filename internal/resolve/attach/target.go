package attach

import (
	"fmt"
	"strings"

	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/gatewright/gatewright/internal/store"
)

// TargetKind is a kind of object that policies can target.
type TargetKind struct {
	Group string
	Kind  string
	Level Level
	// SectionLevel is the level of a named section, [LevelNone] where only the whole object can be a target, and Section what it is called.
	SectionLevel Level
	Section      string
	// Cluster says that objects of the kind have no namespace. Only policies in Gatewright's own namespace can target them.
	Cluster bool
}

// The kinds that policies can target.
var (
	GatewayClasses = TargetKind{Group: gwv1.GroupName, Kind: string(store.GatewayClass), Level: LevelClass, Cluster: true}
	Gateways       = TargetKind{
		Group: gwv1.GroupName, Kind: string(store.Gateway), Level: LevelGateway, SectionLevel: LevelListener, Section: "listener",
	}
	ListenerSets = TargetKind{
		Group: gwv1.GroupName, Kind: string(store.ListenerSet), Level: LevelListenerSet, SectionLevel: LevelListener, Section: "listener",
	}
	HTTPRoutes = routes(store.HTTPRoute)
	GRPCRoutes = routes(store.GRPCRoute)
	TLSRoutes  = routes(store.TLSRoute)
	TCPRoutes  = routes(store.TCPRoute)
	UDPRoutes  = routes(store.UDPRoute)
	Services   = TargetKind{Kind: string(store.Service), Level: LevelBackend, SectionLevel: LevelPort, Section: "port"}
	XBackends  = TargetKind{Group: gwxv1alpha1.GroupName, Kind: string(store.XBackend), Level: LevelBackend}

	InferencePools = TargetKind{Group: inferencev1.GroupName, Kind: string(store.InferencePool), Level: LevelBackend}
	ServiceImports = TargetKind{
		Group: mcsv1beta1.GroupName, Kind: string(store.ServiceImport), Level: LevelBackend, SectionLevel: LevelPort, Section: "port",
	}
)

func routes(kind store.Kind) TargetKind {
	return TargetKind{Group: gwv1.GroupName, Kind: string(kind), Level: LevelRoute, SectionLevel: LevelRule, Section: "rule"}
}

// Whole is the kind where a policy can target whole objects only.
func (k TargetKind) Whole() TargetKind {
	k.SectionLevel = LevelNone
	return k
}

// Target makes a target of an object of the kind; section is empty for the whole object.
func (k TargetKind) Target(namespace, name, section string) Target {
	if k.Cluster {
		namespace = ""
	}
	return Target{Group: k.Group, Kind: k.Kind, Namespace: namespace, Name: name, Section: section}
}

// allKinds maps group and kind to what is known about them.
var allKinds = func() map[[2]string]TargetKind {
	known := map[[2]string]TargetKind{}
	for _, k := range []TargetKind{
		GatewayClasses, Gateways, ListenerSets, HTTPRoutes, GRPCRoutes, TLSRoutes, TCPRoutes, UDPRoutes, Services, XBackends,
		InferencePools, ServiceImports,
	} {
		known[[2]string{k.Group, k.Kind}] = k
	}
	return known
}()

// Target is what a policy attaches to: an object, or a named section of it. It is comparable.
type Target struct {
	Group     string
	Kind      string
	Namespace string
	Name      string
	// Section is the name of a listener, a rule or a port; empty for the whole object.
	Section string
}

// Level is how specific the target is, [LevelNone] for a kind that no policy can target.
func (t Target) Level() Level {
	k := allKinds[[2]string{t.Group, t.Kind}]
	if t.Section == "" {
		return k.Level
	}
	return k.SectionLevel
}

// Object is the whole object.
func (t Target) Object() Target {
	t.Section = ""
	return t
}

// Ref names the whole object.
func (t Target) Ref() Ref { return Ref{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name} }

// Key is the key of the object in its table: `namespace/name`, or the name alone for what has no namespace.
func (t Target) Key() string { return store.Key(t.Namespace, t.Name) }

// GroupKind is `group/kind`, or the kind alone for one of the core group.
func (t Target) GroupKind() string { return strings.TrimPrefix(t.Group+"/"+t.Kind, "/") }

// String is the target as messages call it: `Service app/one`, `port https of Service app/one`.
func (t Target) String() string {
	object := t.Kind + " " + t.Key()
	if t.Section == "" {
		return object
	}
	section := allKinds[[2]string{t.Group, t.Kind}].Section
	if section == "" {
		section = "section"
	}
	return fmt.Sprintf("%s %s of %s", section, t.Section, object)
}
