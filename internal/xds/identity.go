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

// Identity is the URI that the certificate of a Gateway's proxies carries as its only URI name. The group is `<namespace>/<name>`.
func Identity(group string) string { return identityPrefix + group }

// groupOf returns the Gateway whose proxy is at the other end, which only its verified certificate can tell.
func groupOf(ctx context.Context) (string, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return "", status.Error(codes.Unauthenticated, "no peer")
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 || len(info.State.VerifiedChains[0]) == 0 {
		return "", status.Error(codes.Unauthenticated, "a client certificate is required")
	}
	uris := info.State.VerifiedChains[0][0].URIs
	if len(uris) != 1 {
		return "", status.Error(codes.PermissionDenied, "the client certificate must name exactly one URI")
	}
	group, ok := strings.CutPrefix(uris[0].String(), identityPrefix)
	namespace, name, both := strings.Cut(group, "/")
	if !ok || !both || namespace == "" || name == "" || strings.ContainsAny(name, "/?#") {
		return "", status.Error(codes.PermissionDenied, "the client certificate is not that of a Gateway's proxy")
	}
	return group, nil
}
