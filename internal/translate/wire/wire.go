package wire

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// Any packs a message to the same bytes every time, maps included: a resource whose meaning did not change must not be sent again. One
// that Envoy would refuse, or that has no bytes because of a text that is not UTF-8, ends the [Build] it is part of.
func Any(m proto.Message) *anypb.Any {
	if err := check(m); err != nil {
		panic(invalid{err})
	}
	packed := &anypb.Any{}
	if err := anypb.MarshalFrom(packed, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		panic(invalid{fmt.Errorf("pack %T: %w", m, err)})
	}
	return packed
}

// UnresolvedBackend names a cluster that never exists. The share of a backend that cannot be resolved is sent there, which Envoy
// refuses, and the other backends get exactly theirs.
const UnresolvedBackend = "unresolved-backend"

// ADS says that a resource is delivered on the stream its user came by. Its bytes must stay as they are for good: Envoy takes other
// bytes for another source, and waits for what that one has to say while the old answer lies there.
func ADS() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}
