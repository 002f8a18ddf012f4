package store

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
