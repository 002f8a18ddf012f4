package backend_test

import (
	"slices"
	"strings"
	"testing"

	inferencev1 "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	inferencexv1alpha1 "sigs.k8s.io/gateway-api-inference-extension/apix/v1alpha1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/backend"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
)

// pickers are Services in the namespace `app`.
const pickers = `
kind: Service
metadata: {namespace: app, name: picker}
spec: {ports: [{name: grpc, port: 9002, appProtocol: http2}, {name: plain, port: 9003, appProtocol: kubernetes.io/h2c}]}
---
kind: Service
metadata: {namespace: app, name: outside}
spec: {type: ExternalName, externalName: picker.example, ports: [{port: 9002}]}
---
kind: Service
metadata: {namespace: app, name: trusted}
spec: {ports: [{name: grpc, port: 9002}]}
---
kind: BackendTLSPolicy
metadata: {namespace: app, name: trust}
spec:
  targetRefs: [{group: "", kind: Service, name: trusted}]
  validation: {hostname: picker.app.svc, wellKnownCACertificates: System}
---
`

func pool(spec string) string {
	return "kind: InferencePool\nmetadata: {namespace: app, name: pool, uid: \"1\", generation: 2}\nspec: " + spec + "\n"
}

func poolWith(picker string) string {
	return pool("{selector: {matchLabels: {app: model}}, targetPorts: [{number: 8000}], endpointPickerRef: " + picker + "}")
}

func TestInferencePool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, pool string
		// picker is where requests are decided, empty for load balancing.
		picker             string
		accepted, resolved string
		// refused says that no connection is made.
		refused bool
		message string
	}{
		{
			"a picker expects TLS, of which nothing is verified without a policy",
			poolWith("{name: picker, port: {number: 9002}}"), "app/picker/9002/picker", "Accepted", "ResolvedRefs", false, "add a BackendTLSPolicy",
		},
		{
			"a policy says which certificate to trust",
			poolWith("{name: trusted, port: {number: 9002}}"), "app/trusted/9002/picker", "Accepted", "ResolvedRefs", false, "picker chooses",
		},
		{
			"a port that says so is spoken to in plain text",
			poolWith("{name: picker, port: {number: 9003}}"), "app/picker/9003/http2", "Accepted", "ResolvedRefs", false, "picker chooses",
		},
		{
			"a pool without a picker is load balanced",
			pool("{selector: {matchLabels: {app: model}}, targetPorts: [{number: 8000}]}"), "", "Accepted", "ResolvedRefs", false, "load balancing",
		},
		{
			"a picker that does not exist closes the pool",
			poolWith("{name: none, port: {number: 9002}}"), "", "Accepted", "InvalidExtensionRef", true, "503",
		},
		{
			"with FailOpen a picker that does not exist is done without",
			poolWith("{name: none, port: {number: 9002}, failureMode: FailOpen}"), "", "Accepted", "InvalidExtensionRef", false, "load balanced",
		},
		{"a port is needed", poolWith("{name: picker}"), "", "Accepted", "InvalidExtensionRef", true, "9002 (grpc)"},
		{"a port has to exist", poolWith("{name: picker, port: {number: 1}}"), "", "Accepted", "InvalidExtensionRef", true, "has no TCP port 1"},
		{
			"the standard forbids ExternalName Services",
			poolWith("{name: outside, port: {number: 9002}}"), "", "Accepted", "InvalidExtensionRef", true, "ExternalName",
		},
		{
			"a picker of another kind is not served",
			poolWith("{group: example.com, kind: Picker, name: picker}"), "", "Accepted", "InvalidExtensionRef", true, "refer to a Service",
		},
		{
			"without labels there are no pods, not all",
			pool("{selector: {matchLabels: {}}, targetPorts: [{number: 8000}]}"), "", "NotSupportedByParent", "ResolvedRefs", true, "503",
		},
		{
			"without ports there are no endpoints",
			pool("{selector: {matchLabels: {app: model}}}"), "", "NotSupportedByParent", "ResolvedRefs", true, "503",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := backend.InferencePool(nil, resolvetest.Objects(t, pickers+c.pool), "app/pool")
			if refused := r.TLS != nil && r.TLS.FailClosed; refused != c.refused {
				t.Errorf("TLS: %+v", r.TLS)
			}
			if got := pickerOf(r.Picker); got != c.picker {
				t.Errorf("the picker is %q", got)
			}
			conditions := r.Outcome([]string{"infra/gw"}).Ancestors[0].Conditions
			if conditions[0].Reason != c.accepted || (conditions[0].State == outcome.True) != (c.accepted == "Accepted") ||
				conditions[1].Reason != c.resolved || (conditions[1].State == outcome.True) != (c.resolved == "ResolvedRefs") ||
				!strings.Contains(conditions[0].Message+conditions[1].Message, c.message) {
				t.Errorf("conditions: %+v", conditions)
			}
		})
	}
}

