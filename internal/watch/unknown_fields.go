package watch

import (
	"encoding/json"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatewright/gatewright/internal/store"
)

// unknownFields splits the error of a strict decoder: the paths of fields below spec that the type does not know, and any other error. A
// newer version of ours may have written other fields to the status, and a newer Kubernetes to the metadata.
func unknownFields(err error) ([]string, error) {
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return nil, err
	}
	var paths []string
	for _, one := range strict.Errors() {
		var field interface{ FieldPath() string }
		if errors.As(one, &field) && strings.HasPrefix(field.FieldPath(), "spec.") {
			paths = append(paths, field.FieldPath())
		}
	}
	return paths, nil
}

// marked is an object with a mark that names fields, if there are any.
func (g *Guard) marked(kind watched, object json.RawMessage, unknown []string) json.RawMessage {
	if len(unknown) == 0 {
		return object
	}
	var fields, metadata map[string]json.RawMessage
	var annotations map[string]string
	_ = json.Unmarshal(object, &fields)
	_ = json.Unmarshal(fields["metadata"], &metadata)
	_ = json.Unmarshal(metadata["annotations"], &annotations)
	g.report(kind, fields["metadata"], "unknown fields", errors.New(strings.Join(unknown, ", ")))
	left, _ := json.Marshal(store.WithUnknownFields(annotations, unknown))
	if metadata == nil {
		metadata = map[string]json.RawMessage{}
	}
	metadata["annotations"] = left
	fields["metadata"], _ = json.Marshal(metadata)
	result, _ := json.Marshal(fields)
	return result
}
