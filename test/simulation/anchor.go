package simulation

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatewright/gatewright/internal/translate/wire"
	"github.com/gatewright/gatewright/internal/xds"
)

// anchorScopes are the bytes of the ScopedRds message in the bootstrap.
var anchorScopes = func() string {
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(wire.Scopes())
	if err != nil {
		panic(err)
	}
	return string(out)
}()

// anchorMetadata is how a proxy says that it has the anchor.
var anchorMetadata = &structpb.Struct{Fields: map[string]*structpb.Value{xds.AnchorMetadata: structpb.NewBoolValue(true)}}
