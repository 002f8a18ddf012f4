package files

import (
	"cmp"
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatewright/gatewright/internal/files/layout"
)

// sourceRewriter replaces ADS config sources in resources by files.
type sourceRewriter struct {
	directory string
	// cluster is the name of the enclosing cluster, which is also that of its endpoints unless it names another.
	cluster string
	changed bool
}

// rewriteConfigSources returns the resource as it is in a file.
func rewriteConfigSources(directory string, packed *anypb.Any) (*anypb.Any, error) {
	l := &sourceRewriter{directory: directory}
	result := &anypb.Any{TypeUrl: packed.GetTypeUrl(), Value: packed.GetValue()}
	if err := l.unpacked(result); err != nil {
		return nil, err
	}
	return result, nil
}

// unpacked changes what is inside. What cannot be read here is nothing that was translated here, so it asks for nothing.
func (l *sourceRewriter) unpacked(packed *anypb.Any) error {
	message, err := packed.UnmarshalNew()
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	inside := &sourceRewriter{directory: l.directory, cluster: l.cluster}
	if err := inside.walk(message.ProtoReflect()); err != nil || !inside.changed {
		return err
	}
	l.changed = true
	packed.Value, err = proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		return fmt.Errorf("packing %s: %w", packed.GetTypeUrl(), err)
	}
	return nil
}

func (l *sourceRewriter) walk(message protoreflect.Message) error {
	switch m := message.Interface().(type) {
	case *anypb.Any:
		return l.unpacked(m)
	case *clusterv3.Cluster:
		l.cluster = m.GetName()
	case *clusterv3.Cluster_EdsClusterConfig:
		l.replace(&m.EdsConfig, layout.Endpoints, cmp.Or(m.GetServiceName(), l.cluster))
	case *hcmv3.Rds:
		l.replace(&m.ConfigSource, layout.RouteTables, m.GetRouteConfigName())
	case *tlsv3.SdsSecretConfig:
		l.replace(&m.SdsConfig, layout.Secrets, m.GetName())
	case *corev3.ConfigSource:
		if m.GetAds() != nil {
			return fmt.Errorf("%s refers to a resource that files do not have", message.Descriptor().FullName())
		}
	}
	var problem error
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		problem = l.walkField(field, value)
		return problem == nil
	})
	return problem
}

func (l *sourceRewriter) walkField(field protoreflect.FieldDescriptor, value protoreflect.Value) error {
	switch {
	case field.IsMap():
		if field.MapValue().Message() == nil {
			return nil
		}
		var problem error
		value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
			problem = l.walk(v.Message())
			return problem == nil
		})
		return problem
	case field.Message() == nil:
		return nil
	case field.IsList():
		for i := range value.List().Len() {
			if err := l.walk(value.List().Get(i).Message()); err != nil {
				return err
			}
		}
		return nil
	default:
		return l.walk(value.Message())
	}
}

// pollPods replaces a source by the file of a resource.
func (l *sourceRewriter) replace(source **corev3.ConfigSource, kind layout.Kind, name string) {
	if (*source).GetAds() != nil {
		*source = layout.ConfigSource(l.directory, layout.FileName(kind, name))
		l.changed = true
	}
}
