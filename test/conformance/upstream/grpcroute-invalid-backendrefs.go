package upstream

import (
	"testing"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	pb "sigs.k8s.io/gateway-api-conformance-images/echo-basic/grpcechoserver"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/grpc"
	"sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
	confsuite "sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// callsOfShare is enough for both halves of a weighted rule to be seen.
const callsOfShare = 40

// GRPCRouteInvalidBackendRefs looks at backends of a GRPCRoute that are invalid: requests that would have been routed there "MUST receive
// an `UNAVAILABLE` status", and so must the share of an invalid one among valid ones.
var GRPCRouteInvalidBackendRefs = confsuite.ConformanceTest{
	ShortName:   "GRPCRouteInvalidBackendRefs",
	Description: "Calls to invalid backends of a GRPCRoute, and the share of an invalid one among valid ones, get the status UNAVAILABLE",
	Manifests:   []string{"grpcroute-invalid-backendrefs.yaml"},
	Features:    []features.FeatureName{features.SupportGateway, features.SupportGRPCRoute},
	Test: func(t *testing.T, suite *confsuite.ConformanceTestSuite) {
		ns := confsuite.InfrastructureNamespace
		routeNN := types.NamespacedName{Name: "grpc-invalid-backends", Namespace: ns}
		gwNN := types.NamespacedName{Name: "same-namespace", Namespace: ns}
		gwAddr := kubernetes.GatewayAndRoutesMustBeAccepted(
			t, suite.Client, suite.TimeoutConfig, suite.ControllerName, kubernetes.NewGatewayRef(gwNN), &gwv1.GRPCRoute{}, true, routeNN,
		)
		grpcRouteMustHaveCondition(t, suite, routeNN, metav1.Condition{
			Type: string(gwv1.RouteConditionResolvedRefs), Status: metav1.ConditionFalse,
		})
		host := &grpc.RequestMetadata{Authority: "grpc-invalid-backends.example"}
		unavailable := grpc.Response{Code: codes.Unavailable}
		t.Run("a backend that does not exist", func(t *testing.T) {
			t.Parallel()
			grpc.MakeRequestAndExpectEventuallyConsistentResponse(t, suite.GRPCClient, suite.TimeoutConfig, gwAddr,
				grpc.ExpectedResponse{EchoRequest: &pb.EchoRequest{}, RequestMetadata: host, Response: unavailable, Namespace: ns})
		})
		t.Run("a backend of an unknown kind", func(t *testing.T) {
			t.Parallel()
			grpc.MakeRequestAndExpectEventuallyConsistentResponse(t, suite.GRPCClient, suite.TimeoutConfig, gwAddr,
				grpc.ExpectedResponse{EchoThreeRequest: &pb.EchoRequest{}, RequestMetadata: host, Response: unavailable, Namespace: ns})
		})
		t.Run("the share of a backend that does not exist", func(t *testing.T) {
			t.Parallel()
			expected := grpc.ExpectedResponse{EchoTwoRequest: &pb.EchoRequest{}, RequestMetadata: host, Namespace: ns}
			seen := map[codes.Code]int{}
			for range callsOfShare {
				seen[call(t, suite, gwAddr, expected)]++
			}
			if seen[codes.OK] == 0 || seen[codes.Unavailable] == 0 || seen[codes.OK]+seen[codes.Unavailable] != callsOfShare {
				t.Errorf("calls ended with %v, want both OK and Unavailable, and nothing else", seen)
			}
		})
	},
}

// call makes one call.
func call(t *testing.T, suite *confsuite.ConformanceTestSuite, address string, expected grpc.ExpectedResponse) codes.Code {
	t.Helper()
	client := suite.GRPCClient
	if client == nil {
		own := &grpc.DefaultClient{}
		defer own.Close()
		client = own
	}
	response, err := client.SendRPC(t, address, expected, suite.TimeoutConfig.MaxTimeToConsistency)
	if err != nil {
		t.Fatalf("call: %v", err)
	}
	return response.Code
}
