package simulation

import (
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatewright/gatewright/internal/translate/wire"
)

// anchorScopes are the bytes of the ScopedRds message in the bootstrap, which must be those that all listeners use.
var anchorScopes = func() string {
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(&hcmv3.ScopedRds{ScopedRdsConfigSource: wire.ADS()})
	if err != nil {
		panic(err)
	}
	return string(out)
}()

// anchorMetadata is how a proxy says that it has the anchor.
var anchorMetadata = &structpb.Struct{Fields: map[string]*structpb.Value{"gatewright.dev/anchor": structpb.NewBoolValue(true)}}
