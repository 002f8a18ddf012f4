package filter

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	basicauthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/basic_auth/v3"

	"github.com/gatewright/gatewright/internal/ir"
)

// BasicAuth asks for the user name and the password that a route asks for. A composite filter runs it, because routes cannot choose the
// header with the name of the user.
const BasicAuth = "gatewright.basic_auth"

var basicAuth = allRequired(BasicAuth, basicAuthRun)

func basicAuthRun(policy *ir.RequestPolicy) []run {
	auth := policy.BasicAuth
	if auth == nil || auth.Guard == ir.Off {
		return nil
	}
	return []run{{"envoy.filters.http.basic_auth", &basicauthv3.BasicAuth{
		Users:                 &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: string(auth.Users)}},
		ForwardUsernameHeader: auth.UserHeader,
	}}}
}
