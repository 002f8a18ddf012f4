package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// PolicyStrategy says whether more specific policies may change the settings of a policy.
//
// +kubebuilder:validation:Enum=Defaults;Overrides
type PolicyStrategy string

// The strategies.
const (
	// PolicyDefaults lets a policy with a more specific target replace a setting.
	PolicyDefaults PolicyStrategy = "Defaults"
	// PolicyOverrides keeps the settings of the policy, whatever more specific policies say.
	PolicyOverrides PolicyStrategy = "Overrides"
)

// PolicyTargets is what a policy attaches to, and how its settings merge with those of other policies.
type PolicyTargets struct {
	// TargetRefs are objects in the namespace of the policy. A sectionName selects a listener, a rule or a port of the object.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	TargetRefs []gwv1.LocalPolicyTargetReferenceWithSectionName `json:"targetRefs,omitempty"`

	// TargetRef is one more entry of targetRefs.
	//
	// +optional
	TargetRef *gwv1.LocalPolicyTargetReferenceWithSectionName `json:"targetRef,omitempty"`

	// TargetSelectors select objects by their labels.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	TargetSelectors []PolicyTargetSelector `json:"targetSelectors,omitempty"`

	// Strategy says whether a policy with a more specific target can change these settings. Defaults lets it, setting by setting.
	// Overrides does not. The default is Defaults.
	//
	// +optional
	Strategy *PolicyStrategy `json:"strategy,omitempty"`
}

// PolicyTargetSelector selects targets of a policy by their labels.
type PolicyTargetSelector struct {
	// Group is the API group of the targets. The default is gateway.networking.k8s.io.
	//
	// +kubebuilder:default="gateway.networking.k8s.io"
	// +optional
	Group *gwv1.Group `json:"group,omitempty"`

	// Kind is the kind of the targets.
	//
	// +required
	Kind gwv1.Kind `json:"kind"`

	// MatchLabels are labels that a target must have.
	//
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// MatchExpressions are requirements that the labels of a target must meet.
	//
	// +listType=atomic
	// +optional
	MatchExpressions []metav1.LabelSelectorRequirement `json:"matchExpressions,omitempty"`

	// Namespaces selects targets in all namespaces instead of the policy's own. A target in another namespace needs a ReferenceGrant there.
	//
	// +optional
	Namespaces *PolicyTargetNamespaces `json:"namespaces,omitempty"`
}

// PolicyTargetNamespaces is where targets are looked for.
type PolicyTargetNamespaces struct {
	// From is Same for the namespace of the policy, or All. The default is Same.
	//
	// +kubebuilder:validation:Enum=Same;All
	// +kubebuilder:default=Same
	// +optional
	From *gwv1.FromNamespaces `json:"from,omitempty"`
}

// PolicyStatus is what became of a policy.
type PolicyStatus struct {
	// Conditions are `Accepted` and `Programmed` for the policy as a whole. `kubectl wait`, Argo CD and Flux read them.
	//
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Summary counts targets and what they lead to.
	//
	// +optional
	Summary *PolicySummary `json:"summary,omitempty"`

	// Ancestors are the Gateways that the policy affects, those with problems first.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Ancestors []gwv1.PolicyAncestorStatus `json:"ancestors,omitempty"`
}

// PolicySummary counts what a policy leads to.
type PolicySummary struct {
	// Targets is how many objects or sections the policy attaches to.
	Targets int32 `json:"targets"`

	// Affected is how many listeners, rules or backends it reaches through them.
	Affected int32 `json:"affected"`

	// Overridden is on how many of these a setting has no effect.
	Overridden int32 `json:"overridden"`

	// Failing is how many of these do not exist, or are rejected because of the policy.
	Failing int32 `json:"failing"`
}
