package resolvetest

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/store"
)

// prototypes makes an empty object of each kind.
var prototypes = map[store.Kind]func() metav1.Object{
	store.GatewayClass:          func() metav1.Object { return &gwv1.GatewayClass{} },
	store.Gateway:               func() metav1.Object { return &gwv1.Gateway{} },
	store.ListenerSet:           func() metav1.Object { return &gwv1.ListenerSet{} },
	store.TLSRoute:              func() metav1.Object { return &gwv1.TLSRoute{} },
	store.TCPRoute:              func() metav1.Object { return &gwv1.TCPRoute{} },
	store.UDPRoute:              func() metav1.Object { return &gwv1.UDPRoute{} },
	store.BackendTLSPolicy:      func() metav1.Object { return &gwv1.BackendTLSPolicy{} },
	store.ConfigMap:             func() metav1.Object { return &corev1.ConfigMap{} },
	store.HTTPRoute:             func() metav1.Object { return &gwv1.HTTPRoute{} },
	store.GRPCRoute:             func() metav1.Object { return &gwv1.GRPCRoute{} },
	store.XBackendTrafficPolicy: func() metav1.Object { return &gwxv1alpha1.XBackendTrafficPolicy{} },
	store.XBackend:              func() metav1.Object { return &gwxv1alpha1.XBackend{} },
	store.XTelemetryPolicy:      func() metav1.Object { return &gwxv1alpha1.XTelemetryPolicy{} },
	store.ReferenceGrant:        func() metav1.Object { return &gwv1.ReferenceGrant{} },
	store.Namespace:             func() metav1.Object { return &corev1.Namespace{} },
	store.Service:               func() metav1.Object { return &corev1.Service{} },
	store.Secret:                func() metav1.Object { return &corev1.Secret{} },
	store.EndpointSlice:         func() metav1.Object { return &discoveryv1.EndpointSlice{} },
	store.Node:                  func() metav1.Object { return &corev1.Node{} },
	store.Deployment:            func() metav1.Object { return &appsv1.Deployment{} },
	store.DaemonSet:             func() metav1.Object { return &appsv1.DaemonSet{} },
	store.ProxyConfig:           func() metav1.Object { return &v1alpha1.ProxyConfig{} },

	store.ClusterTrustBundle:       func() metav1.Object { return &certificatesv1.ClusterTrustBundle{} },
	store.CustomResourceDefinition: func() metav1.Object { return &apiextensionsv1.CustomResourceDefinition{} },
}

// Parse reads the documents of a YAML text as changes.
func Parse(text string) ([]store.Change, error) {
	var changes []store.Change
	for _, document := range strings.Split(text, "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		var head metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			return nil, fmt.Errorf("reading YAML: %w\n%s", err, document)
		}
		kind := store.Kind(head.Kind)
		prototype, ok := prototypes[kind]
		if !ok {
			return nil, fmt.Errorf("kind %q is not watched", head.Kind)
		}
		object := prototype()
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			return nil, fmt.Errorf("reading a %s: %w\n%s", kind, err, document)
		}
		changes = append(changes, store.Change{Kind: kind, Key: store.KeyOf(object), Object: object})
	}
	return changes, nil
}

// Load is [Parse] for a text that must be right.
func Load(t *testing.T, text string) []store.Change {
	t.Helper()
	changes, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// Objects reads the documents of a YAML text into tables.
func Objects(t *testing.T, text string) *store.Objects {
	t.Helper()
	objects := store.NewObjects(store.New())
	for _, c := range Load(t, text) {
		objects.Apply(c)
	}
	return objects
}
