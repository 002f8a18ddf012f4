package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/outcome"
)

func TestDefaultScopeCountsWhereTheClassAllowsIt(t *testing.T) {
	t.Parallel()
	const all = "  defaultScope: All\n"
	for _, c := range []struct {
		name, own, class string
		scopes           []string
		state            outcome.State
		says             string
	}{
		{
			"the class allows it", all, classConfig("{defaultGateways: Allowed}"),
			[]string{"All"},
			outcome.True,
			"are attached as if they named it",
		},
		{"the class does not say", all, classConfig("{}"), nil, outcome.False, "GatewayClass ours does not allow default Gateways"},
		{"the class ignores it", all, classConfig("{defaultGateways: Ignored}"), nil, outcome.False, "defaultGateways: Allowed"},
		{"the ProxyConfig of the class is gone", all, "", nil, outcome.False, "does not allow"},
		{
			"something else is wrong with that ProxyConfig", all, classConfig("{defaultGateways: Allowed, drain: {delay: soon}}"),
			[]string{"All"},
			outcome.True, "",
		},
		{
			"the Gateway allows it to itself", all + namesOwn, classConfig("{}") + ownConfig("{defaultGateways: Allowed}"), nil, outcome.False,
			"does not allow",
		},
		{"the Gateway has none", "  defaultScope: None", classConfig("{}"), nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := resolvePlaced(t, c.own, c.class)
			var said outcome.Condition
			if i := slices.IndexFunc(r.Conditions, func(c outcome.Condition) bool { return c.Type == "DefaultGateway" }); i >= 0 {
				said = r.Conditions[i]
			}
			if !slices.Equal(r.Scopes(), c.scopes) || said.State != c.state || !strings.Contains(said.Message, c.says) {
				t.Errorf("scopes %v, condition %+v", r.Scopes(), said)
			}
		})
	}
}

func TestOnlyAClassAllowsDefaultGateways(t *testing.T) {
	t.Parallel()
	r := resolvePlaced(t, namesOwn, classConfig("{}")+ownConfig("{defaultGateways: Allowed}"))
	if r.Accepted.Reason != "InvalidParameters" ||
		!strings.Contains(r.Accepted.Message, "defaultGateways, which only the ProxyConfig of a GatewayClass can choose") {
		t.Errorf("the Gateway says %+v", r.Accepted)
	}
	if r := resolvePlaced(t, namesOwn, classConfig("{defaultGateways: Allowed}")+ownConfig("{defaultGateways: Allowed}")); r.Frozen != "" {
		t.Errorf("a ProxyConfig that repeats what the class says: %s", r.Frozen)
	}
}
