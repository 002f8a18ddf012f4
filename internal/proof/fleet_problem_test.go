package proof

import (
	"errors"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

func TestAGatewaySaysWhatKeepsItsFleet(t *testing.T) {
	t.Parallel()
	condition := func(state outcome.State, reason gwv1.GatewayConditionReason, message string) outcome.Gateway {
		return outcome.Gateway{Conditions: []outcome.Condition{{Type: string(gwv1.GatewayConditionProgrammed), State: state, Reason: string(reason), Message: message}}}
	}
	k, l := keeper(t)
	expect := func(when, want string) {
		t.Helper()
		if got := l.gateways[web].Conditions[0]; got.Message != want {
			t.Errorf("%s it says %q, want %q", when, got.Message, want)
		}
	}
	k.SetGateway(web, condition(outcome.False, gwv1.GatewayReasonAddressNotAssigned, "no address"))
	k.Report(ir.ParseName(web), errors.New("quota exceeded"))
	expect("without proxies", "the Gateway's fleet can not be applied: quota exceeded")
	k.SetGateway(web, condition(outcome.False, gwv1.GatewayReasonInvalid, "not accepted"))
	expect("not accepted", "not accepted")
	k.SetGateway(web, condition(outcome.False, gwv1.GatewayReasonAddressNotAssigned, "no address"))
	k.Report(ir.ParseName(web), nil)
	expect("mended", "no address")

	k.Fleet(tenantOf(web), "system/web")
	k.Report(sharedFleet, errors.New("quota exceeded"))
	expect("on a shared fleet", "the Gateway's fleet can not be applied: quota exceeded")
	k.Fleet(ir.Gateway{Name: sharedFleet}, "")
	k.Forget(store.Gateway, web)
	if len(k.problems) > 0 {
		t.Errorf("%v is remembered", k.problems)
	}
}
