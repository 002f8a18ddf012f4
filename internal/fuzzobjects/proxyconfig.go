package fuzzobjects

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

func (w Generator) daemonSet() metav1.Object {
	d := &appsv1.DaemonSet{ObjectMeta: w.meta(pick(w, namespaces...), ir.FleetName("one", "ours"))}
	own(&d.ObjectMeta)
	d.Status.NumberAvailable = w.Int32N(2)
	return d
}

// classParameters refers to a ProxyConfig, mostly to one that may exist.
func (w Generator) classParameters() *gwv1.ParametersReference {
	if w.coin() {
		return nil
	}
	return &gwv1.ParametersReference{
		Group: v1alpha1.GroupName, Kind: pick[gwv1.Kind](w, gwv1.Kind(store.ProxyConfig), gwv1.Kind(store.ProxyConfig), "ConfigMap"),
		Name: pick(w, "p1", "p2"), Namespace: pick(w, nil, new(gwv1.Namespace("infra")), new(gwv1.Namespace("infra"))),
	}
}

// parameters refers to a ProxyConfig of the Gateway's namespace.
func (w Generator) parameters() *gwv1.GatewayInfrastructure {
	if w.coin() {
		return nil
	}
	return &gwv1.GatewayInfrastructure{ParametersRef: &gwv1.LocalParametersReference{
		Group: v1alpha1.GroupName, Kind: gwv1.Kind(store.ProxyConfig), Name: pick(w, "p1", "p2"),
	}}
}

func (w Generator) proxyConfig() metav1.Object {
	p := &v1alpha1.ProxyConfig{ObjectMeta: w.meta(pick(w, namespaces...), pick(w, "p1", "p2"))}
	p.Spec.Workload = pick(w, nil, nil, new(v1alpha1.DaemonSetWorkload), new(v1alpha1.DeploymentWorkload))
	switch w.IntN(4) {
	case 0:
		p.Spec.Replicas = new(w.Int32N(4))
	case 1:
		p.Spec.Autoscaling = &v1alpha1.Autoscaling{MaxReplicas: 1 + w.Int32N(4)}
	case 2:
		p.Spec.DisruptionBudget = &v1alpha1.DisruptionBudget{MinAvailable: new(intstr.Parse(pick(w, "1", "50%")))}
	}
	if w.coin() {
		p.Spec.Pod = &v1alpha1.Pod{
			Image:     pick(w, nil, new("envoy:test")),
			Labels:    map[string]v1alpha1.LabelValue{pick(w, "a", "b"): "x"},
			Resources: w.resources(),
		}
	}
	if w.coin() {
		p.Spec.Service = &v1alpha1.Service{
			Type:      pick(w, nil, new(corev1.ServiceTypeClusterIP), new(corev1.ServiceTypeNodePort), new(corev1.ServiceTypeLoadBalancer)),
			NodePorts: []v1alpha1.NodePort{{Port: 80, NodePort: 30080}},
		}
	}
	if w.coin() {
		p.Spec.Drain = &v1alpha1.Drain{Delay: pick(w, nil, new(gwv1.Duration("5s"))), Timeout: pick(w, nil, new(gwv1.Duration("1m")))}
	}
	p.Spec.Placement = pick(
		w, nil, nil, new(v1alpha1.PlacementGatewrightNamespace), new(v1alpha1.PlacementShared), new(v1alpha1.PlacementShared),
	)
	p.Spec.Delivery = pick(w, nil, new(v1alpha1.DeliveryXDS), new(v1alpha1.DeliveryFiles))
	if p.Spec.Delivery == nil {
		p.Spec.DefaultGateways = new(v1alpha1.DefaultGatewaysAllowed)
	}
	p.Spec.GeoIP = w.databases()
	w.telemetry(&p.Spec)
	if w.IntN(3) == 0 {
		p.Spec.Patches = &v1alpha1.Patches{Deployment: w.patch(), Service: w.patch()}
	}
	return p
}

// telemetry adds access logs and spans.
func (w Generator) telemetry(spec *v1alpha1.ProxyConfigSpec) {
	if w.coin() {
		spec.Tracing = &v1alpha1.Tracing{BackendRef: w.backend().BackendObjectReference, SamplingRate: pick(
			w, nil, &gwv1.Fraction{Numerator: 5}, &gwv1.Fraction{Numerator: 150},
		)}
	}
	if w.coin() {
		return
	}
	spec.AccessLogs = []v1alpha1.AccessLog{}
	for range w.IntN(3) {
		log := v1alpha1.AccessLog{Type: pick(w, v1alpha1.JSONAccessLog, v1alpha1.TextAccessLog, v1alpha1.OTLPAccessLog)}
		switch log.Type {
		case v1alpha1.JSONAccessLog:
			log.Fields = map[string]v1alpha1.LogFormat{"a": pick[v1alpha1.LogFormat](w, "%RESPONSE_CODE%", "%BOGUS%")}
		case v1alpha1.TextAccessLog:
			log.Format = pick(w, nil, new(v1alpha1.LogFormat("%REQ(:PATH)%")))
		case v1alpha1.OTLPAccessLog:
			log.OTLP = &v1alpha1.OTLPReceiver{BackendRef: w.backend().BackendObjectReference, Headers: pick(
				w, nil, []gwv1.HTTPHeader{{Name: "X-Tenant", Value: "a"}}, []gwv1.HTTPHeader{{Name: "a b", Value: "%"}},
			)}
		}
		spec.AccessLogs = append(spec.AccessLogs, log)
	}
}

func (w Generator) resources() *v1alpha1.Resources {
	if w.coin() {
		return nil
	}
	return &v1alpha1.Resources{
		Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(pick(w, "64Mi", "128Mi", "1Gi"))},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(pick(w, "128Mi", "2Gi"))},
	}
}

func (w Generator) patch() *runtime.RawExtension {
	text := pick(
		w, "", `{"metadata":{"annotations":{"a":"b"}}}`, `{"spec":{"template":{"spec":{"hostNetwork":true}}}}`,
		`{"spec":{"selector":{"x":"y"}}}`, `{"spec":1}`,
	)
	if text == "" {
		return nil
	}
	return &runtime.RawExtension{Raw: []byte(text)}
}
