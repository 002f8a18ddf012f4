package xds

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// limitNames bounds the names that do not exist and are stored for a proxy, in case they come to exist. A stream that requests more of
// them ends. In its first request of a type, a proxy lists what it had before, all of which may be gone. There the names beyond the
// limit are ignored, so that the proxy can connect at all.
func (s *stream) limitNames(t Type, request *discoveryv3.DeltaDiscoveryRequest) error {
	if len(request.GetResourceNamesSubscribe()) == 0 {
		return nil
	}
	before := len(request.GetResourceNamesSubscribe())
	kept, first := s.knownNames(t, request.GetResourceNamesSubscribe())
	if len(kept) == before {
		return nil
	}
	s.logger.Warn("proxy subscribes to too many names that do not exist",
		"group", s.group.id.String(), "pod", s.identity.Pod, "type", t.String(), "names", before-len(kept))
	if !first {
		return status.Errorf(codes.ResourceExhausted, "more than %d names of type %s do not exist", maxUnknown, t)
	}
	request.ResourceNamesSubscribe = kept
	return nil
}

// knownNames returns the names that exist, and as many of the others as the limit allows. It reports whether this is the first request
// of the type.
func (s *stream) knownNames(t Type, names []string) (kept []string, first bool) {
	s.group.mu.RLock()
	defer s.group.mu.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &s.subscriptions[t]
	count, bytes := len(own.unknown), own.unknownBytes
	for _, name := range names {
		if _, counted := own.unknown[name]; !counted && name != wildcardName && s.group.lookup(t, name) == nil {
			if count+1 > maxUnknown || bytes+len(name) > maxUnknownBytes {
				continue
			}
			count, bytes = count+1, bytes+len(name)
		}
		kept = append(kept, name)
	}
	return kept, !own.active
}

// noteUnknown counts the names that the proxy subscribed to before they existed.
func (s *subscription) noteUnknown(name string, unknown bool) {
	_, counted := s.unknown[name]
	switch {
	case unknown && !counted:
		s.unknown[name] = struct{}{}
		s.unknownBytes += len(name)
	case !unknown && counted:
		delete(s.unknown, name)
		s.unknownBytes -= len(name)
	}
}
