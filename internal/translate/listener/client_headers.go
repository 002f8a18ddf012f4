package listener

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	earlyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// spoofable are the headers in which proxies tell each other about a client, or steer Envoy. No client is a proxy that we trust, so
// what it sends of them is removed before anything reads it. Envoy then adds x-forwarded-for, x-forwarded-proto and
// x-envoy-external-address from the connection. The matchers are plain ones: they run for each header of each request.
var spoofable = []*mutationv3.HeaderMutation{
	{Action: &mutationv3.HeaderMutation_Remove{Remove: "forwarded"}},
	removeBelow("x-forwarded-"),
	removeBelow(filter.EnvoyHeaders),
}

// nobody is an address that no client has. Without a range Envoy takes all private addresses for parts of its own mesh: it would keep
// what they send of its headers, and the identity that they choose for a request.
var nobody = []*corev3.CidrRange{{AddressPrefix: "255.255.255.255", PrefixLen: wrapperspb.UInt32(32)}}

// trustNobody takes the client's address and scheme from the connection.
func trustNobody(manager *hcmv3.HttpConnectionManager) {
	manager.UseRemoteAddress = wrapperspb.Bool(true)
	manager.InternalAddressConfig = &hcmv3.HttpConnectionManager_InternalAddressConfig{CidrRanges: nobody}
	editEarly(manager, spoofable...)
}

// removeBelow removes the headers whose names begin so.
func removeBelow(prefix string) *mutationv3.HeaderMutation {
	match := &mutationv3.HeaderMutation_RemoveOnMatch{
		KeyMatcher: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: prefix}},
	}
	return &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_RemoveOnMatch_{RemoveOnMatch: match}}
}

// editEarly edits the headers of a request before Envoy reads any of them, after the edits that are there.
func editEarly(manager *hcmv3.HttpConnectionManager, edits ...*mutationv3.HeaderMutation) {
	manager.EarlyHeaderMutationExtensions = append(manager.GetEarlyHeaderMutationExtensions(), &corev3.TypedExtensionConfig{
		Name:        "envoy.http.early_header_mutation.header_mutation",
		TypedConfig: wire.Any(&earlyv3.HeaderMutation{Mutations: edits}),
	})
}
