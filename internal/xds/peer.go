package xds

import (
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// peerWatcher is what another replica of the control plane may watch.
type peerWatcher struct {
	cachev3.ConfigWatcher
	identity Identity
	typeURL  string
}

// CreateDeltaWatch rejects requests for other types, and requests with the node of another pod.
func (p peerWatcher) CreateDeltaWatch(
	request *cachev3.DeltaRequest, wanted cachev3.Subscription, out chan cachev3.DeltaResponse,
) (func(), error) {
	if request.GetTypeUrl() != p.typeURL {
		return nil, status.Errorf(codes.PermissionDenied, "a replica of the control plane is given no resources of type %q", request.GetTypeUrl())
	}
	if err := p.identity.checkNode(request.GetNode()); err != nil {
		return nil, err
	}
	return p.ConfigWatcher.CreateDeltaWatch(request, wanted, out)
}
