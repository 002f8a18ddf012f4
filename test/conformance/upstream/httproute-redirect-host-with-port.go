package upstream

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/gateway-api/conformance/utils/http"
	"sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
	"sigs.k8s.io/gateway-api/conformance/utils/roundtripper"
	confsuite "sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// HTTPRouteRedirectHostWithPort looks at redirects of requests whose Host names a port: "If redirect scheme is not-empty, the redirect
// port MUST be the well-known port associated with the redirect scheme."
var HTTPRouteRedirectHostWithPort = confsuite.ConformanceTest{
	ShortName:   "HTTPRouteRedirectHostWithPort",
	Description: "A redirect to another scheme, of an HTTPRoute without hostnames, does not keep the port that the Host of the request names",
	Manifests:   []string{"httproute-redirect-host-with-port.yaml"},
	Features:    []features.FeatureName{features.SupportGateway, features.SupportHTTPRoute, features.SupportHTTPRouteSchemeRedirect},
	Test: func(t *testing.T, suite *confsuite.ConformanceTestSuite) {
		ns := confsuite.InfrastructureNamespace
		gwNN := types.NamespacedName{Name: "same-namespace", Namespace: ns}
		gwAddr := kubernetes.GatewayAndHTTPRoutesMustBeAccepted(
			t, suite.Client, suite.TimeoutConfig, suite.ControllerName, kubernetes.NewGatewayRef(gwNN),
			types.NamespacedName{Name: "redirect-any-host", Namespace: ns}, types.NamespacedName{Name: "redirect-wildcard-host", Namespace: ns},
		)
		for _, host := range []string{
			"redirect-any.example:8080", "redirect-any.example", "a.redirect-wildcard.example:8080", "a.redirect-wildcard.example",
		} {
			t.Run(host, func(t *testing.T) {
				t.Parallel()
				http.MakeRequestAndExpectEventuallyConsistentResponse(t, suite.RoundTripper, suite.TimeoutConfig, gwAddr, http.ExpectedResponse{
					Request:         http.Request{Host: host, Path: "/redirect-host-with-port", UnfollowRedirect: true},
					Response:        http.Response{StatusCode: 302}, //nolint:usestdlibvars // http is the suite's own package
					RedirectRequest: &roundtripper.RedirectRequest{Scheme: "https"},
					Namespace:       ns,
				})
			})
		}
	},
}
