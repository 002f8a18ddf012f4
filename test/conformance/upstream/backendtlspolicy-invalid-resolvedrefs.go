package upstream

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/http"
	"sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
	confsuite "sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// BackendTLSPolicyInvalidResolvedRefs looks at a route whose backend has a policy that can not be met. A BackendRef is invalid if "a
// BackendTLSPolicy is present that refers to the Service, and the implementation is unable to meet the requirement", and then "the
// implementation MUST ensure the `ResolvedRefs` Condition on the Route is set to `status: False`".
var BackendTLSPolicyInvalidResolvedRefs = confsuite.ConformanceTest{
	ShortName: "BackendTLSPolicyInvalidResolvedRefs",
	Description: "An HTTPRoute whose backend has a BackendTLSPolicy that can not be met has ResolvedRefs False, " +
		"and its requests get a 5xx response",
	Manifests: []string{"backendtlspolicy-invalid-resolvedrefs.yaml"},
	Features:  []features.FeatureName{features.SupportGateway, features.SupportHTTPRoute, features.SupportBackendTLSPolicy},
	Test: func(t *testing.T, suite *confsuite.ConformanceTestSuite) {
		ns := confsuite.InfrastructureNamespace
		routeNN := types.NamespacedName{Name: "backendtlspolicy-invalid-resolvedrefs", Namespace: ns}
		gwNN := types.NamespacedName{Name: "same-namespace", Namespace: ns}
		gwAddr := kubernetes.GatewayAndHTTPRoutesMustBeAccepted(
			t, suite.Client, suite.TimeoutConfig, suite.ControllerName, kubernetes.NewGatewayRef(gwNN), routeNN,
		)
		kubernetes.HTTPRouteMustHaveCondition(t, suite.Client, suite.TimeoutConfig, routeNN, gwNN, metav1.Condition{
			Type: string(gwv1.RouteConditionResolvedRefs), Status: metav1.ConditionFalse,
		})
		http.MakeRequestAndExpectEventuallyConsistentResponse(t, suite.RoundTripper, suite.TimeoutConfig, gwAddr, http.ExpectedResponse{
			Request:   http.Request{Host: "backendtlspolicy-invalid-resolvedrefs.example", Path: "/"},
			Response:  http.Response{StatusCodes: []int{500, 502, 503}},
			Namespace: ns,
		})
	},
}
