package wire

import (
	"fmt"
	"runtime/debug"

	"google.golang.org/protobuf/proto"
)

// ValidationError is a part of a resource that does not keep the constraints Envoy declares, and that was left out for it. Resolvers are
// there so that there is none; it is how the last check says that one of them has a gap.
type ValidationError struct {
	// Owner is the Name of an [ir.Rule], or empty for the resource as a whole.
	Owner  string
	Reason string
}

// invalid is how [Any] ends a translation, whose many steps have no error to return: [Build] is where it arrives.
type invalid struct{ error }

// Build runs a translation and checks its result by Envoy's own constraints (ValidateAll). What is packed inside was checked when it was
// packed. A panic is an error too, so that one object cannot keep others from being translated.
func Build[M proto.Message](translate func() M) (message M, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case invalid:
			err = p.error
		default:
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	message = translate()
	return message, check(message)
}

func check(m proto.Message) error {
	checked, ok := m.(interface{ ValidateAll() error })
	if !ok {
		return nil
	}
	if err := checked.ValidateAll(); err != nil {
		return fmt.Errorf("%s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return nil
}
