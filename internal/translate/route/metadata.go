package route

import (
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatewright/gatewright/internal/translate/filter"
)

// routeMetadata says which object a rule comes from, by the name of the rule: `<kind>/<namespace>/<name>/...`.
func routeMetadata(rule string) *corev3.Metadata {
	resource := map[string]*structpb.Value{}
	fields := []string{"kind", "namespace", "name"}
	for i, value := range strings.SplitN(rule, "/", len(fields)+1) {
		if i < len(fields) {
			resource[fields[i]] = structpb.NewStringValue(value)
		}
	}
	resources := structpb.NewListValue(&structpb.ListValue{
		Values: []*structpb.Value{structpb.NewStructValue(&structpb.Struct{Fields: resource})},
	})
	return &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
		filter.RouteMetadata: {Fields: map[string]*structpb.Value{"resources": resources}},
	}}
}
