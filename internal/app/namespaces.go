package app

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// within lists the objects of the watched namespaces where those of all namespaces are asked for, which it may not see.
type within struct {
	client.Reader
	namespaces []string
}

// List implements [client.Reader].
func (w within) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	if len(w.namespaces) == 0 || asked.Namespace != "" {
		return w.Reader.List(ctx, list, options...) //nolint:wrapcheck // the caller names what it lists
	}
	var all []runtime.Object
	for _, namespace := range w.namespaces {
		if err := w.Reader.List(ctx, list, append(options, client.InNamespace(namespace))...); err != nil {
			return fmt.Errorf("in namespace %s: %w", namespace, err)
		}
		found, err := meta.ExtractList(list)
		if err != nil {
			return fmt.Errorf("in namespace %s: %w", namespace, err)
		}
		all = append(all, found...)
	}
	return meta.SetList(list, all) //nolint:wrapcheck // a list that was read can be written
}
