package refs

import "k8s.io/utils/ptr"

// Problem says why a reference does not lead anywhere. Reason is one of the standard's for a ResolvedRefs condition.
type Problem struct {
	Reason  string
	Message string
	// Missing is the Service that does not exist, as `namespace/name`, if that is the problem.
	Missing string
}

// Group names of the standard.
const (
	gatewayGroup = "gateway.networking.k8s.io"
	coreGroup    = ""
)

func valueOr[T ~string](pointer *T, fallback string) string {
	return string(ptr.Deref(pointer, T(fallback)))
}
