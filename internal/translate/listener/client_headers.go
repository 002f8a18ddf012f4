package listener

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	earlyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	customheaderv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/original_ip_detection/custom_header/v3"
	xffv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/original_ip_detection/xff/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// spoofable are the headers in which proxies tell each other about a client, or steer Envoy. No client is a proxy that we trust, so
// what it sends of them is removed before anything reads it. Envoy then adds x-forwarded-for, x-forwarded-proto and
// x-envoy-external-address from the connection. The matchers are plain ones: they run for each header of each request.
var spoofable = []*mutationv3.HeaderMutation{
	{Action: &mutationv3.HeaderMutation_Remove{Remove: ir.ForwardedHeader}},
	filter.RemoveHeaders(ir.StringMatch{Kind: ir.Prefix, Value: ir.ForwardedHeaderPrefix}),
	filter.RemoveHeaders(ir.StringMatch{Kind: ir.Prefix, Value: ir.EnvoyHeaderPrefix}),
}

// spoofableByProxies is what remains of them where the peer is a proxy that is trusted.
var spoofableByProxies = []*mutationv3.HeaderMutation{
	filter.RemoveHeaders(ir.StringMatch{Kind: ir.Prefix, Value: ir.EnvoyHeaderPrefix}),
}

// internalAddresses has an address that no client has. Without a range Envoy takes all private addresses for parts of its own mesh: it
// would keep what they send of its headers, and the identity that they choose for a request.
var internalAddresses = []*corev3.CidrRange{{AddressPrefix: "255.255.255.255", PrefixLen: wrapperspb.UInt32(32)}}

// findClient says where the address and the scheme of the client are found: by default at the connection. trusted says that the peer is one
// of the proxies that the policy trusts.
func findClient(manager *hcmv3.HttpConnectionManager, policy *ir.ClientPolicy, trusted bool) {
	manager.UseRemoteAddress = wrapperspb.Bool(true)
	manager.InternalAddressConfig = &hcmv3.HttpConnectionManager_InternalAddressConfig{CidrRanges: internalAddresses}
	address := policy.Address
	switch {
	case address.TrustedHops > 0:
		manager.XffNumTrustedHops, manager.SkipXffAppend = address.TrustedHops, address.KeepForwardedFor
		editEarly(manager, spoofableByProxies...)
	case trusted:
		detectAddress(manager, "envoy.http.original_ip_detection.xff", &xffv3.XffConfig{
			XffTrustedCidrs: &xffv3.XffTrustedCidrs{Cidrs: wire.CIDRs(address.TrustedCIDRs)},
			SkipXffAppend:   wrapperspb.Bool(address.KeepForwardedFor),
		})
		editEarly(manager, spoofableByProxies...)
	case address.Header != "":
		header := &customheaderv3.CustomHeaderConfig{HeaderName: address.Header, AllowExtensionToSetAddressAsTrusted: true}
		if address.RejectMissing {
			header.RejectWithStatus = &typev3.HttpStatus{Code: typev3.StatusCode_Forbidden}
		}
		detectAddress(manager, "envoy.http.original_ip_detection.custom_header", header)
		editEarly(manager, spoofable...)
	default:
		manager.SkipXffAppend = address.KeepForwardedFor && len(address.TrustedCIDRs) == 0
		editEarly(manager, spoofable...)
	}
	nameRequests(manager, policy.Headers.RequestID)
	editEarly(manager, filter.HeaderMutations(policy.Headers.Early)...)
}

// detectAddress finds the address by an extension, which Envoy asks only where it does not use the address of the connection. It then keeps
// the x-request-id of clients, so that is removed where a new one is wanted.
func detectAddress(manager *hcmv3.HttpConnectionManager, name string, config proto.Message) {
	manager.UseRemoteAddress = wrapperspb.Bool(false)
	manager.OriginalIpDetectionExtensions = []*corev3.TypedExtensionConfig{{Name: name, TypedConfig: wire.Any(config)}}
}

// nameRequests says what becomes of x-request-id. By default it is a new one, whatever the client sent, and the client is told it: it is in
// the access log and in what backends get.
func nameRequests(manager *hcmv3.HttpConnectionManager, action string) {
	generate := action == "" || action == ir.RequestIDGenerate || action == ir.RequestIDPreserveOrGenerate
	preserve := action == ir.RequestIDPreserve || action == ir.RequestIDPreserveOrGenerate
	manager.GenerateRequestId = wrapperspb.Bool(generate)
	manager.PreserveExternalRequestId = preserve
	manager.AlwaysSetRequestIdInResponse = generate || preserve
	if !preserve && (!generate || !manager.GetUseRemoteAddress().GetValue()) {
		editEarly(manager, &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: "x-request-id"}})
	}
}

// editEarly edits the headers of a request before Envoy reads any of them, after the edits that are there.
func editEarly(manager *hcmv3.HttpConnectionManager, edits ...*mutationv3.HeaderMutation) {
	if len(edits) == 0 {
		return
	}
	manager.EarlyHeaderMutationExtensions = append(manager.GetEarlyHeaderMutationExtensions(), &corev3.TypedExtensionConfig{
		Name:        "envoy.http.early_header_mutation.header_mutation",
		TypedConfig: wire.Any(&earlyv3.HeaderMutation{Mutations: edits}),
	})
}
