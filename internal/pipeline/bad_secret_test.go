package pipeline

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// TestABadSecretHurtsOneListener has fifty listeners, and one of them offers each odd key pair in turn. Whatever is wrong with it, the
// others go on as they are, their port is opened as before, and the one listener says why.
func TestABadSecretHurtsOneListener(t *testing.T) {
	t.Parallel()
	const listeners = 50
	gw := &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "gw"}, Spec: gwv1.GatewaySpec{GatewayClassName: "gatewright"},
	}
	for i := range listeners {
		name := gwv1.ObjectName("cert")
		if i == 0 {
			name = "odd"
		}
		gw.Spec.Listeners = append(gw.Spec.Listeners, gwv1.Listener{
			Name: gwv1.SectionName(
				fmt.Sprintf("l%d", i),
			),
			Port:     443,
			Protocol: gwv1.HTTPSProtocolType,
			Hostname: new(gwv1.Hostname(fmt.Sprintf("h%d.example.com", i))),
			TLS:      &gwv1.ListenerTLSConfig{CertificateRefs: []gwv1.SecretObjectReference{{Name: name}}},
		})
	}
	g := newGraph()
	for _, c := range append(keys(), resolvetest.Load(t, base)...) {
		g.objects.Apply(c)
	}
	g.objects.Apply(change(store.Gateway, gw))
	bad := 0
	for _, pair := range fuzzobjects.HostileKeyPairs() {
		g.objects.Apply(change(store.Secret, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "odd"}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key},
		}))
		g.memo.Run()
		o, _ := g.gatewayStatus.Get(nil, "infra/gw")
		for i, l := range o.outcome.Listeners {
			resolved := conditionOf(l.Conditions, string(gwv1.ListenerConditionResolvedRefs))
			if resolved.State == outcome.True {
				continue
			}
			bad++
			if i > 0 || resolved.Reason != string(gwv1.ListenerReasonInvalidCertificateRef) ||
				!strings.Contains(resolved.Message, "Secret infra/odd") {
				t.Errorf("%s: listener %s: %s: %s", pair.Name, l.Name, resolved.Reason, resolved.Message)
			}
		}
		if serving := servingChains(g, ir.PortID{Gateway: "infra/gw", Port: "443"}); serving < listeners-1 {
			t.Errorf("%s: %d chains serve", pair.Name, serving)
		}
	}
	if bad < 10 {
		t.Errorf("only %d key pairs were bad", bad)
	}
}

// servingChains counts the chains of an open port that answer requests.
func servingChains(g *graph, port ir.PortID) int {
	if l, _ := g.listeners.Get(nil, port); l.resource == nil || len(l.invalid) > 0 {
		return 0
	}
	open, _ := g.ports.Get(nil, port)
	serving := 0
	for _, c := range open.Chains {
		if !c.RouteTable.IsZero() && len(c.Certificates) == 1 {
			serving++
		}
	}
	return serving
}

func conditionOf(conditions []outcome.Condition, kind string) outcome.Condition {
	for _, c := range conditions {
		if c.Type == kind {
			return c
		}
	}
	return outcome.Condition{}
}
