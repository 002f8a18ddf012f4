package prototest

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Valid fails the test unless the message, and every message packed inside it, keeps the constraints Envoy declares for it.
func Valid(tb testing.TB, m proto.Message) {
	tb.Helper()
	err := protorange.Range(m.ProtoReflect(), func(p protopath.Values) error {
		inner, ok := p.Index(-1).Value.Interface().(protoreflect.Message)
		if !ok {
			return nil
		}
		checked, ok := inner.Interface().(interface{ ValidateAll() error })
		if !ok {
			return nil
		}
		if err := checked.ValidateAll(); err != nil {
			tb.Errorf("%s: %v", p.Path, err)
		}
		return nil
	})
	if err != nil {
		tb.Errorf("walk %T: %v", m, err)
	}
}
