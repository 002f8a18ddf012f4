package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

func TestTrim(t *testing.T) {
	t.Parallel()
	full := metav1.ObjectMeta{
		Name: "x", ResourceVersion: "7", Labels: map[string]string{"keep": "me"},
		Annotations:   map[string]string{"keep": "me", corev1.LastAppliedConfigAnnotation: "{}"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}
	trimmed := metav1.ObjectMeta{Name: "x", ResourceVersion: "7", Labels: map[string]string{"keep": "me"}}
	annotated := trimmed
	annotated.Annotations = map[string]string{"keep": "me"}
	status := gwv1.GatewayStatus{Conditions: []metav1.Condition{{Type: "Accepted"}}}

	cases := []struct {
		name                 string
		transform            toolscache.TransformFunc
		in, setServedVersion any
	}{
		{
			name: "a Gateway keeps its version, annotations and status", transform: CacheOptions(Scope{}).DefaultTransform,
			in:               &gwv1.Gateway{ObjectMeta: full, Status: status},
			setServedVersion: &gwv1.Gateway{ObjectMeta: annotated, Status: status},
		},
		{
			name: "a Secret keeps only what is served", transform: transformOf[*corev1.Secret](t),
			in: &corev1.Secret{ObjectMeta: full, Data: map[string][]byte{
				"tls.crt": {1}, "tls.key": {2}, "ca.crt": {3}, "keystore.jks": {4},
			}},
			setServedVersion: &corev1.Secret{ObjectMeta: trimmed, Data: map[string][]byte{"tls.crt": {1}, "tls.key": {2}, "ca.crt": {3}}},
		},
		{
			name: "a Namespace keeps its labels", transform: transformOf[*corev1.Namespace](t),
			in:               &corev1.Namespace{ObjectMeta: full},
			setServedVersion: &corev1.Namespace{ObjectMeta: trimmed},
		},
		{
			name: "an EndpointSlice keeps where its endpoints are", transform: transformOf[*discoveryv1.EndpointSlice](t),
			in: &discoveryv1.EndpointSlice{ObjectMeta: full, Endpoints: []discoveryv1.Endpoint{{
				Addresses: []string{"10.0.0.1"}, Zone: new("a"), TargetRef: &corev1.ObjectReference{},
			}}},
			setServedVersion: &discoveryv1.EndpointSlice{ObjectMeta: trimmed, Endpoints: []discoveryv1.Endpoint{{
				Addresses: []string{"10.0.0.1"}, Zone: new("a"),
			}}},
		},
		{
			name: "an EndpointSlice of the rate limit service keeps its pods", transform: transformOf[*discoveryv1.EndpointSlice](t),
			in: &discoveryv1.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: ir.RateLimitServiceName}},
				Endpoints:  []discoveryv1.Endpoint{{TargetRef: &corev1.ObjectReference{Name: "pod"}}},
			},
			setServedVersion: &discoveryv1.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: ir.RateLimitServiceName}},
				Endpoints:  []discoveryv1.Endpoint{{TargetRef: &corev1.ObjectReference{Name: "pod"}}},
			},
		},
		{
			name: "what is no object passes", transform: transformOf[*corev1.Secret](t),
			in: toolscache.DeletedFinalStateUnknown{Key: "a/b"}, setServedVersion: toolscache.DeletedFinalStateUnknown{Key: "a/b"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.transform(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.setServedVersion, got); diff != "" {
				t.Errorf("trimmed (-want +got):\n%s", diff)
			}
		})
	}
	if len(full.Annotations) != 2 {
		t.Error("annotations that others may read were modified")
	}
}

func transformOf[T client.Object](t *testing.T) toolscache.TransformFunc {
	t.Helper()
	for object, options := range CacheOptions(Scope{}).ByObject {
		if _, ok := object.(T); ok {
			return options.Transform
		}
	}
	t.Fatal("nothing is trimmed from this kind")
	return nil
}

func TestCacheHoldsOnlyWhatIsRead(t *testing.T) {
	t.Parallel()
	selectors := map[string]string{}
	for object, options := range CacheOptions(Scope{}).ByObject {
		if options.Field != nil {
			selectors[string(kindOf(t, object))] = options.Field.String()
		}
		if options.Label != nil {
			selectors[string(kindOf(t, object))] = options.Label.String()
		}
	}
	setServedVersion := map[string]string{
		"Deployment": "app.kubernetes.io/managed-by=gatewright", "DaemonSet": "app.kubernetes.io/managed-by=gatewright",
	}
	setServedVersion[string(store.Secret)] = "type!=kubernetes.io/service-account-token,type!=kubernetes.io/dockerconfigjson," +
		"type!=kubernetes.io/dockercfg,type!=kubernetes.io/basic-auth,type!=kubernetes.io/ssh-auth,type!=bootstrap.kubernetes.io/token," +
		"type!=helm.sh/release.v1"
	if diff := cmp.Diff(setServedVersion, selectors); diff != "" {
		t.Errorf("selectors (-want +got):\n%s", diff)
	}
}
