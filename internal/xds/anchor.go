package xds

import (
	"maps"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// Envoy subscribes to scopes once for each stream. It sends nothing when its last listener that uses scopes is gone, nor when the next one
// comes. Scopes that it receives in between it drops, and acknowledges. So an ACK of scopes means something only while a listener of the
// proxy uses them.
//
// Proxies therefore have an anchor: a listener in their bootstrap that binds no port and uses scopes, so that the subscription lives as
// long as the proxy. A proxy that has it says so in the metadata of its node. One that has none, because an earlier release started it, is
// sent all scopes once more behind each response with a listener that uses them, and the versions that it lists when it reconnects are not
// trusted.

// AnchorMetadata is the key in the metadata of a node by which a proxy says that it has an anchor.
const AnchorMetadata = "gatewright.dev/scopes-anchor"

func anchored(node *corev3.Node) bool {
	return node.GetMetadata().GetFields()[AnchorMetadata].GetBoolValue()
}

// forgetVersions keeps the names of the resources that a proxy lists when it reconnects: it may not have them, and if they are gone it is
// told so.
func forgetVersions(request *discoveryv3.DeltaDiscoveryRequest) {
	for name := range request.GetInitialResourceVersions() {
		request.InitialResourceVersions[name] = ""
	}
}

// scopesBehindListeners is what a proxy without an anchor is sent behind the listeners of the round: all scopes, none of which it may have.
// It is made when the round begins, so that the clusters of all of them are in the same round. An empty response ends the warming of the
// listener.
func (s *stream) scopesBehindListeners() *response {
	own, listeners := &s.subscriptions[Scope], s.round.held[Listener]
	if s.anchored || !own.active || listeners == nil {
		return nil
	}
	if !slices.ContainsFunc(listeners.named, func(l *named) bool { return l.needs != nil && l.needs.scopes }) {
		return nil
	}
	r := newResponse(Scope)
	for _, name := range slices.Sorted(maps.Keys(s.group.resources[Scope])) {
		_, doubted := own.doubted[name]
		_, careful := own.careful[name]
		if resource := s.group.lookup(Scope, name); resource != nil && !doubted && !careful {
			own.put(r, name, resource)
		}
	}
	return r
}

// handScopesAgain hands them over, and says whether none are left.
func (s *stream) handScopesAgain() bool {
	own := &s.subscriptions[Scope]
	if s.round.scopesAgain == nil {
		return true
	}
	if !own.ready() {
		return false
	}
	s.hand(Scope, s.round.scopesAgain)
	s.round.scopesAgain = nil
	return true
}
