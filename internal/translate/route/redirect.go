package route

import (
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

var redirectCodes = map[int]routev3.RedirectAction_RedirectResponseCode{
	301: routev3.RedirectAction_MOVED_PERMANENTLY,
	302: routev3.RedirectAction_FOUND,
	303: routev3.RedirectAction_SEE_OTHER,
	307: routev3.RedirectAction_TEMPORARY_REDIRECT,
	308: routev3.RedirectAction_PERMANENT_REDIRECT,
}

func redirect(domain string, r *ir.Redirect, replacement string) *routev3.RedirectAction {
	code, known := redirectCodes[r.StatusCode]
	if !known {
		code = routev3.RedirectAction_FOUND
	}
	action := &routev3.RedirectAction{
		HostRedirect: redirectHost(domain, r),
		PortRedirect: uint32(max(r.Port, 0)),
		ResponseCode: code,
	}
	if r.Scheme != "" {
		action.SchemeRewriteSpecifier = &routev3.RedirectAction_SchemeRedirect{SchemeRedirect: r.Scheme}
	}
	if full := fullPath(r.Path); full != "" {
		action.PathRewriteSpecifier = &routev3.RedirectAction_PathRedirect{PathRedirect: full}
	} else if replacement != "" {
		action.PathRewriteSpecifier = &routev3.RedirectAction_PrefixRewrite{PrefixRewrite: replacement}
	}
	return action
}

// redirectHost names the host where no port is wanted: Envoy keeps the request's Host with its port when it is told neither, and
// `http://a.example:8080` would be sent to `https://a.example:8080`. Below a wildcard the host is not known here.
func redirectHost(domain string, r *ir.Redirect) string {
	if r.Hostname == "" && r.Port == 0 && !strings.HasPrefix(domain, "*") {
		return domain
	}
	return r.Hostname
}
