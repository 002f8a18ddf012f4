package gateway_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// TestAListenerSaysHowLongItsCertificateIsValid: it serves it at any time, and of two it names the one that ends first.
func TestAListenerSaysHowLongItsCertificateIsValid(t *testing.T) {
	t.Parallel()
	objects := resolvetest.Objects(t, `
kind: GatewayClass
metadata: {name: ours}
spec: {controllerName: gatewright.dev/gateway-controller}
---
kind: Gateway
metadata: {namespace: infra, name: gw}
spec:
  gatewayClassName: ours
  listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: p-256}, {name: expired}]}}]
`)
	for _, pair := range fuzzobjects.HostileKeyPairs() {
		objects.Apply(store.Change{Kind: store.Secret, Key: "infra/" + strings.ToLower(pair.Name), Object: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: strings.ToLower(pair.Name)},
			Data:       map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key},
		}})
	}
	classes := store.NewTable[class.Resolved](store.New(), "class")
	classes.Set("ours", class.Resolve(nil, objects, "ours"))
	listener := gateway.Resolve(nil, objects, classes, "infra/gw").Listeners[0]
	if len(listener.Certificates) != 2 {
		t.Errorf("it offers %v", listener.Certificates)
	}
	for _, c := range listener.Conditions {
		if c.Type == "ResolvedRefs" &&
			(c.State != outcome.True || !strings.Contains(c.Message, "; the certificate in Secret infra/expired is valid from 20")) {
			t.Errorf("it says %s", c.Message)
		}
	}
}
