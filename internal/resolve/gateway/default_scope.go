package gateway

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/class"
)

// reasonNotAllowed is why a Gateway that asks to be a default one is none.
const reasonNotAllowed = "NotAllowed"

// defaultScope is which routes the Gateway takes that do not name it, empty for none. The author of a Gateway chooses its scope and
// which namespaces it takes routes from, so only a class can say that routes of others may come to it.
func defaultScope(gw *gwv1.Gateway, class class.Resolved) string {
	if !class.DefaultGateways {
		return ""
	}
	return wantedScope(gw)
}

func wantedScope(gw *gwv1.Gateway) string {
	if gw.Spec.DefaultScope == gwv1.GatewayDefaultScopeNone {
		return ""
	}
	return string(gw.Spec.DefaultScope)
}

// defaultGateway says whether the Gateway takes routes that do not name it, if it asks for them.
func defaultGateway(gw *gwv1.Gateway, class class.Resolved) []outcome.Condition {
	scope := wantedScope(gw)
	switch {
	case scope == "":
		return nil
	case !class.DefaultGateways:
		return []outcome.Condition{{
			Type: outcome.DefaultGateway, State: outcome.False, Reason: reasonNotAllowed,
			Message: fmt.Sprintf("defaultScope %s has no effect: GatewayClass %s does not allow default Gateways; have routes name the "+
				"Gateway, or have the ProxyConfig of the class say "+
				"`defaultGateways: %s`", scope, gw.Spec.GatewayClassName, v1alpha1.DefaultGatewaysAllowed),
		}}
	default:
		return []outcome.Condition{{
			Type: outcome.DefaultGateway, State: outcome.True, Reason: outcome.DefaultGateway,
			Message: fmt.Sprintf("Gateway has default scope %s: routes that use default Gateways are attached as if they named it", scope),
		}}
	}
}

// Scopes is under what routes find the Gateway without naming it.
func (r Resolved) Scopes() []string {
	if !r.Ours || r.DefaultScope == "" {
		return nil
	}
	return []string{r.DefaultScope}
}
