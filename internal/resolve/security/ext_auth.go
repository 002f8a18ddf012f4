package security

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/header"
	"github.com/gatewright/gatewright/internal/resolve/values"
)

// authPath is what a path may have. A query is not part of it.
var authPath = regexp.MustCompile(`^/(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})*$`)

// leastTimeout keeps a timeout from being none.
const leastTimeout = time.Millisecond

func (r *resolver) extAuth(e *v1alpha1.ExtAuth) *ir.ExternalAuth {
	auth := &ir.ExternalAuth{}
	auth.Guard = r.guard(e.Mode, func() {
		auth.RequestHeaders = r.headerNames("extAuth.headersToExtAuth", e.HeadersToExtAuth)
		auth.Timeout = r.duration("extAuth.timeout", e.Timeout, 0, leastTimeout)
		auth.FailOpen, auth.Reroute = values.IsTrue(e.FailOpen), values.IsTrue(e.RecomputeRoute)
		if e.StatusOnError != nil {
			if message := values.CheckErrorStatus("extAuth.statusOnError", int(*e.StatusOnError)); message != "" {
				r.fail("%s", message)
			} else {
				auth.StatusOnError = uint32(*e.StatusOnError) //nolint:gosec // checked
			}
		}
		if e.BodyToExtAuth != nil {
			auth.MaxBody = uint32(min(max(e.BodyToExtAuth.MaxRequestBytes, 1), maxBody))
		}
		switch {
		case e.GRPC != nil && e.HTTP == nil:
			auth.GRPC, auth.RouteMetadata = true, values.IsTrue(e.IncludeRouteMetadata)
			auth.Backend = r.server("extAuth.grpc", &e.GRPC.SecurityBackend, nil, ir.BackendHTTP2)
			auth.Context = r.contextExtensions(e.ContextExtensions)
		case e.HTTP != nil && e.GRPC == nil:
			r.httpAuth(e.HTTP, auth)
			if len(e.ContextExtensions) > 0 {
				r.fail("extAuth.contextExtensions reach gRPC servers only; remove them, or use grpc")
			}
		default:
			r.fail("extAuth needs one of grpc and http; set one, or mode None")
		}
	})
	return auth
}

const maxBody = 16 << 20

func (r *resolver) httpAuth(h *v1alpha1.HTTPExtAuth, auth *ir.ExternalAuth) {
	auth.ResponseHeaders = r.headerNames("extAuth.http.headersToBackend", h.HeadersToBackend)
	auth.NoResponseHeaders = len(h.HeadersToBackend) == 0
	for _, name := range auth.ResponseHeaders {
		if slices.Contains(ir.ConnectionHeaders, name) || name == "host" {
			r.fail("extAuth.http.headersToBackend: header %s says how a request is sent and cannot be set; remove it", name)
		}
	}
	auth.PathPrefix = strings.TrimRight(r.authPath("extAuth.http.path", h.Path), "/")
	auth.PathOverride = r.authPath("extAuth.http.pathOverride", h.PathOverride)
	auth.Backend = r.server("extAuth.http", &h.SecurityBackend, &url.URL{}, ir.BackendHTTP1)
}

func (r *resolver) authPath(field string, path *string) string {
	if path == nil || *path == "" {
		return ""
	}
	if !authPath.MatchString(*path) {
		r.fail("%s %q is not a path; begin it with a slash, and leave out the query", field, *path)
	}
	return *path
}

// headerNames are in the form headers are compared in.
func (r *resolver) headerNames(field string, names []string) []string {
	var list []string
	for _, name := range names {
		list = append(list, strings.ToLower(name))
	}
	if message := header.CheckNames(field+": header", list); message != "" {
		r.fail("%s", message)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
