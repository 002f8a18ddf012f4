package route

import (
	"math"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// retry reads when a request is tried again. The standard: once more where attempts are not given, never when they are zero.
func retry(spec *gwv1.HTTPRouteRetry) (*ir.Retry, string) {
	switch {
	case spec == nil:
		return nil, ""
	case spec.Attempts != nil && *spec.Attempts <= 0:
		return &ir.Retry{}, ""
	}
	r := &ir.Retry{Attempts: 1}
	if spec.Attempts != nil {
		r.Attempts = uint32(min(*spec.Attempts, math.MaxInt32)) //nolint:gosec // positive, see above
	}
	for _, code := range spec.Codes {
		r.Codes = append(r.Codes, uint32(code)) //nolint:gosec // from 400 to 599, validated by the API server
	}
	slices.Sort(r.Codes)
	backoff, message := duration("retry.backoff", spec.Backoff)
	r.Backoff = backoff
	return r, message
}
