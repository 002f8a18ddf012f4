package auth

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// authPath is what the standard allows as a path before that of the request. Definitions check it too, but not those of every version.
var authPath = regexp.MustCompile(`^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})*$`)

// External resolves a filter. It returns a message if the filter is not supported, and a problem if its backend does not resolve. In both
// cases no request is authorized.
func External(
	v *store.View, objects *store.Objects, from refs.Origin, f *gwv1.HTTPExternalAuthFilter,
) (auth ir.ExternalAuth, problem *refs.Problem, message string) {
	fallback := ir.BackendHTTP1
	switch f.ExternalAuthProtocol {
	case gwv1.HTTPRouteExternalAuthGRPCProtocol:
		auth.GRPC, fallback = true, ir.BackendHTTP2
		if f.GRPCAuthConfig != nil {
			auth.RequestHeaders = headerNames(f.GRPCAuthConfig.AllowedRequestHeaders)
		}
	case gwv1.HTTPRouteExternalAuthHTTPProtocol:
		if c := f.HTTPAuthConfig; c != nil {
			if !authPath.MatchString(c.Path) {
				return auth, nil, fmt.Sprintf("path %q of filter ExternalAuth is not the beginning of a path", c.Path)
			}
			auth.PathPrefix = absolute(c.Path)
			auth.RequestHeaders, auth.ResponseHeaders = headerNames(c.AllowedRequestHeaders), headerNames(c.AllowedResponseHeaders)
		}
	default:
		return auth, nil, fmt.Sprintf("protocol %q of filter ExternalAuth is neither GRPC nor HTTP", f.ExternalAuthProtocol)
	}
	if f.ForwardBody != nil {
		auth.MaxBody = uint32(max(f.ForwardBody.MaxSize, 0))
	}
	if message := header.CheckNames("filter ExternalAuth: header", auth.RequestHeaders, auth.ResponseHeaders); message != "" {
		return auth, nil, message
	}
	backend, problem := backend.Resolve(v, objects, from, f.BackendRef, fallback)
	if problem == nil {
		auth.Backend = backend
	}
	return auth, problem, ""
}

// absolute makes a path one that another can follow.
func absolute(path string) string {
	path = strings.Trim(path, "/")
	if path == "" {
		return ""
	}
	return "/" + path
}

// headerNames are in the form headers are compared in.
func headerNames(names []string) []string {
	var list []string
	for _, name := range names {
		list = append(list, strings.ToLower(name))
	}
	return slices.Compact(slices.Sorted(slices.Values(list)))
}
