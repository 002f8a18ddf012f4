package gateway

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
)

// conditionDefaultGateway is the word of GEP-3793, for which the module of the standard has no name.
const conditionDefaultGateway = "DefaultGateway"

// defaultScope is which routes the Gateway takes that do not name it, empty for none.
func defaultScope(gw *gwv1.Gateway) string {
	if gw.Spec.DefaultScope == gwv1.GatewayDefaultScopeNone {
		return ""
	}
	return string(gw.Spec.DefaultScope)
}

// defaultGateway says that the Gateway takes routes that do not name it.
func defaultGateway(gw *gwv1.Gateway) []outcome.Condition {
	scope := defaultScope(gw)
	if scope == "" {
		return nil
	}
	return []outcome.Condition{{
		Type: conditionDefaultGateway, State: outcome.True, Reason: conditionDefaultGateway,
		Message: fmt.Sprintf("Gateway has default scope %s: routes that use default Gateways are attached as if they named it", scope),
	}}
}

// Scopes is under what routes find the Gateway without naming it.
func (r Resolved) Scopes() []string {
	if !r.Ours || r.DefaultScope == "" {
		return nil
	}
	return []string{r.DefaultScope}
}
