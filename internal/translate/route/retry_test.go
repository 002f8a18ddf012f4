package route_test

import (
	"testing"
	"time"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

func TestRetries(t *testing.T) {
	t.Parallel()
	const safe = "connect-failure,refused-stream,reset-before-request,unavailable,retriable-status-codes"
	tests := []struct {
		name             string
		retry            ir.Retry
		request, backend time.Duration
		wantOn           string
		wantWhole        time.Duration
		wantPerTry       time.Duration
		wantBase         time.Duration
	}{
		{"what the backend cannot have processed is tried again", ir.Retry{Attempts: 2}, 0, 0, safe, 0, 0, 0},
		{"codes are tried again", ir.Retry{Attempts: 1, Codes: []uint32{500, 503}}, 0, 0, safe, 0, 0, 0},
		{"the request's timeout bounds all tries", ir.Retry{Attempts: 1}, time.Second, 0, safe, time.Second, 0, 0},
		{
			"a try that times out is followed by the next",
			ir.Retry{Attempts: 1},
			time.Minute,
			time.Second,
			safe + ",reset",
			time.Minute,
			time.Second,
			0,
		},
		{"the backend's timeout does not bound all tries", ir.Retry{Attempts: 1}, 0, time.Second, safe + ",reset", 0, time.Second, 0},
		{
			"the wait is at least the backoff",
			ir.Retry{Attempts: 1, Backoff: new(100 * time.Millisecond)},
			0,
			0,
			safe,
			0,
			0,
			100 * time.Millisecond,
		},
		{"no wait is as short as Envoy allows", ir.Retry{Attempts: 1, Backoff: new(time.Duration(0))}, 0, 0, safe, 0, 0, time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rule := to("r", path(ir.Prefix, "/"))
			rule.Policy.Retry = &tt.retry
			if tt.request > 0 {
				rule.Policy.RequestTimeout = &tt.request
			}
			if tt.backend > 0 {
				rule.Policy.BackendTimeout = &tt.backend
			}
			action := only(t, rule).GetRoute()
			policy := action.GetRetryPolicy()
			if policy.GetNumRetries().GetValue() != tt.retry.Attempts || len(policy.GetRetriableStatusCodes()) != len(tt.retry.Codes) {
				t.Errorf("got %v", policy)
			}
			if policy.GetRetryOn() != tt.wantOn {
				t.Errorf("tries again on %q, want %q", policy.GetRetryOn(), tt.wantOn)
			}
			if got := action.GetTimeout().AsDuration(); got != tt.wantWhole {
				t.Errorf("timeout is %v, want %v", got, tt.wantWhole)
			}
			if got := policy.GetPerTryTimeout().AsDuration(); got != tt.wantPerTry {
				t.Errorf("timeout of a try is %v, want %v", got, tt.wantPerTry)
			}
			if got := policy.GetRetryBackOff().GetBaseInterval().AsDuration(); got != tt.wantBase {
				t.Errorf("backoff is %v, want %v", got, tt.wantBase)
			}
		})
	}
}

func TestDefaultRetries(t *testing.T) {
	t.Parallel()
	const unseen = "connect-failure,refused-stream,reset-before-request"
	t.Run("what no backend can have processed is tried again", func(t *testing.T) {
		t.Parallel()
		host, _ := route.VirtualHost(ir.VirtualHost{Domain: "*", Rules: []ir.Rule{to("r", path(ir.Prefix, "/"))}})
		prototest.Valid(t, host)
		policy := host.GetRetryPolicy()
		if policy.GetRetryOn() != unseen || policy.GetNumRetries().GetValue() != 2 || len(policy.GetRetryHostPredicate()) != 1 {
			t.Errorf("policy of the host: %v", policy)
		}
		if r := host.GetRoutes()[0]; r.GetRoute().GetRetryPolicy() != nil || r.GetRequestBodyBufferLimit() != nil {
			t.Errorf("route: %v", r)
		}
	})
	t.Run("the same with a timeout for each try", func(t *testing.T) {
		t.Parallel()
		rule := to("r", path(ir.Prefix, "/"))
		rule.Policy.RequestTimeout, rule.Policy.BackendTimeout = new(time.Minute), new(time.Second)
		policy := only(t, rule).GetRoute().GetRetryPolicy()
		if policy.GetRetryOn() != unseen || policy.GetNumRetries().GetValue() != 2 || policy.GetPerTryTimeout().AsDuration() != time.Second {
			t.Errorf("policy: %v", policy)
		}
	})
	t.Run("no attempts are none", func(t *testing.T) {
		t.Parallel()
		rule := to("r", path(ir.Prefix, "/"))
		rule.Policy.Retry = &ir.Retry{}
		policy := only(t, rule).GetRoute().GetRetryPolicy()
		if policy == nil || policy.GetRetryOn() != "" || policy.GetNumRetries().GetValue() != 0 {
			t.Errorf("policy: %v", policy)
		}
	})
	t.Run("a host without backends needs none", func(t *testing.T) {
		t.Parallel()
		host, _ := route.VirtualHost(ir.VirtualHost{Domain: "*", Rules: []ir.Rule{{Name: "r", Fail: &ir.Fail{StatusCode: 500}}}})
		if host.GetRetryPolicy() != nil {
			t.Errorf("policy of the host: %v", host.GetRetryPolicy())
		}
	})
	t.Run("a rule that asks for retries keeps bodies for them", func(t *testing.T) {
		t.Parallel()
		rule := to("r", path(ir.Prefix, "/"))
		rule.Policy.Retry = &ir.Retry{Attempts: 1}
		if got := only(t, rule).GetRequestBodyBufferLimit().GetValue(); got != 1<<20 {
			t.Errorf("keeps %d bytes", got)
		}
	})
}
