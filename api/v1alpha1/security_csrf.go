package v1alpha1

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// CSRF answers 403 to requests that change something and whose Origin header is neither the host that they are for nor one of
// additionalOrigins.
//
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || !(has(self.shadowFraction) || has(self.additionalOrigins))",message="mode None stands alone; remove the other fields, or mode"
type CSRF struct {
	// Mode None turns off the setting of a less specific policy. It stands alone.
	//
	// +optional
	Mode *SecurityMode `json:"mode,omitempty"`

	// ShadowFraction is the part of requests that are only counted, and pass. The default is none.
	//
	// +optional
	ShadowFraction *gwv1.Fraction `json:"shadowFraction,omitempty"`

	// AdditionalOrigins may send requests too. Only the host and the port are compared, not the scheme.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	AdditionalOrigins []CORSOrigin `json:"additionalOrigins,omitempty"`
}
