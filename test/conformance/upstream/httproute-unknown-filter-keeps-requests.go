package upstream

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/gateway-api/conformance/utils/http"
	"sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
	confsuite "sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// HTTPRouteUnknownFilterKeepsRequests looks at the requests of a filter that can not be resolved: it "MUST NOT be skipped. Instead,
// requests that would have been processed by that filter MUST receive a HTTP error response."
var HTTPRouteUnknownFilterKeepsRequests = confsuite.ConformanceTest{
	ShortName: "HTTPRouteUnknownFilterKeepsRequests",
	Description: "Requests of an HTTPRoute whose only rule has an ExtensionRef filter that can not be resolved get an error, " +
		"and are not served by another HTTPRoute with a wider match",
	Manifests: []string{"httproute-unknown-filter-keeps-requests.yaml"},
	Features:  []features.FeatureName{features.SupportGateway, features.SupportHTTPRoute},
	Test: func(t *testing.T, suite *confsuite.ConformanceTestSuite) {
		ns := confsuite.InfrastructureNamespace
		wideNN := types.NamespacedName{Name: "unknown-filter-wide", Namespace: ns}
		gwNN := types.NamespacedName{Name: "same-namespace", Namespace: ns}
		gwAddr := kubernetes.GatewayAndHTTPRoutesMustBeAccepted(
			t, suite.Client, suite.TimeoutConfig, suite.ControllerName, kubernetes.NewGatewayRef(gwNN), wideNN,
		)
		failed := http.Response{StatusCodes: []int{500, 501, 502, 503}}
		for _, c := range []http.ExpectedResponse{
			{
				TestCaseName: "the wider route is served",
				Request:      http.Request{Host: "unknown-filter.example", Path: "/other"},
				Backend:      "infra-backend-v1", Namespace: ns,
			},
			{
				TestCaseName: "a request of the filter fails",
				Request:      http.Request{Host: "unknown-filter.example", Path: "/guarded"},
				Response:     failed, Namespace: ns,
			},
			{
				TestCaseName: "a request of the filter below its path fails",
				Request:      http.Request{Host: "unknown-filter.example", Path: "/guarded/below"},
				Response:     failed, Namespace: ns,
			},
		} {
			t.Run(c.TestCaseName, func(t *testing.T) {
				t.Parallel()
				http.MakeRequestAndExpectEventuallyConsistentResponse(t, suite.RoundTripper, suite.TimeoutConfig, gwAddr, c)
			})
		}
	},
}