// TestWhatAPoolSaysOfItsPicker: a pool says what becomes of requests, not what its failure mode would be in another case.
func TestWhatAPoolSaysOfItsPicker(t *testing.T) {
	t.Parallel()
	const noLabels = "{selector: {matchLabels: {}}, targetPorts: [{number: 8000}], endpointPickerRef: "
	refused := &refs.Problem{Reason: "InvalidPolicy", Message: "BackendTLSPolicy app/trust cannot be served"}
	for _, c := range []struct {
		name, pool         string
		refused            *refs.Problem
		accepted, resolved string
		not                string
	}{
		{
			"FailOpen does not open a pool that cannot be served",
			pool(noLabels + "{name: none, port: {number: 9002}, failureMode: FailOpen}}"), nil,
			"answered 503", "503 as long as the pool is not accepted", "failureMode",
		},
		{
			"nor is FailClose what closes it", pool(noLabels + "{name: none, port: {number: 9002}}}"), nil,
			"answered 503", "503 as long as the pool is not accepted", "failureMode",
		},
		{
			"a picker that gets no connection closes the pool", poolWith("{name: trusted, port: {number: 9002}}"), refused,
			"once its endpoint picker can be used", "app/trust cannot be served; until then requests are answered 503", "picker chooses",
		},
		{
			"with FailOpen it is done without", poolWith("{name: trusted, port: {number: 9002}, failureMode: FailOpen}"), refused,
			"by load balancing", "app/trust cannot be served; until then requests are load balanced", "picker chooses",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := backend.InferencePool(nil, resolvetest.Objects(t, pickers+c.pool), "app/pool")
			if c.refused != nil {
				r = r.WithPickerRefused(c.refused)
			}
			conditions := r.Outcome([]string{"infra/gw"}).Ancestors[0].Conditions
			if !strings.Contains(conditions[0].Message, c.accepted) || !strings.Contains(conditions[1].Message, c.resolved) ||
				conditions[1].Reason != "InvalidExtensionRef" || strings.Contains(conditions[0].Message+conditions[1].Message, c.not) {
				t.Errorf("conditions: %+v", conditions)
			}
		})
	}
}

func pickerOf(p *ir.EndpointPicker) string {
	if p == nil {
		return ""
	}
	return p.Backend.String()
}

func TestEndpointsOfAnInferencePool(t *testing.T) {
	t.Parallel()
	ports := "[{number: 8002}, {number: 8000}, {number: 8002}]"
	objects := resolvetest.Objects(t, pool("{selector: {matchLabels: {app: model}}, targetPorts: "+ports+"}"))
	s := backend.InferencePool(nil, objects, "app/pool").Selector
	if s == nil || s.UID != "1" || s.Backend.String() != "InferencePool/app/pool" || s.Labels["app"] != "model" ||
		!slices.Equal(s.Ports, []int32{8002, 8000}) {
		t.Errorf("selector: %+v", s)
	}
}

