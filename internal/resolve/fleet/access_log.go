package fleet

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/proxyconfig"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// accessLogs resolves the access logs of the parameters, nil if they have none. A log that cannot be written is left out: invalid is
// what is wrong with its format, unresolved what is wrong with its reference.
func accessLogs(v *store.View, objects *store.Objects, s settings) (logs []ir.AccessLog, invalid string, unresolved *refs.Problem) {
	if s.spec.AccessLogs == nil {
		return nil, "", nil
	}
	logs = []ir.AccessLog{}
	for i, log := range s.spec.AccessLogs {
		field := fmt.Sprintf("accessLogs[%d]", i)
		resolved, message := proxyconfig.AccessLog(field, log)
		if message != "" {
			invalid = message
			continue
		}
		if log.OTLP != nil {
			backend, problem := receiver(v, objects, s.logsFrom, field+".otlp.backendRef", log.OTLP.BackendRef)
			if problem != nil {
				unresolved = problem
				continue
			}
			resolved.Backend = backend
		}
		logs = append(logs, resolved)
	}
	return logs, invalid, unresolved
}

// tracing resolves which requests become spans, nil if the parameters do not say.
func tracing(v *store.View, objects *store.Objects, s settings) (*ir.Tracing, string, *refs.Problem) {
	if s.spec.Tracing == nil {
		return nil, "", nil
	}
	t, message := proxyconfig.Tracing(*s.spec.Tracing)
	if message != "" {
		return nil, message, nil
	}
	backend, problem := receiver(v, objects, s.tracingFrom, "tracing.backendRef", s.spec.Tracing.BackendRef)
	if problem != nil {
		return nil, "", problem
	}
	t.Backend = backend
	return &t, "", nil
}

// receiver resolves the OTLP backend that a ProxyConfig in a namespace names.
func receiver(v *store.View, objects *store.Objects, namespace, field string, ref gwv1.BackendObjectReference) (ir.Backend, *refs.Problem) {
	from := refs.Origin{Group: v1alpha1.GroupName, Kind: string(store.ProxyConfig), Namespace: namespace}
	backend, problem := backend.Resolve(v, objects, from, ref, ir.BackendHTTP2)
	if problem != nil {
		return ir.Backend{}, &refs.Problem{
			Reason:  problem.Reason,
			Message: "ProxyConfig: " + field + ": " + problem.Message + "; until then nothing is sent there",
		}
	}
	return backend, nil
}
