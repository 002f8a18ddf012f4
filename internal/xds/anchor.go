package xds

import (
	"maps"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// Envoy subscribes to scopes once for each stream. It sends nothing when its last listener with scopes is gone, nor when the next one
// comes. Envoy acknowledges scopes that it receives in between, but drops them. So an ACK of scopes is reliable only while a listener
// of the proxy uses them.
//
// Proxies therefore have an anchor: a listener in their bootstrap that binds no port and uses scopes, so the subscription lives as long
// as the proxy. A proxy with an anchor has the key AnchorMetadata in the metadata of its node. A proxy without one, started by an
// earlier release, gets all scopes once more after each response with a listener that uses them, and the versions that it lists when it
// reconnects are ignored.

// AnchorMetadata is the key in the metadata of a node that reports an anchor.
const AnchorMetadata = "gatewright.dev/scopes-anchor"

func anchored(node *corev3.Node) bool {
	return node.GetMetadata().GetFields()[AnchorMetadata].GetBoolValue()
}

// forgetVersions keeps only the names of the resources that a proxy lists when it reconnects. It may not have them, and gets removals
// for those that are gone.
func forgetVersions(request *discoveryv3.DeltaDiscoveryRequest) {
	for name := range request.GetInitialResourceVersions() {
		request.InitialResourceVersions[name] = ""
	}
}

// scopesBehindListeners returns all scopes for a proxy without an anchor, to be sent after the listeners of the cycle. It is made when
// the cycle begins, so that the clusters of all scopes are in the same cycle. An empty response ends the warming of the listener.
func (s *stream) scopesBehindListeners() *response {
	own, listeners := &s.subscriptions[Scope], s.cycle.pending[Listener]
	if s.anchored || !own.active || listeners == nil {
		return nil
	}
	if !slices.ContainsFunc(listeners.named, func(l *namedResource) bool { return l.needs != nil && l.needs.scopes }) {
		return nil
	}
	r := newResponse(Scope)
	for _, name := range slices.Sorted(maps.Keys(s.group.resources[Scope])) {
		_, nacked := own.nacked[name]
		_, unattributed := own.unattributed[name]
		_, held := own.held[name]
		if resource := s.lookup(Scope)(name); resource != nil && !nacked && !unattributed && !held {
			own.put(r, name, resource)
		}
	}
	return r
}

// resendScopes sends them, and reports whether none are left. Those that were not sent in this cycle after all, because they wait for a
// cluster, are left out, even if there is another version by now.
func (s *stream) resendScopes() bool {
	own := &s.subscriptions[Scope]
	if s.cycle.scopesAgain == nil {
		return true
	}
	if !own.ready() {
		return false
	}
	again := newResponse(Scope)
	for _, resource := range s.cycle.scopesAgain.resources {
		if name := resource.label(); own.sent[name] == resource.Version() {
			again.add(name, resource)
		}
	}
	s.send(Scope, again)
	s.cycle.scopesAgain = nil
	return true
}
