package gateway

import (
	"fmt"

	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// accessLogs is how the Gateway's requests are written down; nil where nobody said. A log that can not be served is left out: one whose
// format is wrong is a problem of the parameters, one that leads nowhere a problem of the reference.
func accessLogs(v *store.View, objects *store.Objects, s settings) (logs []ir.AccessLog, wrong string, unresolved *refs.Problem) {
	if s.spec.AccessLogs == nil {
		return nil, "", nil
	}
	logs = []ir.AccessLog{}
	for i, log := range s.spec.AccessLogs {
		field := fmt.Sprintf("accessLogs[%d]", i)
		resolved := ir.AccessLog{Type: ir.AccessLogType(log.Type), Fields: plain(log.Fields), Format: string(ptr.Deref(log.Format, ""))}
		resolved.MinimumStatus = uint32(ptr.Deref(log.MinimumStatus, 0)) //nolint:gosec // the API server lets three digits pass
		if message := checkFormats(field, resolved); message != "" {
			wrong = message
			continue
		}
		if log.OTLP != nil {
			name, problem := receiver(v, objects, s.logsFrom, field+".otlp.backendRef", log.OTLP.BackendRef)
			if problem != nil {
				unresolved = problem
				continue
			}
			resolved.Backend = name
		}
		logs = append(logs, resolved)
	}
	return logs, wrong, unresolved
}

// tracing is which requests become spans, as the parameters say.
func tracing(v *store.View, objects *store.Objects, s settings) (*ir.Tracing, string, *refs.Problem) {
	spec := s.spec.Tracing
	if spec == nil {
		return nil, "", nil
	}
	t := &ir.Tracing{
		Service: ptr.Deref(spec.ServiceName, ""), Rate: ir.Fraction{Numerator: 1, Denominator: 100},
		FollowParent: true, ParentRate: ir.Fraction{Numerator: 1, Denominator: 1},
	}
	if rate := spec.SamplingRate; rate != nil {
		denominator := int32(100)
		if rate.Denominator != nil {
			denominator = *rate.Denominator
		}
		if rate.Numerator < 0 || denominator < 1 || rate.Numerator > denominator {
			return nil, fmt.Sprintf("tracing.samplingRate %d/%d is not a share of a whole; use a numerator from 0 to the denominator", rate.Numerator, denominator), nil
		}
		t.Rate = ir.Fraction{Numerator: uint32(rate.Numerator), Denominator: uint32(denominator)}
	}
	name, problem := receiver(v, objects, s.tracingFrom, "tracing.backendRef", spec.BackendRef)
	if problem != nil {
		return nil, "", problem
	}
	t.Backend = name
	return t, "", nil
}

// receiver follows a reference of a ProxyConfig in a namespace to whoever takes OTLP.
func receiver(v *store.View, objects *store.Objects, namespace, field string, ref gwv1.BackendObjectReference) (string, *refs.Problem) {
	from := refs.Origin{Group: v1alpha1.GroupName, Kind: string(store.ProxyConfig), Namespace: namespace}
	backend, problem := refs.Backend(v, objects, from, ref, ir.BackendHTTP2)
	if problem != nil {
		return "", &refs.Problem{Reason: problem.Reason, Message: "ProxyConfig: " + field + ": " + problem.Message + "; until then nothing is sent there"}
	}
	return backend.Name(), nil
}
