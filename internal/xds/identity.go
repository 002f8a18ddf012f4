package xds

import (
	"context"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Identity is who is at the other end of a stream: a proxy of a Gateway, or a peer, which is another replica of the control plane. It is
// proved when the stream opens and holds for its life.
type Identity struct {
	// Gateway is the one that the proxy serves, `<namespace>/<name>`; empty for a peer.
	Gateway string
	// Pod is the name of the pod.
	Pod string
}

// Peer says that this is a replica of the control plane, and no proxy of any Gateway.
func (i Identity) Peer() bool { return i.Gateway == "" }

// Proof is an identity and the end of what proves it.
type Proof struct {
	Identity
	// Node is the name of the node that the pod runs on, empty if the cluster does not say.
	Node    string
	Expires time.Time
}

// Authenticator finds out whose a token is. Its errors are gRPC statuses, which the caller is shown: they say what to do, and hold
// nothing secret.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (Proof, error)
}

const (
	authorizationKey = "authorization"
	bearerScheme     = "bearer "
)

// bearerToken is the token that came with a call; empty if there is none.
func bearerToken(ctx context.Context) (string, error) {
	values := metadata.ValueFromIncomingContext(ctx, authorizationKey)
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", status.Error(codes.Unauthenticated, "there is more than one authorization header; send one")
	}
	value := values[0]
	if len(value) < len(bearerScheme) || !strings.EqualFold(value[:len(bearerScheme)], bearerScheme) {
		return "", status.Error(codes.Unauthenticated, "the authorization header holds no bearer token; send `Bearer <token>`")
	}
	return strings.TrimSpace(value[len(bearerScheme):]), nil
}

// checkNode refuses what contradicts the identity. What a proxy says of itself proves nothing, so agreement gains it nothing either; but
// one that was started as something else than it is must not go unnoticed.
func (i Identity) checkNode(node *corev3.Node) error {
	switch {
	case node == nil:
		return nil
	case node.GetId() != i.Pod:
		return status.Errorf(codes.PermissionDenied, "the node's id is %.100q, and the token is that of pod %q; start the proxy with --service-node=%s", node.GetId(), i.Pod, i.Pod)
	case node.GetCluster() != i.Gateway:
		return status.Errorf(codes.PermissionDenied, "the node's cluster is %.200q, and the token is that of a proxy of Gateway %q; start the proxy with the bootstrap of its own fleet",
			node.GetCluster(), i.Gateway)
	}
	return nil
}
