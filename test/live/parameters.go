package live

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

// GatewayWith is a Gateway with one HTTP listener, and a ProxyConfig of the same name that says how it is run.
func GatewayWith(name string, spec v1alpha1.ProxyConfigSpec) (*gwv1.Gateway, *v1alpha1.ProxyConfig) {
	gateway := &gwv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: gwv1.GatewaySpec{
			GatewayClassName: GatewayClass,
			Listeners:        []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
			Infrastructure: &gwv1.GatewayInfrastructure{ParametersRef: &gwv1.LocalParametersReference{
				Group: v1alpha1.GroupName, Kind: "ProxyConfig", Name: name,
			}},
		},
	}
	return gateway, &v1alpha1.ProxyConfig{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

// Configure changes a ProxyConfig.
func (w *Fixture) Configure(t *testing.T, config *v1alpha1.ProxyConfig, change func(*v1alpha1.ProxyConfigSpec)) {
	t.Helper()
	before := config.DeepCopy()
	change(&config.Spec)
	if err := w.Patch(t.Context(), config, client.MergeFrom(before)); err != nil {
		t.Fatalf("change ProxyConfig %s: %v", config.Name, err)
	}
}

// WaitRefused waits until a Gateway is told that its parameters cannot be used, in a message with those words, and returns the message.
func (w *Fixture) WaitRefused(t *testing.T, name string, words ...string) string {
	t.Helper()
	var message string
	Eventually(t, 30*time.Second, 100*time.Millisecond, func(ctx context.Context) error {
		var gateway gwv1.Gateway
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, &gateway); err != nil {
			return fmt.Errorf("get gateway %s: %w", name, err)
		}
		accepted := meta.FindStatusCondition(gateway.Status.Conditions, string(gwv1.GatewayConditionAccepted))
		if accepted == nil || accepted.Status != metav1.ConditionFalse || accepted.Reason != string(gwv1.GatewayReasonInvalidParameters) {
			return fmt.Errorf("gateway %s is not refused: %+v", name, gateway.Status.Conditions)
		}
		message = accepted.Message
		for _, word := range words {
			if !strings.Contains(message, word) {
				return fmt.Errorf("gateway %s is told %q, without %q", name, message, word)
			}
		}
		return nil
	})
	return message
}