func TestOfRule(t *testing.T) {
	t.Parallel()
	const grant = `
kind: ReferenceGrant
metadata: {namespace: app, name: grant}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: web}]
  to: [{group: inference.networking.k8s.io, kind: InferencePool}, {group: inference.networking.x-k8s.io, kind: InferencePoolImport}]
---
kind: InferencePoolImport
metadata: {namespace: app, name: far}
---
`
	h2c := pool("{selector: {matchLabels: {app: model}}, targetPorts: [{number: 8000}], appProtocol: kubernetes.io/h2c}")
	http, web := poolWith("{name: picker, port: {number: 9002}}"), refs.Origin{Kind: "HTTPRoute", Namespace: "web"}
	app, grpc := refs.Origin{Kind: "HTTPRoute", Namespace: "app"}, refs.Origin{Kind: "GRPCRoute", Namespace: "app"}
	service := gwv1.BackendObjectReference{Name: "picker", Port: new(gwv1.PortNumber(9003))}
	for _, c := range []struct {
		name, objects string
		from          refs.Origin
		ref           gwv1.BackendObjectReference
		want          string
	}{
		{"HTTP/1.1 unless the pool says otherwise", http, app, poolRef("pool"), "InferencePool/app/pool/0"},
		{"h2c", h2c, app, poolRef("pool"), "InferencePool/app/pool/0/http2"},
		{"gRPC by h2c", h2c, grpc, poolRef("pool"), "InferencePool/app/pool/0/http2"},
		{"no gRPC by HTTP/1.1", http, grpc, poolRef("pool"), "UnsupportedProtocol"},
		{"a pool that does not exist", h2c, app, poolRef("none"), "BackendNotFound"},
		{"another namespace needs a grant", h2c, web, in("app", poolRef("pool")), "RefNotPermitted"},
		{"another namespace with a grant", grant + h2c, web, in("app", poolRef("pool")), "InferencePool/app/pool/0/http2"},
		{"an import is not served", grant + h2c, app, importRef("far"), "InvalidKind"},
		{"an import of another namespace needs a grant", h2c, web, in("app", importRef("far")), "RefNotPermitted"},
		{"an import that does not exist", h2c, app, importRef("far"), "BackendNotFound"},
		{"a Service", h2c, app, service, "app/picker/9003/http2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			objects := resolvetest.Objects(t, pickers+c.objects)
			fallback := ir.BackendHTTP1
			if c.from.Kind == "GRPCRoute" {
				fallback = ir.BackendHTTP2
			}
			b, _, problem := backend.OfRule(nil, objects, c.from, c.ref, fallback)
			got := b.String()
			if problem != nil {
				got = problem.Reason
			}
			if got != c.want {
				t.Errorf("got %q, want %q: %+v", got, c.want, problem)
			}
		})
	}
}

func poolRef(name gwv1.ObjectName) gwv1.BackendObjectReference {
	return gwv1.BackendObjectReference{Group: new(gwv1.Group(inferencev1.GroupName)), Kind: new(gwv1.Kind("InferencePool")), Name: name}
}

func importRef(name gwv1.ObjectName) gwv1.BackendObjectReference {
	return gwv1.BackendObjectReference{
		Group: new(gwv1.Group(inferencexv1alpha1.GroupName)), Kind: new(gwv1.Kind("InferencePoolImport")), Name: name,
	}
}

func in(namespace gwv1.Namespace, ref gwv1.BackendObjectReference) gwv1.BackendObjectReference {
	ref.Namespace = &namespace
	return ref
}

func TestAnInferencePoolIsNoServer(t *testing.T) {
	t.Parallel()
	from := refs.Origin{Kind: "TCPRoute", Namespace: "app"}
	_, problem := backend.Resolve(nil, resolvetest.Objects(t, pickers), from, poolRef("pool"), ir.BackendTCP)
	if problem == nil || problem.Reason != "InvalidKind" || !strings.Contains(problem.Message, "InferencePool app/pool can get only") {
		t.Errorf("got %+v", problem)
	}
}
