package backend

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
)

// ResolvedInferencePool is how proxies find the endpoints of an InferencePool.
type ResolvedInferencePool struct {
	// Selector selects its endpoints.
	Selector *ir.Selector
	// Picker chooses one for each request, nil for a pool without a reference to one.
	Picker *ir.EndpointPicker
	// TLS is nil, or refuses connections if there is to be a picker that cannot be used.
	TLS *ir.BackendTLS
	// Accepted says why the pool cannot be served, and ResolvedRefs what is wrong with the reference to its picker.
	Accepted, ResolvedRefs *refs.Problem
	// Unverified says that any certificate of the picker will do.
	Unverified bool
	Generation int64
}

// InferencePool resolves the InferencePool of that key.
func InferencePool(v *store.View, objects *store.Objects, key string) ResolvedInferencePool {
	pool, ok := objects.InferencePools.Get(v, key)
	if !ok {
		return ResolvedInferencePool{}
	}
	r := ResolvedInferencePool{Generation: pool.Generation}
	r.Selector, r.Accepted = poolSelector(pool)
	r.Picker, r.ResolvedRefs = picker(v, objects, pool)
	r.Unverified = r.Picker != nil && r.Picker.Backend.Protocol == ir.BackendPicker && !hasTLSPolicyOf(v, objects, r.Picker.Backend)
	if r.Accepted != nil || r.ResolvedRefs != nil && !failsOpen(pool) {
		r.TLS = &ir.BackendTLS{FailClosed: true}
	}
	return r
}

// BrokenInferencePool is a pool whose resolution panicked. It is not known who chooses its endpoints, so it gets no connection.
func BrokenInferencePool(v *store.View, objects *store.Objects, key string) ResolvedInferencePool {
	pool, ok := objects.InferencePools.Get(v, key)
	if !ok {
		return ResolvedInferencePool{}
	}
	return ResolvedInferencePool{
		Generation: pool.Generation, TLS: &ir.BackendTLS{FailClosed: true}, Accepted: &refs.Problem{
			Reason:  outcome.InternalError,
			Message: "Gatewright failed to process the pool, so requests are answered 503; please report it as a bug",
		},
	}
}

// IsResolved is false for the zero value, and for a pool that does not exist.
func (r ResolvedInferencePool) IsResolved() bool { return r.Selector != nil || r.Accepted != nil }

// hasTLSPolicyOf reports whether a BackendTLSPolicy, valid or not, targets the port of a picker.
func hasTLSPolicyOf(v *store.View, objects *store.Objects, b ir.Backend) bool {
	service, ok := objects.Services.Get(v, b.Object.String())
	if !ok {
		return false
	}
	port, _ := tcpPort(service, b.Port)
	return hasTLSPolicy(v, objects, b.Target(), port.Name)
}

func failsOpen(pool *inferencev1.InferencePool) bool {
	ref := pool.Spec.EndpointPickerRef
	return ref != nil && ref.FailureMode == inferencev1.EndpointPickerFailOpen
}

// maxTargetPorts is the limit of the API.
const maxTargetPorts = 8

// poolSelector reads the labels and ports of a pool. Definitions check them too, but not those of every version.
func poolSelector(pool *inferencev1.InferencePool) (*ir.Selector, *refs.Problem) {
	s := &ir.Selector{
		Backend: ir.BackendTarget{Kind: ir.KindInferencePool, Object: ir.Name{Namespace: pool.Namespace, Name: pool.Name}},
		UID:     string(pool.UID), Labels: map[string]string{},
	}
	for key, value := range pool.Spec.Selector.MatchLabels {
		s.Labels[string(key)] = string(value)
	}
	seen := map[int32]bool{}
	for _, port := range pool.Spec.TargetPorts {
		if number := int32(port.Number); number > 0 && !seen[number] {
			seen[number] = true
			s.Ports = append(s.Ports, number)
		}
	}
	switch {
	case len(s.Labels) == 0:
		return nil, unusablePool("selector.matchLabels is empty, which selects no pods; add a label")
	case len(s.Ports) == 0 || len(s.Ports) > maxTargetPorts:
		return nil, unusablePool(fmt.Sprintf("targetPorts has %d ports; name 1 to %d", len(s.Ports), maxTargetPorts))
	default:
		return s, nil
	}
}

func unusablePool(message string) *refs.Problem {
	return &refs.Problem{
		Reason: string(inferencev1.InferencePoolReasonNotSupportedByParent), Message: message + "; until then requests are answered 503",
	}
}

// picker resolves the reference to the endpoint picker, which is in the namespace of the pool. It is nil if there is no reference.
func picker(v *store.View, objects *store.Objects, pool *inferencev1.InferencePool) (*ir.EndpointPicker, *refs.Problem) {
	if pool.Spec.EndpointPickerRef == nil {
		return nil, nil
	}
	server, problem := pickerServer(v, objects, pool)
	return &ir.EndpointPicker{Backend: server, Broken: problem != nil, FailOpen: failsOpen(pool)}, problem
}

