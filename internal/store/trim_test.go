package store

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

func TestTrimNode(t *testing.T) {
	t.Parallel()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"edge": "yes"}, Annotations: map[string]string{"a": "b"}},
		Spec:       corev1.NodeSpec{PodCIDR: "10.0.0.0/24"},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}},
			Images:    []corev1.ContainerImage{{Names: []string{"a"}}},
		},
	}
	trimNode(node)
	if len(node.Status.Addresses) != 1 || node.Labels["edge"] != "yes" ||
		node.Status.Images != nil || node.Annotations != nil || node.Spec.PodCIDR != "" {
		t.Errorf("left: %+v", node)
	}
}

func TestTrimConfigMapKeepsBinaryAuthorities(t *testing.T) {
	t.Parallel()
	config := &corev1.ConfigMap{BinaryData: map[string][]byte{"ca.crt": []byte("x"), "other": []byte("y")}, Data: map[string]string{"z": "z"}}
	trimConfigMap(config)
	if len(config.BinaryData) != 1 || string(config.BinaryData["ca.crt"]) != "x" || config.Data != nil {
		t.Errorf("left: %+v", config)
	}
}

func TestTrimConfigMapKeepsPolicyData(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxText+2)
	config := &corev1.ConfigMap{Data: map[string]string{"tier": "gold", "long": long, "ca.crt": long}}
	config.Labels = map[string]string{v1alpha1.PolicyDataLabel: ""}
	trimConfigMap(config)
	if config.Data["tier"] != "gold" || len(config.Data["long"]) != maxText+1 || config.Data["ca.crt"] != long {
		t.Errorf("of 3 keys %d are left, tier is %q, and long has %d bytes", len(config.Data), config.Data["tier"], len(config.Data["long"]))
	}
	config.Labels = nil
	trimConfigMap(config)
	if len(config.Data) != 1 {
		t.Errorf("without the label %d keys are left", len(config.Data))
	}
}
