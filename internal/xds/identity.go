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

// Identity identifies the client of a stream: a proxy of a group, or a peer, which is another replica of the control plane. It is
// authenticated when the stream opens, and does not change.
type Identity struct {
	// Group is the group whose resources the proxy gets, zero for a peer. Pods of the rate limit service have a group of their own.
	Group GroupID
	// Pod is the name of the pod.
	Pod string
}

// Peer reports whether this is a replica of the control plane.
func (i Identity) Peer() bool { return i.Group.IsZero() }

// Proof is an authenticated identity, with the expiry of its token.
type Proof struct {
	Identity
	// Owner is the UID of the Gateway, or the class, that the proxy belongs to; see [Cache.Own].
	Owner string
	// Node is the name of the pod's node, empty if the cluster does not report it.
	Node    string
	Expires time.Time
}

// Authenticator authenticates tokens. Its errors are gRPC statuses for the caller: they say what to do, and contain nothing secret.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (Proof, error)
}

const (
	authorizationKey = "authorization"
	bearerScheme     = "bearer "
)

// bearerToken returns the token of a call, empty if there is none.
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

// checkNode rejects a node that contradicts the identity. Claims of a proxy prove nothing, but a proxy that was started with a wrong
// configuration must be noticed.
func (i Identity) checkNode(node *corev3.Node) error {
	switch {
	case node == nil:
		return nil
	case node.GetId() != i.Pod:
		return status.Errorf(codes.PermissionDenied,
			"the node's id is %.100q, and the token is that of pod %q; start the proxy with --service-node=%s", node.GetId(), i.Pod, i.Pod)
	case node.GetCluster() != i.Group.String():
		return status.Errorf(codes.PermissionDenied,
			"the node's cluster is %.200q, and the token is that of a proxy of Gateway %q; start the proxy with the bootstrap of its own fleet",
			node.GetCluster(), i.Group.String())
	}
	return nil
}
