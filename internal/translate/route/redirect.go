package route

import (
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/ir"
)

var redirectCodes = map[int]routev3.RedirectAction_RedirectResponseCode{
	301: routev3.RedirectAction_MOVED_PERMANENTLY,
	302: routev3.RedirectAction_FOUND,
	303: routev3.RedirectAction_SEE_OTHER,
	307: routev3.RedirectAction_TEMPORARY_REDIRECT,
	308: routev3.RedirectAction_PERMANENT_REDIRECT,
}

func redirect(domain string, r *ir.Redirect, v variant) *routev3.RedirectAction {
	code, known := redirectCodes[r.StatusCode]
	if !known {
		code = routev3.RedirectAction_FOUND
	}
	action := &routev3.RedirectAction{
		HostRedirect: redirectHost(domain, r),
		PortRedirect: max(uint32(max(r.Port, 0)), v.port),
		ResponseCode: code,
	}
	if r.Scheme != "" {
		action.SchemeRewriteSpecifier = &routev3.RedirectAction_SchemeRedirect{SchemeRedirect: r.Scheme}
	}
	if full := fullPath(r.Path); full != "" {
		action.PathRewriteSpecifier = &routev3.RedirectAction_PathRedirect{PathRedirect: full}
	} else if v.replacement != "" {
		action.PathRewriteSpecifier = &routev3.RedirectAction_PrefixRewrite{PrefixRewrite: v.replacement}
	}
	return action
}

// redirectHost names the host where no port is wanted: Envoy keeps the request's Host with its port when it is told neither, and
// `http://a.example:8080` would be sent to `https://a.example:8080`. Below a wildcard the host is not known here; see [withoutPort].
func redirectHost(domain string, r *ir.Redirect) string {
	if r.Hostname == "" && r.Port == 0 && !strings.HasPrefix(domain, "*") {
		return domain
	}
	return r.Hostname
}

// hostWithPort is the Host of a request that names a port.
var hostWithPort = headerMatch(ir.NamedMatch{Name: ":authority", StringMatch: ir.StringMatch{Kind: ir.Regex, Value: ".*:[0-9]+"}})

// withoutPort puts before each match of a redirect that wants no port, below a wildcard, another for requests whose Host has one. Envoy
// drops a port only for another, so the Location of these names the port of the scheme.
func withoutPort(host *ir.VirtualHost, rule *ir.Rule, all []variant) []variant {
	r := rule.Redirect
	if r == nil || r.Hostname != "" || r.Port != 0 || !strings.HasPrefix(host.Domain, "*") {
		return all
	}
	var list []variant
	for _, v := range all {
		named := variant{match: proto.CloneOf(v.match), replacement: v.replacement, port: usualPort(host, r)}
		named.match.Headers = append(named.match.Headers, hostWithPort)
		list = append(list, named, v)
	}
	return list
}

// usualPort is that of the scheme, which is the listener's if the redirect names none.
func usualPort(host *ir.VirtualHost, r *ir.Redirect) uint32 {
	if r.Scheme == "https" || r.Scheme == "" && host.Chain != "" {
		return 443
	}
	return 80
}
