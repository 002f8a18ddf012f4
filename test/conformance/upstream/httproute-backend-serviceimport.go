package upstream

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/http"
	"sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
	confsuite "sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// HTTPRouteBackendServiceImport looks at ServiceImports of the Multi-Cluster Services API as backends (GEP-1748): they can be referred to
// as Services can, from other namespaces with a ReferenceGrant of their own. The standard has no feature for them yet. The cluster needs
// their definition, and no controller that would remove ServiceImports and EndpointSlices which it has not made.
var HTTPRouteBackendServiceImport = confsuite.ConformanceTest{
	ShortName: "HTTPRouteBackendServiceImport",
	Description: "An HTTPRoute whose backend is a ServiceImport sends requests to the endpoints that EndpointSlices have for it. " +
		"One that does not exist, or that is in another namespace without a ReferenceGrant, can not be resolved",
	Manifests: []string{"httproute-backend-serviceimport.yaml"},
	Features:  []features.FeatureName{features.SupportGateway, features.SupportHTTPRoute, features.SupportReferenceGrant},
	Test: func(t *testing.T, suite *confsuite.ConformanceTestSuite) {
		ns := confsuite.InfrastructureNamespace
		routeNN := types.NamespacedName{Name: "serviceimport", Namespace: ns}
		missingNN := types.NamespacedName{Name: "serviceimport-missing", Namespace: ns}
		notGrantedNN := types.NamespacedName{Name: "serviceimport-not-granted", Namespace: ns}
		gwNN := types.NamespacedName{Name: "same-namespace", Namespace: ns}
		v1 := types.NamespacedName{Name: confsuite.InfraBackendServiceNameV1, Namespace: ns}
		first := importEndpoints(t, suite, v1, "first", "infra-backend-v2")
		importEndpoints(t, suite, types.NamespacedName{Name: "granted", Namespace: confsuite.AppBackendNamespace}, "first", "app-backend-v1")
		importEndpoints(t, suite, types.NamespacedName{Name: "not-granted", Namespace: confsuite.WebBackendNamespace}, "first", "web-backend")

		gwAddr := kubernetes.GatewayAndHTTPRoutesMustBeAccepted(
			t, suite.Client, suite.TimeoutConfig, suite.ControllerName, kubernetes.NewGatewayRef(gwNN), routeNN, missingNN, notGrantedNN,
		)
		kubernetes.HTTPRouteMustHaveResolvedRefsConditionsTrue(t, suite.Client, suite.TimeoutConfig, routeNN, gwNN)
		for route, reason := range map[types.NamespacedName]gwv1.RouteConditionReason{
			missingNN: gwv1.RouteReasonBackendNotFound, notGrantedNN: gwv1.RouteReasonRefNotPermitted,
		} {
			kubernetes.HTTPRouteMustHaveCondition(t, suite.Client, suite.TimeoutConfig, route, gwNN, metav1.Condition{
				Type: string(gwv1.RouteConditionResolvedRefs), Status: metav1.ConditionFalse, Reason: string(reason),
			})
		}
		failed := http.Response{StatusCodes: []int{500}}
		for _, c := range []http.ExpectedResponse{
			{
				TestCaseName: "a ServiceImport is served, and not the Service of its name",
				Request:      http.Request{Host: "serviceimport.example", Path: "/"},
				Backend:      "infra-backend-v2", Namespace: ns,
			},
			{
				TestCaseName: "a ServiceImport of another namespace with a grant is served",
				Request:      http.Request{Host: "serviceimport.example", Path: "/granted"},
				Backend:      "app-backend-v1", Namespace: confsuite.AppBackendNamespace,
			},
			{
				TestCaseName: "a ServiceImport that does not exist is answered 500",
				Request:      http.Request{Host: "serviceimport-missing.example", Path: "/"},
				Response:     failed, Namespace: ns,
			},
			{
				TestCaseName: "a ServiceImport of another namespace without a grant is answered 500",
				Request:      http.Request{Host: "serviceimport-not-granted.example", Path: "/"},
				Response:     failed, Namespace: ns,
			},
		} {
			t.Run(c.TestCaseName, func(t *testing.T) {
				http.MakeRequestAndExpectEventuallyConsistentResponse(t, suite.RoundTripper, suite.TimeoutConfig, gwAddr, c)
			})
		}
		t.Run("requests follow the EndpointSlices to another cluster", func(t *testing.T) {
			importEndpoints(t, suite, v1, "second", "infra-backend-v3")
			for _, slice := range first {
				if err := suite.Client.Delete(t.Context(), slice); err != nil {
					t.Fatalf("delete EndpointSlice %s: %v", slice.GetName(), err)
				}
			}
			http.MakeRequestAndExpectEventuallyConsistentResponse(t, suite.RoundTripper, suite.TimeoutConfig, gwAddr, http.ExpectedResponse{
				Request: http.Request{Host: "serviceimport.example", Path: "/"}, Backend: "infra-backend-v3", Namespace: ns,
			})
		})
	},
}

// importEndpoints makes the EndpointSlices that a ServiceImport has from a cluster, one for each IP family. Their endpoints are the pods of
// a Deployment in the namespace of the ServiceImport.
func importEndpoints(
	t *testing.T, suite *confsuite.ConformanceTestSuite, importNN types.NamespacedName, cluster, deployment string,
) []client.Object {
	t.Helper()
	var pods corev1.PodList
	if err := suite.Client.List(t.Context(), &pods, client.InNamespace(importNN.Namespace), client.MatchingLabels{"app": deployment}); err != nil {
		t.Fatalf("list pods of Deployment %s: %v", deployment, err)
	}
	var slices []client.Object
	for _, family := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: importNN.Namespace,
				Name:      fmt.Sprintf("imported-%s-%s-%s", importNN.Name, cluster, strings.ToLower(string(family))),
				Labels:    map[string]string{mcsv1beta1.LabelServiceName: importNN.Name, mcsv1beta1.LabelSourceCluster: cluster},
			},
			AddressType: family,
			Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(3000)), Protocol: new(corev1.ProtocolTCP)}},
		}
		for i := range pods.Items {
			if address := addressOf(&pods.Items[i], family); address != "" {
				slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
					Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
				})
			}
		}
		if len(slice.Endpoints) > 0 {
			slices = append(slices, slice)
		}
	}
	if len(slices) == 0 {
		t.Fatalf("Deployment %s has no pods with an address", deployment)
	}
	suite.Applier.MustApplyObjectsWithCleanup(t, suite.Client, suite.TimeoutConfig, slices, suite.CleanupTestResources)
	return slices
}

// addressOf is the address of a pod of a family, empty if it has none.
func addressOf(pod *corev1.Pod, family discoveryv1.AddressType) string {
	for _, ip := range pod.Status.PodIPs {
		if address, err := netip.ParseAddr(ip.IP); err == nil && address.Is4() == (family == discoveryv1.AddressTypeIPv4) {
			return ip.IP
		}
	}
	return ""
}
