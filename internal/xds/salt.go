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

// When Envoy NACKs a response with several scopes, it has recorded those before the bad one without using them (scoped_rds.cc,
// addOrUpdateScopes). It also records a secret before it tries to use it (sds_api.cc, onConfigUpdate). If Envoy then gets the same bytes
// again, it acknowledges them and still does not use them. The NACK may have gone to another replica, and Envoy does not report it when it
// connects to this one: it lists the version from before. So all scopes and secrets with PEM have a salt that nothing reads: metadata of
// the route configuration of a scope, or a comment in the PEM of a secret.
//
// Each stream has a salt of its own for as long as it lives, and gets another one with each NACK. So no scope or secret ever has the bytes
// of one that was recorded before, however long ago. Versions have no salt: a proxy that reconnects is sent only what has changed, and
// Envoy skips what it is sent twice on one stream. A salt for each scope until its first ACK would need a name for each of them and stream.

// saltLength makes it unlikely that a proxy gets the same salt twice. Each scope has it, so it is short.
const saltLength = 6

func newSalt() string { return rand.Text()[:saltLength] }

// salted returns a scope or a secret with a salt. Resources of other types stay as they are.
func salted(t Type, resource *discoveryv3.Resource, salt string) *discoveryv3.Resource {
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

// saltedSecret adds a comment before the certificates. PEM readers skip text outside of blocks.
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
