package render

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gatewright/gatewright/internal/ir"
)

// read takes a piece of a Kubernetes object as it was written; nothing is read from nothing.
func read(piece ir.RawJSON, into any) error {
	if piece == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(piece), into); err != nil {
		return fmt.Errorf("reading %T: %w", into, err)
	}
	return nil
}

func quantities(wanted map[string]string) (corev1.ResourceList, error) {
	var list corev1.ResourceList
	for name, text := range wanted {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("reading the quantity of %s: %w", name, err)
		}
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[corev1.ResourceName(name)] = quantity
	}
	return list, nil
}
