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

// GatewayListenerWithoutCertificate looks at a Gateway one of whose listeners can not be configured: `ListenersNotValid` "is used with the
// "Accepted" condition when one or more Listeners have an invalid or unsupported configuration and cannot be configured on the Gateway".
var GatewayListenerWithoutCertificate = confsuite.ConformanceTest{
	ShortName:   "GatewayListenerWithoutCertificate",
	Description: "A Gateway with a good listener and one whose certificate does not exist is accepted with reason ListenersNotValid",
	Manifests:   []string{"gateway-listener-without-certificate.yaml"},
	Features:    []features.FeatureName{features.SupportGateway, features.SupportHTTPRoute},
	Test: func(t *testing.T, suite *confsuite.ConformanceTestSuite) {
		gwNN := types.NamespacedName{Name: "gateway-listener-without-certificate", Namespace: confsuite.InfrastructureNamespace}
		kubernetes.GatewayListenerMustHaveConditions(t, suite.Client, suite.TimeoutConfig, gwNN, "https", []metav1.Condition{{
			Type: string(gwv1.ListenerConditionResolvedRefs), Status: metav1.ConditionFalse, Reason: string(gwv1.ListenerReasonInvalidCertificateRef),
		}})
		kubernetes.GatewayMustHaveCondition(t, suite.Client, suite.TimeoutConfig, gwNN, metav1.Condition{
			Type: string(gwv1.GatewayConditionAccepted), Status: metav1.ConditionTrue, Reason: string(gwv1.GatewayReasonListenersNotValid),
		})
	},
}
