package xds

import (
	"context"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// identityPrefix is followed by the Gateway that a proxy belongs to.
const identityPrefix = "spiffe://gatewright.dev/gateway/"

// Identity is who is at the other end of a stream. It is proved when the stream opens and holds for its life.
type Identity struct {
	// Gateway is the one that the proxy serves, `<namespace>/<name>`.
	Gateway string
	// Pod is the name of the proxy's pod, empty where it is not known.
	Pod string
}

// CertificateURI is the only URI name that the certificate of a Gateway's proxies carries. The group is `<namespace>/<name>`.
func CertificateURI(group string) string { return identityPrefix + group }

// identify says who is at the other end, which only its verified certificate can tell.
func identify(ctx context.Context) (Identity, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return Identity{}, status.Error(codes.Unauthenticated, "no peer")
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 || len(info.State.VerifiedChains[0]) == 0 {
		return Identity{}, status.Error(codes.Unauthenticated, "a client certificate is required")
	}
	uris := info.State.VerifiedChains[0][0].URIs
	if len(uris) != 1 {
		return Identity{}, status.Error(codes.PermissionDenied, "the client certificate must name exactly one URI")
	}
	group, ok := strings.CutPrefix(uris[0].String(), identityPrefix)
	namespace, name, both := strings.Cut(group, "/")
	if !ok || !both || namespace == "" || name == "" || strings.ContainsAny(name, "/?#") {
		return Identity{}, status.Error(codes.PermissionDenied, "the client certificate is not that of a Gateway's proxy")
	}
	return Identity{Gateway: group}, nil
}
