package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
)

const maxParents = 32

// Route returns the status of a route. Entries of other controllers keep their content and position; ours for parents that the outcome
// no longer names are removed. The list is never nil, because the API rejects that. It is idempotent.
func Route(existing gwv1.RouteStatus, o outcome.Route, controller gwv1.GatewayController, now metav1.Time) gwv1.RouteStatus {
	at := observation{o.Generation, now}
	status := existing
	status.Parents = shared[gwv1.RouteParentStatus, outcome.Parent]{
		limit: maxParents,
		ours:  func(p gwv1.RouteParentStatus) bool { return p.ControllerName == controller },
		same:  func(p gwv1.RouteParentStatus, w outcome.Parent) bool { return sameParent(p.ParentRef, w.Ref) },
		update: func(p gwv1.RouteParentStatus, w outcome.Parent) gwv1.RouteParentStatus {
			// A stored reference is the wanted one, perhaps with defaults of the API. Keeping it as stored avoids a write that changes nothing.
			if p.ControllerName == "" {
				p.ParentRef = parentReference(w.Ref)
			}
			p.ControllerName = controller
			p.Conditions = mergeConditions(p.Conditions, withPlainName(w.Conditions), routeTypes, at)
			return p
		},
	}.merge(existing.Parents, o.Parents)
	return status
}

// withPlainName adds the condition Programmed of Gateways, without prefix, to a route: Argo CD and others look for it. See
// docs/decisions/0023-routes-have-the-condition-programmed.md.
func withPlainName(conditions []outcome.Condition) []outcome.Condition {
	i := slices.IndexFunc(conditions, func(c outcome.Condition) bool { return c.Type == outcome.RouteProgrammed })
	if i < 0 {
		return conditions
	}
	plain := conditions[i]
	plain.Type = outcome.Programmed
	return slices.Insert(slices.Clone(conditions), i, plain)
}

// sameParent compares references by meaning where the API sets defaults, and otherwise as written: the same Gateway with and without a
// section or a namespace is two parents.
func sameParent(stored gwv1.ParentReference, wanted outcome.ParentRef) bool {
	return string(stored.Name) == wanted.Name &&
		ptr.Deref(stored.Group, gwv1.GroupName) == gwv1.Group(ptr.Deref(wanted.Group, gwv1.GroupName)) &&
		ptr.Deref(stored.Kind, "Gateway") == gwv1.Kind(ptr.Deref(wanted.Kind, "Gateway")) &&
		ptr.Equal(stored.Namespace, as[gwv1.Namespace](wanted.Namespace)) &&
		ptr.Equal(stored.SectionName, as[gwv1.SectionName](wanted.SectionName)) &&
		ptr.Equal(stored.Port, wanted.Port)
}

func parentReference(ref outcome.ParentRef) gwv1.ParentReference {
	return gwv1.ParentReference{
		Group:       as[gwv1.Group](ref.Group),
		Kind:        as[gwv1.Kind](ref.Kind),
		Namespace:   as[gwv1.Namespace](ref.Namespace),
		Name:        gwv1.ObjectName(ref.Name),
		SectionName: as[gwv1.SectionName](ref.SectionName),
		Port:        ref.Port,
	}
}

func as[T ~string](text *string) *T {
	if text == nil {
		return nil
	}
	return new(T(*text))
}
