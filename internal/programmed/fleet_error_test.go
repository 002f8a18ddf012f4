package programmed

import (
	"errors"
	"testing"
	"testing/synctest"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
)

func TestAGatewaySaysWhatKeepsItsFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		condition := func(state outcome.State, reason gwv1.GatewayConditionReason, message string) outcome.Gateway {
			return outcome.Gateway{Conditions: []outcome.Condition{{
				Type: string(gwv1.GatewayConditionProgrammed), State: state, Reason: string(reason), Message: message,
			}}}
		}
		r, l := newReplica(t)
		expect := func(when, want string) {
			t.Helper()
			synctest.Wait()
			if got := l.gateway(web).Conditions[0]; got.Message != want {
				t.Errorf("%s it says %q, want %q", when, got.Message, want)
			}
		}
		r.SetGateway(web, condition(outcome.False, gwv1.GatewayReasonAddressNotAssigned, "no address"))
		r.ReportFleetError(ir.ParseName(web), errors.New("quota exceeded"))
		expect("without proxies", "the Gateway's fleet cannot be applied: quota exceeded")
		r.SetGateway(web, condition(outcome.False, gwv1.GatewayReasonInvalid, "not accepted"))
		expect("not accepted", "not accepted")
		r.SetGateway(web, condition(outcome.False, gwv1.GatewayReasonAddressNotAssigned, "no address"))
		r.ReportFleetError(ir.ParseName(web), nil)
		expect("mended", "no address")

		r.Fleet(tenantOf(web), "system/web")
		r.ReportFleetError(sharedFleet, errors.New("quota exceeded"))
		expect("on a shared fleet", "the Gateway's fleet cannot be applied: quota exceeded")
		r.Fleet(ir.Gateway{Name: sharedFleet}, "")
	})
}
