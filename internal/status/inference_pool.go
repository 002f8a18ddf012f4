package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	inferencexv1alpha1 "sigs.k8s.io/gateway-api-inference-extension/apix/v1alpha1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
)

// The limits of the API.
const (
	maxPoolParents       = 32
	maxImportControllers = 8
)

// InferencePool returns the status of an InferencePool. Like that of a policy it is shared with other controllers, see [Policy].
func InferencePool(
	existing inferencev1.InferencePoolStatus, o outcome.Policy, controller gwv1.GatewayController, now metav1.Time,
) inferencev1.InferencePoolStatus {
	status := existing
	status.Parents = poolParents(existing.Parents, o, controller, now)
	return status
}

func poolParents(
	existing []inferencev1.ParentStatus, o outcome.Policy, controller gwv1.GatewayController, now metav1.Time,
) []inferencev1.ParentStatus {
	at := observation{o.Generation, now}
	parents := shared[inferencev1.ParentStatus, outcome.Parent]{
		limit: maxPoolParents,
		ours:  func(p inferencev1.ParentStatus) bool { return string(p.ControllerName) == string(controller) },
		same: func(p inferencev1.ParentStatus, w outcome.Parent) bool {
			return sameParent(gatewayReference(p.ParentRef), w.Ref)
		},
		update: func(p inferencev1.ParentStatus, w outcome.Parent) inferencev1.ParentStatus {
			if p.ControllerName == "" {
				p.ParentRef = poolParentReference(w.Ref)
			}
			p.ControllerName = inferencev1.ControllerName(controller)
			p.Conditions = mergeConditions(p.Conditions, w.Conditions, policyTypes, at)
			return p
		},
	}.merge(existing, o.Ancestors)
	if len(parents) == 0 {
		// The API omits an empty list.
		return nil
	}
	return parents
}

// InferencePoolImport returns the status of an InferencePoolImport, of which each controller has a part. There is none of ours if no route
// of our Gateways refers to the import. The list is never nil, because the API requires it.
func InferencePoolImport(
	existing inferencexv1alpha1.InferencePoolImportStatus, o outcome.Policy, controller gwv1.GatewayController, now metav1.Time,
) inferencexv1alpha1.InferencePoolImportStatus {
	var wanted []outcome.Policy
	if len(o.Ancestors) > 0 {
		wanted = append(wanted, o)
	}
	status := existing
	status.Controllers = shared[inferencexv1alpha1.ImportController, outcome.Policy]{
		limit: maxImportControllers,
		ours:  func(c inferencexv1alpha1.ImportController) bool { return string(c.Name) == string(controller) },
		same:  func(inferencexv1alpha1.ImportController, outcome.Policy) bool { return true },
		update: func(c inferencexv1alpha1.ImportController, w outcome.Policy) inferencexv1alpha1.ImportController {
			c.Name = inferencexv1alpha1.ControllerName(controller)
			c.Parents = poolParents(c.Parents, w, controller, now)
			return c
		},
	}.merge(existing.Controllers, wanted)
	return status
}

func poolParentReference(ref outcome.ParentRef) inferencev1.ParentReference {
	full := parentReference(ref)
	parent := inferencev1.ParentReference{Name: inferencev1.ObjectName(full.Name)}
	if full.Group != nil {
		parent.Group = new(inferencev1.Group(*full.Group))
	}
	if full.Kind != nil {
		parent.Kind = inferencev1.Kind(*full.Kind)
	}
	if full.Namespace != nil {
		parent.Namespace = inferencev1.Namespace(*full.Namespace)
	}
	return parent
}

// gatewayReference is the reference in the type of the Gateway API.
func gatewayReference(p inferencev1.ParentReference) gwv1.ParentReference {
	ref := gwv1.ParentReference{Name: gwv1.ObjectName(p.Name)}
	if p.Group != nil {
		ref.Group = new(gwv1.Group(*p.Group))
	}
	if p.Kind != "" {
		ref.Kind = new(gwv1.Kind(p.Kind))
	}
	if p.Namespace != "" {
		ref.Namespace = new(gwv1.Namespace(p.Namespace))
	}
	return ref
}

func poolSnapshot(controller gwv1.GatewayController) func(inferencev1.InferencePoolStatus) snapshot {
	return func(status inferencev1.InferencePoolStatus) snapshot {
		return parentSnapshot(status.Parents, controller)
	}
}

func importSnapshot(controller gwv1.GatewayController) func(inferencexv1alpha1.InferencePoolImportStatus) snapshot {
	return func(status inferencexv1alpha1.InferencePoolImportStatus) snapshot {
		var s snapshot
		for _, c := range status.Controllers {
			s = append(s, parentSnapshot(c.Parents, controller)...)
		}
		return s
	}
}

func parentSnapshot(parents []inferencev1.ParentStatus, controller gwv1.GatewayController) snapshot {
	var s snapshot
	for _, p := range parents {
		if string(p.ControllerName) == string(controller) {
			s = append(s, part{parentName(gatewayReference(p.ParentRef)), p.Conditions})
		}
	}
	return s
}
