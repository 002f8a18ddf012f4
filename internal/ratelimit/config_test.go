package ratelimit_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	rlsv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/ratelimit"
)

func policy(name string, rules ...ir.GlobalRateRule) *ir.GlobalRateLimit {
	return &ir.GlobalRateLimit{Policy: ir.Name{Namespace: "shop", Name: name}, Rules: rules}
}

func rule(id string, requests uint32, shared bool, matches ...ir.RateMatch) ir.GlobalRateRule {
	return ir.GlobalRateRule{ID: id, RateRule: ir.RateRule{Requests: requests, Unit: time.Minute, Matches: matches}, Shared: shared}
}

// chains are the descriptors of a configuration as text, each with its limit.
func chains(descriptors []*rlsv3.RateLimitDescriptor, above string) []string {
	var all []string
	for _, d := range descriptors {
		entry := above + " " + d.GetKey() + "=" + d.GetValue()
		if limit := d.GetRateLimit(); limit != nil {
			text := strings.TrimSpace(entry) + ": " + limit.String()
			if d.GetShadowMode() {
				text += " shadow"
			}
			all = append(all, strings.ReplaceAll(text, "  ", " "))
		}
		all = append(all, chains(d.GetDescriptors(), entry)...)
	}
	return all
}

func TestConfig(t *testing.T) {
	t.Parallel()
	shadow := rule("second", 5, true, ir.RateMatch{Header: "x-tier"}, ir.RateMatch{Header: "x-user", Distinct: true},
		ir.RateMatch{CIDR: "10.0.0.0/8", Distinct: true})
	shadow.Shadow = true
	all := []*ir.GlobalRateLimit{policy("b", rule("first", 1, false)), policy("a", rule("first", 2, true), shadow)}
	want := []string{
		"rule=shop/a/first: unit:MINUTE requests_per_unit:2",
		"rule=shop/a/second match-0=match-0 match-1= match-2=match-2 remote_address=: unit:MINUTE requests_per_unit:5 shadow",
		"rule=shop/b/first route=: unit:MINUTE requests_per_unit:1",
	}
	config := ratelimit.Config(all)
	if got := chains(config.GetDescriptors(), ""); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	slices.Reverse(all)
	if !proto.Equal(config, ratelimit.Config(all)) {
		t.Error("another order of policies gives another configuration")
	}
}
