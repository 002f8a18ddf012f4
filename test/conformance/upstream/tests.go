package upstream

import (
	"embed"

	"sigs.k8s.io/gateway-api/conformance/utils/suite"
)

// Manifests are those of the tests.
//
//go:embed *.yaml
var Manifests embed.FS

// Tests are all there are.
var Tests = []suite.ConformanceTest{
	BackendTLSPolicyInvalidResolvedRefs,
	GatewayListenerWithoutCertificate,
	GRPCRouteBackendProtocolWebSocket,
	GRPCRouteInvalidBackendRefs,
	HTTPRouteBackendServiceImport,
	HTTPRouteRedirectHostWithPort,
	HTTPRouteUnknownFilterKeepsRequests,
}
