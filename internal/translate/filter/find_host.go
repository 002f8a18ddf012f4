package filter

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatewright/gatewright/internal/ir"
)

// Where each virtual host is looked up by itself, it is found by the value of this header, `<table>|<host>`, up to a colon.
const (
	ScopeHeader    = "x-gatewright-scope"
	ScopeSeparator = "|"
)

// FindHost looks further for a request that its host, as it is spelled, has no route for: for the host in lower case, then among the
// wildcards. It runs for no request that has found a route. A host whose listener is for it alone is the [Found] one: what it does not
// serve, no wildcard does.
const FindHost = "gatewright.dev/find-host"

var findHost = Filter{
	Name: FindHost, OnDemand: true,
	Listener: func(_ *ir.Port, chain *ir.Chain) (proto.Message, bool) {
		return &luav3.Lua{
			DefaultSourceCode: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: findHostCode}},
		}, chain.ByHost
	},
}

const foundKey = "found"

// findHostCode is all the code of ours that runs in a proxy. To read the metadata of a route makes Envoy look for one; nothing else here
// does.
const findHostCode = `function envoy_on_request(handle)
  local headers = handle:headers()
  local scope = headers:get("` + ScopeHeader + `")
  local lower = string.lower(scope)
  if lower ~= scope then
    headers:replace("` + ScopeHeader + `", lower)
    handle:clearRouteCache()
  end
  handle:metadata()
  if handle:streamInfo():routeName() ~= "" or handle:virtualHost():metadata():get("` + foundKey + `") then return end
  headers:replace("` + ScopeHeader + `", string.match(lower, "^[^` + ScopeSeparator + `]*") .. "` + ScopeSeparator + `*")
  handle:clearRouteCache()
end
`

// Found has FindHost look no further than a virtual host.
func Found(host *routev3.VirtualHost) { host.Metadata = found }

var found = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
	FindHost: {Fields: map[string]*structpb.Value{foundKey: structpb.NewBoolValue(true)}},
}}