func pickerServer(v *store.View, objects *store.Objects, pool *inferencev1.InferencePool) (ir.Backend, *refs.Problem) {
	ref := pool.Spec.EndpointPickerRef
	key := store.Key(pool.Namespace, string(ref.Name))
	if group, kind := ptr.Deref(ref.Group, coreGroup), ref.Kind; group != coreGroup || kind != "" && kind != "Service" {
		return ir.Backend{}, unusablePicker(fmt.Sprintf("endpointPickerRef has kind %q in group %q; refer to a Service", kind, group))
	}
	service, ok := objects.Services.Get(v, key)
	if !ok {
		return ir.Backend{}, unusablePicker(fmt.Sprintf("Service %s does not exist; create it, or correct endpointPickerRef.name", key))
	}
	switch {
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return ir.Backend{}, unusablePicker(fmt.Sprintf("Service %s is of type ExternalName, which is not served; refer to another", key))
	case ref.Port == nil:
		return ir.Backend{}, unusablePicker(fmt.Sprintf(
			"endpointPickerRef names no port of Service %s; add one of these: %s", key, portsOf(service),
		))
	}
	number := int32(ref.Port.Number)
	port, ok := tcpPort(service, number)
	if !ok {
		return ir.Backend{}, unusablePicker(wrongPort(service, corev1.ProtocolTCP, number))
	}
	return ir.Backend{
		Object: ir.Name{Namespace: service.Namespace, Name: service.Name}, Port: number, Protocol: pickerProtocol(port),
	}, nil
}

func tcpPort(service *corev1.Service, number int32) (corev1.ServicePort, bool) {
	for _, port := range service.Spec.Ports {
		if port.Port == number && transportOf(port.Protocol) == corev1.ProtocolTCP {
			return port, true
		}
	}
	return corev1.ServicePort{}, false
}

func unusablePicker(message string) *refs.Problem {
	return &refs.Problem{Reason: string(inferencev1.InferencePoolReasonInvalidExtensionRef), Message: message}
}

// pickerProtocol is plain text only where the port says so by name: pickers expect TLS, also on ports whose appProtocol is `http2`.
func pickerProtocol(port corev1.ServicePort) ir.BackendProtocol {
	switch strings.ToLower(ptr.Deref(port.AppProtocol, "")) {
	case appProtocolH2C, "h2c":
		return ir.BackendHTTP2
	default:
		return ir.BackendPicker
	}
}

// Outcome returns the status of an InferencePool for each of the Gateways that send requests to it.
func (r ResolvedInferencePool) Outcome(gateways []string) outcome.Policy {
	o := outcome.Policy{Generation: r.Generation}
	accepted := outcome.Condition{
		Type: string(inferencev1.InferencePoolConditionAccepted), State: outcome.True,
		Reason: string(inferencev1.InferencePoolReasonAccepted), Message: "requests are sent to the pods that the labels choose, " + r.choice(),
	}
	switch {
	case r.Accepted != nil:
		accepted.State, accepted.Reason, accepted.Message = outcome.False, r.Accepted.Reason, r.Accepted.Message
	case r.ResolvedRefs != nil && !r.Picker.FailOpen:
		accepted.Message = "the pool gets requests once its endpoint picker can be used"
	}
	resolved := outcome.Condition{
		Type: string(inferencev1.InferencePoolConditionResolvedRefs), State: outcome.True,
		Reason: string(inferencev1.InferencePoolReasonResolvedRefs), Message: refs.Resolved,
	}
	if r.ResolvedRefs != nil {
		resolved.State, resolved.Reason = outcome.False, r.ResolvedRefs.Reason
		resolved.Message = r.ResolvedRefs.Message + "; " + r.consequence()
	}
	for _, gateway := range gateways {
		o.Ancestors = append(o.Ancestors, outcome.Parent{
			Ref: attach.GatewayRef(gateway), Conditions: []outcome.Condition{accepted, resolved},
		})
	}
	return o
}

// WithPickerRefused is the pool while proxies make no connection to its picker for that reason. It does what its failure mode says.
func (r ResolvedInferencePool) WithPickerRefused(problem *refs.Problem) ResolvedInferencePool {
	r.ResolvedRefs = unusablePicker(problem.Message)
	return r
}

// consequence says what becomes of requests while the picker cannot be used.
func (r ResolvedInferencePool) consequence() string {
	switch {
	case r.Accepted != nil:
		return "requests are answered 503 as long as the pool is not accepted"
	case r.Picker.FailOpen:
		return "until then requests are load balanced, since failureMode is FailOpen"
	default:
		return "until then requests are answered 503, since failureMode is FailClose"
	}
}

// choice says who chooses the endpoint of a request.
func (r ResolvedInferencePool) choice() string {
	switch {
	case r.Picker == nil || r.ResolvedRefs != nil:
		return "by load balancing"
	case r.Unverified:
		return "as the endpoint picker chooses, whose certificate is not verified; add a BackendTLSPolicy for its Service"
	default:
		return "as the endpoint picker chooses"
	}
}

// ImportOutcome returns the status of an InferencePoolImport for each of the Gateways whose routes refer to it.
func ImportOutcome(v *store.View, objects *store.Objects, key string, gateways []string) outcome.Policy {
	o := outcome.Policy{}
	if object, ok := objects.InferencePoolImports.Get(v, key); ok {
		o.Generation = object.Generation
	}
	for _, gateway := range gateways {
		o.Ancestors = append(o.Ancestors, outcome.Parent{Ref: attach.GatewayRef(gateway), Conditions: []outcome.Condition{{
			Type: string(inferencev1.InferencePoolConditionAccepted), State: outcome.False,
			Reason:  string(inferencev1.InferencePoolReasonNotSupportedByParent),
			Message: "the import stands for pools of other clusters, " + importLimit + "; refer to an InferencePool of this cluster",
		}}})
	}
	return o
}
