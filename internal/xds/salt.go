package xds

import (
	"crypto/rand"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// When Envoy refuses a response with several scopes, it has recorded those before the bad one without using them. If it is sent the same bytes again, it takes
// them for what it has, acknowledges them, and goes on not using them. It may have been another replica whose response it refused. So what is sent after a
// NACK, and first on a stream of a proxy that reconnects, has a salt: metadata of the route configuration that nothing reads.

const saltKey = "gatewright.dev/salt"

func newSalt() string { return rand.Text() }

// salted is a scope with a salt. Resources of other types, and any with an empty salt, stay as they are.
func salted(t Type, resource *discoveryv3.Resource, salt string) *discoveryv3.Resource {
	if t != Scope || salt == "" {
		return resource
	}
	extra := &routev3.RouteConfiguration{Metadata: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
		saltKey: {Fields: map[string]*structpb.Value{"salt": structpb.NewStringValue(salt)}},
	}}}
	// Text in base32 always has a wire format.
	content, _ := proto.Marshal(extra)
	// In the wire format, a message that occurs twice is merged.
	body := protowire.AppendTag(append([]byte(nil), resource.GetResource().GetValue()...), scopedConfigurationField, protowire.BytesType)
	body = protowire.AppendBytes(body, content)
	return &discoveryv3.Resource{
		Name: resource.GetName(), Version: resource.GetVersion(), Resource: &anypb.Any{TypeUrl: resource.GetResource().GetTypeUrl(), Value: body},
	}
}
