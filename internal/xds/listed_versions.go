package xds

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// limitVersions bounds what is stored of the resources that a proxy lists in its first request of a type. Of those that exist, a version
// other than the present one is replaced by none: the proxy gets the present one in any case. Those that do not exist must be removed, so
// they cannot be ignored; a stream that lists too many of them ends. Of types without a wildcard only names that the proxy subscribes to
// count, which [stream.limitNames] has limited before.
func (s *stream) limitVersions(t Type, request *discoveryv3.DeltaDiscoveryRequest) error {
	if len(request.GetInitialResourceVersions()) == 0 {
		return nil
	}
	kept, gone := s.knownVersions(t, request)
	if kept == nil {
		s.logger.Warn("proxy lists too many resources that do not exist",
			"group", s.group.id.String(), "pod", s.identity.Pod, "type", t.String(), "resources", gone)
		return status.Errorf(codes.ResourceExhausted, "more than %d listed resources do not exist, with those of type %s",
			s.allowed.gone, t)
	}
	request.InitialResourceVersions = kept
	return nil
}

// knownVersions returns the versions to store, nil if too many resources do not exist, and the number of those. Only the first request of
// a type may list any.
func (s *stream) knownVersions(t Type, request *discoveryv3.DeltaDiscoveryRequest) (kept map[string]string, gone int) {
	s.group.mu.RLock()
	defer s.group.mu.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	kept = map[string]string{}
	if s.subscriptions[t].active {
		return kept, 0
	}
	subscribed := set{}
	for _, name := range request.GetResourceNamesSubscribe() {
		subscribed[name] = struct{}{}
	}
	lookup := s.lookup(t)
	for name, version := range request.GetInitialResourceVersions() {
		if _, wanted := subscribed[name]; !wanted && !t.hasWildcard() {
			continue
		}
		resource := lookup(name)
		switch {
		case resource == nil:
			gone++
			s.gone, s.goneBytes = s.gone+1, s.goneBytes+len(name)
			kept[name] = ""
		case resource.Version() == version:
			// The string of the resource, which is in memory once.
			kept[name] = resource.Version()
		default:
			kept[name] = ""
		}
	}
	if s.gone > s.allowed.gone || s.goneBytes > s.allowed.goneBytes {
		return nil, gone
	}
	return kept, gone
}
