package extension

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/values"
)

// maxTimeout is Envoy's.
const maxTimeout = time.Hour

// attribute is what Envoy can send.
var attribute = regexp.MustCompile(`^(connection\.|source\.|destination\.|request\.|response\.|upstream\.|xds\.route_)[a-z_1-9]+$`)

// metadataNamespace is a name of dynamic metadata.
var metadataNamespace = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,253}$`)

// extProc resolves a server.
func (r resolver) extProc(field string, spec *v1alpha1.ExtProc) (*ir.ExtProc, *refs.Problem, string) {
	if len(spec.BackendRefs) != 1 {
		return nil, nil, fmt.Sprintf("%s.backendRefs has %d entries; name one", field, len(spec.BackendRefs))
	}
	server := &ir.ExtProc{
		FailOpen: ptr.Deref(spec.FailOpen, false), Shadow: ptr.Deref(spec.ShadowMode, false),
		StatusOnError: int(ptr.Deref(spec.StatusOnError, 0)),
	}
	for _, read := range []func(string, *v1alpha1.ExtProc, *ir.ExtProc) string{readTimeout, readModes, readMetadata, checkModes} {
		if message := read(field, spec, server); message != "" {
			return nil, nil, message
		}
	}
	resolved, problem := backend.Resolve(r.view, r.objects, r.from, spec.BackendRefs[0], ir.BackendHTTP2)
	if problem != nil {
		problem.Message = fmt.Sprintf("%s.backendRefs[0]: %s", field, problem.Message)
		return nil, problem, ""
	}
	server.Backend = resolved
	return server, nil, ""
}

func readTimeout(field string, spec *v1alpha1.ExtProc, server *ir.ExtProc) string {
	if spec.MessageTimeout == nil {
		return ""
	}
	timeout, err := time.ParseDuration(string(*spec.MessageTimeout))
	if err != nil || timeout <= 0 || timeout > maxTimeout {
		return fmt.Sprintf("%s.messageTimeout %q is not a duration of more than 0s and at most 1h", field, *spec.MessageTimeout)
	}
	server.Timeout = &timeout
	return ""
}

func readModes(field string, spec *v1alpha1.ExtProc, server *ir.ExtProc) string {
	mode := spec.ProcessingMode
	if mode == nil {
		return ""
	}
	server.ModeOverride = ptr.Deref(mode.AllowModeOverride, false)
	var message string
	if server.Request, message = sent(field+".processingMode.request", mode.Request); message != "" {
		return message
	}
	server.Response, message = sent(field+".processingMode.response", mode.Response)
	return message
}

// sent is what a server sees of requests or responses.
func sent(field string, m *v1alpha1.ExtProcMessage) (*ir.ExtProcMessage, string) {
	if m == nil {
		return nil, ""
	}
	for _, name := range m.Attributes {
		if !attribute.MatchString(name) {
			return nil, fmt.Sprintf("%s.attributes: %q is not an attribute of connection, source, destination, request, response, upstream or "+
				"xds.route_; correct it", field, name)
		}
	}
	message := &ir.ExtProcMessage{Attributes: m.Attributes}
	switch mode := ir.BodyMode(ptr.Deref(m.Body, "")); mode {
	case ir.BodyNone, ir.BodyStreamed, ir.BodyBuffered, ir.BodyPartial, ir.BodyFullDuplex:
		message.Body = mode
	default:
		return nil, fmt.Sprintf("%s.body %q is not known; use Streamed, Buffered, BufferedPartial or FullDuplexStreamed", field, mode)
	}
	return message, ""
}

func readMetadata(field string, spec *v1alpha1.ExtProc, server *ir.ExtProc) string {
	if spec.Metadata == nil {
		return ""
	}
	server.Accessible, server.Writable = spec.Metadata.AccessibleNamespaces, spec.Metadata.WritableNamespaces
	for _, list := range [][]string{server.Accessible, server.Writable} {
		for _, name := range list {
			if !metadataNamespace.MatchString(name) {
				return fmt.Sprintf("%s.metadata: %q is not a namespace of metadata; use letters, digits and dots", field, name)
			}
		}
	}
	for _, name := range server.Writable {
		if strings.HasPrefix(name, "envoy.") && name != ir.SubsetMetadata {
			return fmt.Sprintf("%s.metadata.writableNamespaces: %q belongs to Envoy; use one of your own", field, name)
		}
	}
	return ""
}

// checkModes rejects what Envoy does not serve together.
func checkModes(field string, _ *v1alpha1.ExtProc, server *ir.ExtProc) string {
	if server.StatusOnError != 0 {
		if message := values.CheckErrorStatus(field+".statusOnError", server.StatusOnError); message != "" {
			return message
		}
	}
	for _, m := range []*ir.ExtProcMessage{server.Request, server.Response} {
		switch {
		case m == nil:
		case server.FailOpen && m.Body == ir.BodyFullDuplex:
			return field + ": failOpen cannot be beside body FullDuplexStreamed; remove one"
		case server.Shadow && m.Body != ir.BodyNone && m.Body != ir.BodyStreamed:
			return field + ": with shadowMode a body must be Streamed, or not be sent"
		}
	}
	return ""
}
