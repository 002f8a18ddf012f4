package wire

import (
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
)

// Scopes says that scopes are delivered on the stream their user came by. Envoy shares one subscription between all connection managers
// whose message is the same, the anchor in the bootstrap included, and fills no other. So its bytes must stay as they are for good.
func Scopes() *hcmv3.ScopedRds { return &hcmv3.ScopedRds{ScopedRdsConfigSource: ADS()} }
