package store

import (
	"fmt"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

// Object is an object of a watched kind.
type Object interface {
	metav1.Object
	runtime.Object
}

// Serving is when a cluster serves a kind.
type Serving int

const (
	// Always is for kinds of Kubernetes that every cluster serves.
	Always Serving = iota
	// ByDefinition is for kinds that a cluster serves while it has their CustomResourceDefinition.
	ByDefinition
	// BySomeClusters is for kinds of Kubernetes that a cluster may not serve. The cluster is asked once, at the start.
	BySomeClusters
	// OnDemand is for kinds that every cluster serves, and that are watched from the first change on that needs them.
	OnDemand
)

// Descriptor is everything that is known of a watched kind without knowing what it means. [Kinds] has one for each. The tables, the
// informers, the writer of statuses, the scheme, the rules of the chart and the loaders of tests follow from it.
type Descriptor struct {
	Kind Kind
	// Group is the API group, Resource the plural name there.
	Group    string
	Resource string
	// Versions are those that can be read, best first. They are written alike, field by field. The Go type is that of the first.
	Versions []string
	Served   Serving
	// Experimental says that only the experimental channel of the Gateway API has the kind.
	Experimental bool
	// Required says that nothing at all can be served without the kind.
	Required bool
	// ClusterScoped says that objects of the kind have no namespace.
	ClusterScoped bool

	// OnlyFleets says that objects which are not part of a fleet are not watched.
	OnlyFleets bool
	// Fields chooses the objects that are watched, nil for all.
	Fields fields.Selector
	// InSystem says that objects in the namespace that Gatewright runs in are watched even if that is not one of the watched namespaces.
	InSystem bool
	// NeededBy says whether a change needs a kind that is served [OnDemand].
	NeededBy func(Change) bool
	// Check refuses what the type can read and the control plane cannot use, nil for nothing. It takes the object as JSON.
	Check func(object []byte) error
	// PassUnreadable says that an object of which only the metadata can be read is in its table, marked by [MarkUnreadable], and not left
	// out: the status of what refers to it says why it is not used.
	PassUnreadable bool
	// KeptUnreadable are the fields of the spec that such an object has all the same, if they can be read: `rules[].matches` is a field of
	// the elements of a list. If those of lists cannot be read, the others are left.
	KeptUnreadable []string
	// MarkUnknown says that objects with fields which the Go type does not know have a mark, see [UnknownFields]. So do those with fields
	// that cannot be read, without PassUnreadable.
	MarkUnknown bool
	// Managed says that Gatewright writes objects of the kind too. The chart has rules for it that depend on values.
	Managed bool

	// Object is an empty object of the kind. It is never modified.
	Object Object
	// Changed says whether an update changed anything that is read.
	Changed func(before, after Object) bool
	// Trim removes what is not read from an object, nil if nothing is. It writes only where there is something to remove.
	Trim func(Object)
	// Status points to the status of an object, nil if Gatewright does not write it.
	Status func(Object) any

	install func(*runtime.Scheme) error
	open    func(*Store, *Objects) sink
}

// group is an API group and what makes its types known to a scheme.
type group struct {
	name    string
	install func(*runtime.Scheme) error
}

// typed is the part of a descriptor that depends on the Go type of the objects.
type typed[V Object] struct {
	// table is where [Objects] has the table, indexes makes the indexes of it.
	table   func(*Objects) **Table[V]
	indexes func(*Objects)
	// changed is nil for a kind that a definition brings: such kinds have a generation.
	changed func(before, after V) bool
	trim    func(V)
	// status points to the part of an object that the writer of statuses knows, such as a RouteStatus or a PolicyStatus.
	status func(V) any
}

// describe completes a descriptor.
func describe[V Object](g group, d Descriptor, t typed[V]) *Descriptor {
	d.Group, d.install = g.name, g.install
	d.Object = d.newObject(reflect.TypeFor[V]())
	d.Changed = changedGeneration
	if t.changed != nil {
		d.Changed = compare(t.changed)
	}
	if t.trim != nil {
		d.Trim = func(object Object) {
			if v, ok := object.(V); ok {
				t.trim(v)
			}
		}
	}
	if t.status != nil {
		d.Status = func(object Object) any {
			v, ok := object.(V)
			if !ok {
				panic(fmt.Sprintf("%T is no %s", object, d.Kind))
			}
			return t.status(v)
		}
	}
	d.open = func(s *Store, o *Objects) sink {
		table := NewTable[V](s, string(d.Kind))
		*t.table(o) = table
		if t.indexes != nil {
			t.indexes(o)
		}
		return into(table)
	}
	if missing := d.missing(t.table == nil, t.changed == nil); missing != "" {
		panic(fmt.Sprintf("the descriptor of %q %s", d.Kind, missing))
	}
	return &d
}

// missing is what a descriptor lacks. The control plane does not start with one.
func (d *Descriptor) missing(noTable, noComparison bool) string {
	mayBeMissing := d.Served == ByDefinition || d.Served == BySomeClusters
	switch {
	case d.Kind == "" || d.Resource == "" || len(d.Versions) == 0:
		return "has no kind, no resource or no version"
	case noTable:
		return "has no table"
	case noComparison && d.Served != ByDefinition:
		return "does not say which changes count"
	case (d.NeededBy != nil) != (d.Served == OnDemand):
		return "does not say what needs it"
	case mayBeMissing && d.Cached():
		return "says what a cache is to hold: a cache asks the cluster about such kinds when it is made, and this one may not be served"
	case d.Required && d.Served != ByDefinition:
		return "is required, which is checked only for kinds that a definition brings"
	default:
		return ""
	}
}

// New makes an empty object of the kind.
func (d *Descriptor) New() Object { return d.newObject(reflect.TypeOf(d.Object)) }

func (d *Descriptor) newObject(pointer reflect.Type) Object {
	object, ok := reflect.New(pointer.Elem()).Interface().(Object)
	if !ok {
		panic(fmt.Sprintf("%s has no type", d.Kind))
	}
	return object
}

// Cached says whether a cache needs to know which objects of the kind to hold, or which part of them.
func (d *Descriptor) Cached() bool { return d.Trim != nil || d.Fields != nil || d.OnlyFleets }

// APIVersion is the group and the best version, as objects have it.
func (d *Descriptor) APIVersion() string {
	if d.Group == "" {
		return d.Versions[0]
	}
	return d.Group + "/" + d.Versions[0]
}

// OfGatewayAPI says whether the bundle of the Gateway API has the kind, and not Gatewright, Kubernetes or another standard.
func (d *Descriptor) OfGatewayAPI() bool {
	return d.Group == gwv1.GroupName || d.Group == gwxv1alpha1.GroupName
}

// OfStandard says whether the Gateway API, its Inference Extension or the Multi-Cluster Services API has the kind.
func (d *Descriptor) OfStandard() bool {
	return d.Served == ByDefinition && d.Group != v1alpha1.GroupName
}

// Definition is the name of the CustomResourceDefinition that brings the kind.
func (d *Descriptor) Definition() string { return d.Resource + "." + d.Group }

// ServedVersion is the version in which the kind can be read, and empty when the definition serves none that can.
func (d *Descriptor) ServedVersion(definition *apiextensionsv1.CustomResourceDefinition) string {
	if definition == nil || !established(definition) {
		return ""
	}
	for _, version := range d.Versions {
		if slices.ContainsFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == version && v.Served
		}) {
			return version
		}
	}
	return ""
}

func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// CRDKinds are the kinds that a CustomResourceDefinition defines, in the order of [Kinds].
var CRDKinds = slices.DeleteFunc(slices.Clone(Kinds), func(d *Descriptor) bool { return d.Served != ByDefinition })

// CustomOf finds the descriptor of a kind, if a definition brings it.
func CustomOf(kind Kind) (*Descriptor, bool) {
	d, ok := DescriptorOf(kind)
	return d, ok && d.Served == ByDefinition
}

// DescriptorOf finds the descriptor of a kind, if it is watched.
func DescriptorOf(kind Kind) (*Descriptor, bool) {
	i := slices.IndexFunc(Kinds, func(d *Descriptor) bool { return d.Kind == kind })
	if i < 0 {
		return nil, false
	}
	return Kinds[i], true
}

// AddToScheme makes all watched kinds known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	done := map[string]bool{}
	for _, d := range Kinds {
		if done[d.Group] {
			continue
		}
		done[d.Group] = true
		if err := d.install(scheme); err != nil {
			return fmt.Errorf("register the types of %s: %w", d.APIVersion(), err)
		}
	}
	return nil
}
