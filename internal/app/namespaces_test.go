package app

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestListsStayWithinWatchedNamespaces(t *testing.T) {
	t.Parallel()
	cluster := fake.NewClientBuilder()
	for _, namespace := range []string{"shop", "pay", "secret"} {
		cluster.WithObjects(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}})
	}
	reader := cluster.Build()
	for _, c := range []struct {
		name       string
		namespaces []string
		options    []client.ListOption
		want       []string
	}{
		{"all without names", nil, nil, []string{"pay", "secret", "shop"}},
		{"those that are named", []string{"shop", "pay"}, nil, []string{"pay", "shop"}},
		{"the one that is asked for", []string{"shop", "pay"}, []client.ListOption{client.InNamespace("pay")}, []string{"pay"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var list corev1.ServiceList
			if err := (within{reader, c.namespaces}).List(t.Context(), &list, c.options...); err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range list.Items {
				got = append(got, list.Items[i].Namespace)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got those of %v, want %v", got, c.want)
			}
		})
	}
}
