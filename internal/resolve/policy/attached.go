package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/resolve/attach"
	"github.com/gatewright/gatewright/internal/store"
)

// newPolicy is what every policy has: what takes part in precedence and status.
func newPolicy[S any](kind *attach.Kind[S], object metav1.Object) attach.Policy[S] {
	return attach.Policy[S]{
		Ref:        attach.Ref{Kind: kind.Name, Namespace: object.GetNamespace(), Name: object.GetName()},
		Created:    object.GetCreationTimestamp().Unix(),
		Generation: object.GetGeneration(),
	}
}

// policiesOf reads the policies of these keys.
func policiesOf[S any](v *store.View, table *store.Table[attach.Policy[S]], keys []string) []*attach.Policy[S] {
	var list []*attach.Policy[S]
	for _, key := range keys {
		if p, ok := table.Get(v, key); ok {
			list = append(list, &p)
		}
	}
	return list
}
