package manifests_test

import (
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/manifests"
)

func TestRead(t *testing.T) {
	t.Parallel()
	objects, err := manifests.Read([]byte(`# a comment
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec: {gatewayClassName: c, nonsense: 1}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop}}
- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a}}
---
{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "c"}}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: Backend
metadata: {name: theirs}
`), "infra")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, c := range objects.Changes {
		keys = append(keys, string(c.Kind)+" "+c.Key)
	}
	if got := strings.Join(keys, ", "); got != "Gateway infra/edge, Service shop/a, GatewayClass c" {
		t.Errorf("objects are %s", got)
	}
	warnings := strings.Join(objects.Warnings, "\n")
	if len(objects.Warnings) != 2 || !strings.Contains(warnings, `unknown field "spec.nonsense"`) ||
		!strings.Contains(warnings, "Backend theirs of gateway.envoyproxy.io/v1alpha1 is left out") {
		t.Errorf("warnings are %s", warnings)
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a: [", "{kind: Service, apiVersion: v1, metadata: {name: a}, spec: {ports: 1}}"} {
		if _, err := manifests.Read([]byte(text), "infra"); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
