package upstream

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
	confsuite "sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// GRPCRouteBackendProtocolWebSocket looks at an appProtocol that a GRPCRoute can not speak: "Implementations MUST ... set the
// "ResolvedRefs" Condition to status "False" with the "UnsupportedProtocol" reason."
var GRPCRouteBackendProtocolWebSocket = confsuite.ConformanceTest{
	ShortName:   "GRPCRouteBackendProtocolWebSocket",
	Description: "A GRPCRoute whose backend has the appProtocol kubernetes.io/ws has ResolvedRefs False with reason UnsupportedProtocol",
	Manifests:   []string{"grpcroute-backend-protocol-websocket.yaml"},
	Features:    []features.FeatureName{features.SupportGateway, features.SupportGRPCRoute},
	Test: func(t *testing.T, suite *confsuite.ConformanceTestSuite) {
		ns := confsuite.InfrastructureNamespace
		routeNN := types.NamespacedName{Name: "grpc-backend-websocket", Namespace: ns}
		gwNN := types.NamespacedName{Name: "same-namespace", Namespace: ns}
		kubernetes.GatewayAndRoutesMustBeAccepted(
			t, suite.Client, suite.TimeoutConfig, suite.ControllerName, kubernetes.NewGatewayRef(gwNN), &gwv1.GRPCRoute{}, true, routeNN,
		)
		grpcRouteMustHaveCondition(t, suite, routeNN, metav1.Condition{
			Type: string(gwv1.RouteConditionResolvedRefs), Status: metav1.ConditionFalse, Reason: string(gwv1.RouteReasonUnsupportedProtocol),
		})
	},
}
