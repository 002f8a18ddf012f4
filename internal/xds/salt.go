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

// When Envoy refuses a response with several scopes, it has recorded those before the bad one without using them. If it is sent the same
// bytes again, it takes them for what it has, acknowledges them, and goes on not using them. It may have been another replica whose
// response it refused, and it does not say so when it connects to this one. So what is sent first on a stream, and after a NACK, has a
// salt: metadata of the route configuration that nothing reads.

// saltLength makes it unlikely enough that a proxy is sent the same salt twice. Each scope has it, so it is short.
const saltLength = 6

func newSalt() string { return rand.Text()[:saltLength] }

// salted is a scope with a salt. Resources of other types, and any with an empty salt, stay as they are.
func salted(t Type, resource *discoveryv3.Resource, salt string) *discoveryv3.Resource {
	if t != Scope || salt == "" {
		return resource
	}
	extra := &routev3.RouteConfiguration{Metadata: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"salt-" + salt: {}}}}
	// Text in base32 always has a wire format.
	content, _ := proto.Marshal(extra)
	// In the wire format, a message that occurs twice is merged.
	body := protowire.AppendTag(append([]byte(nil), resource.GetResource().GetValue()...), scopedConfigurationField, protowire.BytesType)
	body = protowire.AppendBytes(body, content)
	return &discoveryv3.Resource{
		Name: resource.GetName(), Version: resource.GetVersion(), Resource: &anypb.Any{TypeUrl: resource.GetResource().GetTypeUrl(), Value: body},
	}
}
