package gateway

// Features are the features of the standard that Gatewright declares, sorted. The status of our GatewayClasses shows them, and the
// conformance run takes its claims from here, so that nothing is declared that is not proved.
var Features = []string{
	"BackendTLSPolicy",
	"BackendTLSPolicySANValidation",
	"GRPCRoute",
	"Gateway",
	"GatewayBackendClientCertificate",
	"HTTPRoute",
	"ReferenceGrant",
}
