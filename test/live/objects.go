package live

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

const echoImage = "registry.k8s.io/gateway-api/conformance/echo-basic:v0.2.0"

// EchoPort is the port of echo pods.
const EchoPort = 3000

// Gateway creates a Gateway with one HTTP listener and returns its address once it is programmed.
func (w *Fixture) Gateway(t *testing.T, name string) string {
	t.Helper()
	return w.Programmed(t, GatewayOf(name))
}

// GatewayOf is a Gateway with one HTTP listener.
func GatewayOf(name string) *gwv1.Gateway {
	return &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: GatewayClass,
			Listeners:        []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
		},
	}
}

// Programmed creates a Gateway and returns its address once it is programmed.
func (w *Fixture) Programmed(t *testing.T, gateway *gwv1.Gateway) string {
	t.Helper()
	w.Make(t, gateway)
	return w.WaitProgrammed(t, gateway)
}

// WaitProgrammed waits until a Gateway is programmed, and returns its address.
func (w *Fixture) WaitProgrammed(t *testing.T, gateway *gwv1.Gateway) string {
	t.Helper()
	Eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(gateway), gateway); err != nil {
			return fmt.Errorf("get gateway %s: %w", gateway.Name, err)
		}
		if !meta.IsStatusConditionTrue(gateway.Status.Conditions, string(gwv1.GatewayConditionProgrammed)) || len(gateway.Status.Addresses) == 0 {
			return fmt.Errorf("gateway %s is not programmed: %+v", gateway.Name, gateway.Status)
		}
		return nil
	})
	return gateway.Status.Addresses[0].Value
}

// Route creates an HTTPRoute that sends a host to a Service.
func (w *Fixture) Route(t *testing.T, name, gateway, host, service string) *gwv1.HTTPRoute {
	t.Helper()
	route := HTTPRoute(name, gateway, host, service)
	w.Make(t, route)
	return route
}

// HTTPRoute sends a host to a Service.
func HTTPRoute(name, gateway, host, service string) *gwv1.HTTPRoute {
	return &gwv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: gwv1.HTTPRouteSpec{
			CommonRouteSpec: gwv1.CommonRouteSpec{ParentRefs: []gwv1.ParentReference{{Name: gwv1.ObjectName(gateway)}}},
			Hostnames:       []gwv1.Hostname{gwv1.Hostname(host)},
			Rules: []gwv1.HTTPRouteRule{{BackendRefs: []gwv1.HTTPBackendRef{{BackendRef: gwv1.BackendRef{
				BackendObjectReference: gwv1.BackendObjectReference{Name: gwv1.ObjectName(service), Port: new(gwv1.PortNumber(80))},
			}}}}},
		},
	}
}

// Edit changes a route, whatever its status has become meanwhile.
func (w *Fixture) Edit(t *testing.T, route *gwv1.HTTPRoute, change func(*gwv1.HTTPRoute)) {
	t.Helper()
	Eventually(t, 10*time.Second, 5*time.Millisecond, func(ctx context.Context) error {
		before := route.DeepCopy()
		change(route)
		if err := w.Patch(ctx, route, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("edit route %s: %w", route.Name, err)
		}
		return nil
	})
}

// RouteAccepted says why a route is not accepted by Gatewright.
func (w *Fixture) RouteAccepted(ctx context.Context, route *gwv1.HTTPRoute) error {
	if err := w.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
		return fmt.Errorf("get route %s: %w", route.Name, err)
	}
	for _, parent := range route.Status.Parents {
		if parent.ControllerName == ControllerName && meta.IsStatusConditionTrue(parent.Conditions, string(gwv1.RouteConditionAccepted)) {
			return nil
		}
	}
	return fmt.Errorf("route %s is not accepted: %+v", route.Name, route.Status)
}

// Echo starts pods that answer with their own name, waits for them, and returns them. The environment can make them speak something else
// than HTTP.
func (w *Fixture) Echo(t *testing.T, name string, replicas int32, env ...corev1.EnvVar) []corev1.Pod {
	t.Helper()
	return w.StartEcho(t, EchoDeployment(name, replicas, env...))
}

// EchoDeployment is the Deployment of echo pods.
func EchoDeployment(name string, replicas int32, env ...corev1.EnvVar) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:  "echo",
					Image: echoImage,
					Env:   append(env, fieldEnv("POD_NAME", "metadata.name"), fieldEnv("NAMESPACE", "metadata.namespace")),
				}}},
			},
		},
	}
}

// StartEcho makes a Deployment of echo pods, waits for them, and returns them.
func (w *Fixture) StartEcho(t *testing.T, deployment *appsv1.Deployment) []corev1.Pod {
	t.Helper()
	name, replicas, labels := deployment.Name, *deployment.Spec.Replicas, deployment.Spec.Selector.MatchLabels
	w.Make(t, deployment)
	var pods corev1.PodList
	Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		if err := w.List(ctx, &pods, client.InNamespace(w.Namespace), client.MatchingLabels(labels)); err != nil {
			return fmt.Errorf("list the pods of %s: %w", name, err)
		}
		ready := 0
		for i := range pods.Items {
			if PodReady(&pods.Items[i]) {
				ready++
			}
		}
		if ready != int(replicas) {
			return errors.New("the echo pods are not ready")
		}
		return nil
	})
	return pods.Items
}

// EchoService makes the Service of echo pods.
func (w *Fixture) EchoService(t *testing.T, name string) {
	t.Helper()
	w.Make(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": name},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(EchoPort)}},
		},
	})
}

func fieldEnv(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}
