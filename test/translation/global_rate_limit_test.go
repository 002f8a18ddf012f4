//go:build translation

package translation

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatewright/gatewright/internal/ir"
)

// counter is a rate limit service that lets 3 of everything pass.
type counter struct {
	rlsv3.UnimplementedRateLimitServiceServer
	mu   sync.Mutex
	hits map[string]uint64
	down bool
}

func (c *counter) ShouldRateLimit(_ context.Context, r *rlsv3.RateLimitRequest) (*rlsv3.RateLimitResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return nil, status.Error(codes.Unavailable, "Redis is gone")
	}
	answer := &rlsv3.RateLimitResponse{OverallCode: rlsv3.RateLimitResponse_OK}
	for _, d := range r.GetDescriptors() {
		key, hits := text(d), uint64(1)
		if d.GetHitsAddend() != nil {
			hits = d.GetHitsAddend().GetValue()
		}
		if c.hits[key] += hits; c.hits[key] > 3 {
			answer.OverallCode = rlsv3.RateLimitResponse_OVER_LIMIT
		}
	}
	return answer, nil
}

// text is `key=value key=value`.
func text(d *commonv3.RateLimitDescriptor) string {
	var all []string
	for _, entry := range d.GetEntries() {
		all = append(all, entry.GetKey()+"="+entry.GetValue())
	}
	return strings.Join(all, " ")
}

func (c *counter) set(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

// take returns what was counted, and forgets it.
func (c *counter) take() map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.hits
	c.hits = map[string]uint64{}
	return taken
}

// limitedBy is a host with global limits, whose responses cost 2, and the service that counts.
func limitedBy(t *testing.T, limits ir.GlobalRateLimit) (*proxy, *counter) {
	t.Helper()
	c := &counter{hits: map[string]uint64{}}
	server := grpc.NewServer()
	rlsv3.RegisterRateLimitServiceServer(server, c)
	limits.Policy, limits.Backend = policyName, svc("limits")
	limits.Backend.Protocol = ir.BackendHTTP2
	host := guarded(&ir.RequestPolicy{GlobalRateLimit: &limits})
	host.Rules[0].Extensions = &ir.Extensions{List: []ir.Extension{{Lua: &ir.Lua{Source: `
function envoy_on_response(handle) handle:streamInfo():dynamicMetadata():set("usage", "tokens", 2) end`}}}}
	return startProxy(t, host, map[string]http.Handler{"limits": server}), c
}

func TestGlobalRateLimit(t *testing.T) {
	t.Parallel()
	p, c := limitedBy(t, ir.GlobalRateLimit{Rules: []ir.GlobalRateRule{
		{ID: "shared", Shared: true, RateRule: ir.RateRule{Matches: []ir.RateMatch{
			{Header: "x-case", Match: ir.StringMatch{Value: "shared"}}, {Header: "x-user", Distinct: true},
		}}},
		{ID: "own", RateRule: ir.RateRule{Matches: []ir.RateMatch{{Header: "x-case", Match: ir.StringMatch{Value: "own"}}}}},
		{
			ID: "cost", Shared: true,
			RateRule:     ir.RateRule{Cost: &ir.RateCost{}, Matches: []ir.RateMatch{{Header: "x-case", Match: ir.StringMatch{Value: "cost"}}}},
			ResponseCost: &ir.RateCost{Format: "%DYNAMIC_METADATA(usage:tokens)%"},
		},
	}})
	ali := map[string]string{"X-Case": "shared", "X-User": "ali"}
	for i, want := range []int{200, 200, 200, 429} {
		p.check(t, asked{name: "a user", headers: ali, want: want})
		if i == 0 {
			p.check(t, asked{name: "another user", headers: map[string]string{"X-Case": "shared", "X-User": "eva"}, want: 200})
		}
	}
	p.check(t, asked{name: "one of two conditions", headers: map[string]string{"X-Case": "shared"}, want: 200})
	p.check(t, asked{name: "a limit of the route", headers: map[string]string{"X-Case": "own"}, want: 200})
	want := map[string]uint64{
		"rule=app/policy/shared match-0=match-0 match-1=ali":      4,
		"rule=app/policy/shared match-0=match-0 match-1=eva":      1,
		"rule=app/policy/own route=HTTPRoute/a/b match-0=match-0": 1,
	}
	if got := c.take(); !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	// The first passes, and so does one whose check comes before the cost of the one before; two responses use up the limit.
	p.check(t, asked{name: "a response that costs", headers: map[string]string{"X-Case": "cost"}, want: 200})
	p.eventually(t, asked{name: "a limit that responses used up", headers: map[string]string{"X-Case": "cost"}, want: 429})
	keys := slices.Collect(maps.Keys(c.take()))
	if !slices.Equal(keys, []string{"rule=app/policy/cost match-0=match-0"}) {
		t.Errorf("counted %v", keys)
	}

	c.set(true)
	p.check(t, asked{name: "no answer", headers: ali, want: 503})
	p.check(t, asked{name: "no answer is needed", want: 200})
	c.set(false)
	p.check(t, asked{name: "an answer again", headers: ali, want: 200})
}

func TestGlobalRateLimitFailOpen(t *testing.T) {
	t.Parallel()
	p, c := limitedBy(t, ir.GlobalRateLimit{FailOpen: true, Rules: []ir.GlobalRateRule{{
		RateRule: ir.RateRule{Requests: 9, Unit: time.Hour}, Shared: true,
	}}})
	c.set(true)
	for range 5 {
		p.check(t, asked{name: "no answer", want: 200})
	}
	c.set(false)
	for _, want := range []int{200, 200, 200, 429} {
		p.check(t, asked{name: "an answer again", want: want})
	}
}
