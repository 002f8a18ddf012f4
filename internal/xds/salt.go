package xds

import (
	"crypto/rand"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// When Envoy refuses a response with several scopes, it has recorded those before the bad one without using them. It records a secret before
// it tries to use it. If it is sent the same bytes again, it takes them for what it has, acknowledges them, and goes on not using them. It
// may have been another replica whose response it refused, and it does not say so when it connects to this one. So what is sent first on a
// stream, and after a NACK, has a salt that nothing reads: metadata of the route configuration of a scope, a comment in the PEM of a secret.

// saltLength makes it unlikely enough that a proxy is sent the same salt twice. Each scope has it, so it is short.
const saltLength = 6

func newSalt() string { return rand.Text()[:saltLength] }

// salted is a scope or a secret with a salt. Resources of other types, and any with an empty salt, stay as they are.
func salted(t Type, resource *discoveryv3.Resource, salt string) *discoveryv3.Resource {
	if salt == "" {
		return resource
	}
	var body []byte
	switch t {
	case Scope:
		body = saltedScope(resource.GetResource().GetValue(), salt)
	case Secret:
		body = saltedSecret(resource.GetResource().GetValue(), salt)
	default:
		return resource
	}
	return &discoveryv3.Resource{
		Name: resource.GetName(), Version: resource.GetVersion(), Resource: &anypb.Any{TypeUrl: resource.GetResource().GetTypeUrl(), Value: body},
	}
}

func saltedScope(value []byte, salt string) []byte {
	extra := &routev3.RouteConfiguration{Metadata: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"salt-" + salt: {}}}}
	// Text in base32 always has a wire format.
	content, _ := proto.Marshal(extra)
	// In the wire format, a message that occurs twice is merged.
	body := protowire.AppendTag(append([]byte(nil), value...), scopedConfigurationField, protowire.BytesType)
	return protowire.AppendBytes(body, content)
}

// saltedSecret puts a comment before the certificates. Readers of PEM skip what stands outside of its blocks.
func saltedSecret(value []byte, salt string) []byte {
	secret := &tlsv3.Secret{}
	if err := proto.Unmarshal(value, secret); err != nil {
		return value
	}
	source := secret.GetTlsCertificate().GetCertificateChain()
	if source == nil {
		source = secret.GetValidationContext().GetTrustedCa()
	}
	pem, ok := source.GetSpecifier().(*corev3.DataSource_InlineBytes)
	if !ok {
		return value
	}
	pem.InlineBytes = append([]byte("# salt "+salt+"\n"), pem.InlineBytes...)
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(secret)
	if err != nil {
		return value
	}
	return body
}
