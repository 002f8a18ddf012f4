package refs

import "k8s.io/utils/ptr"

// Problem says why a reference does not lead anywhere. Reason is one of the standard's for a ResolvedRefs condition.
type Problem struct {
	Reason  string
	Message string
	// Missing is the Service that does not exist, as `namespace/name`, or the ServiceImport, as `ServiceImport/namespace/name`, if that is the
	// problem.
	Missing string
	// Import is the InferencePoolImport that is not served, as `namespace/name`, if that is the problem.
	Import string
}

// Resolved is the message of a condition ResolvedRefs that is True.
const Resolved = "all references are resolved"

// InvalidSecret is the reason if the content of a Secret or a ConfigMap cannot be used.
const InvalidSecret = "InvalidSecretRef"

// coreGroup is the group of the kinds of Kubernetes itself.
const coreGroup = ""

func valueOr[T ~string](pointer *T, fallback string) string {
	return string(ptr.Deref(pointer, T(fallback)))
}
