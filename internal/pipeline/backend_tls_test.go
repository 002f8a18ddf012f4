package pipeline

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/fuzzobjects"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// secured is two Gateways in front of a Service with a policy; one of them has a certificate of its own.
const secured = base + `
kind: Gateway
metadata: {namespace: infra, name: named}
spec:
  gatewayClassName: gatewright
  listeners: [{name: http, port: 80, protocol: HTTP}]
  tls: {backend: {clientCertificateRef: {name: client}}}
---
kind: Gateway
metadata: {namespace: infra, name: nameless}
spec:
  gatewayClassName: gatewright
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
kind: HTTPRoute
metadata: {namespace: infra, name: route}
spec:
  parentRefs: [{name: named}, {name: nameless}]
  rules: [{backendRefs: [{name: v1, port: 80}]}]
---
kind: BackendTLSPolicy
metadata: {namespace: infra, name: policy}
spec:
  targetRefs: [{group: "", kind: Service, name: v1}]
  validation: {hostname: v1.example.com, caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]}
`

func securedGraph(t *testing.T) *graph {
	t.Helper()
	g := newGraph()
	for _, c := range resolvetest.Load(t, secured) {
		g.objects.Apply(c)
	}
	g.objects.Apply(authoritiesIn(0))
	g.objects.Apply(clientPair(0))
	g.memo.Run()
	return g
}

func authoritiesIn(pair int) store.Change {
	return change(store.ConfigMap, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "ca"},
		Data:       map[string]string{corev1.ServiceAccountRootCAKey: string(fuzzobjects.KeyPairs()[pair][0])},
	})
}

func clientPair(pair int) store.Change {
	return change(store.Secret, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "client"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: fuzzobjects.KeyPairs()[pair][0], corev1.TLSPrivateKeyKey: fuzzobjects.KeyPairs()[pair][1]},
	})
}

func TestGatewayTLSBackendClientCertificate(t *testing.T) {
	t.Parallel()
	g := securedGraph(t)
	named, _ := g.tls.byGateway.Get(nil, ir.ParseGatewayBackend("infra/named|infra/v1/80"))
	nameless, _ := g.tls.byGateway.Get(nil, ir.ParseGatewayBackend("infra/nameless|infra/v1/80"))
	if named.ClientCertificate != "infra/client" || nameless.ClientCertificate != "" {
		t.Errorf("certificates are %q and %q", named.ClientCertificate, nameless.ClientCertificate)
	}
	if pair, _ := g.certificates.Get(nil, ir.ParseGatewaySecret("infra/named|infra/client")); pair.resource == nil {
		t.Error("the Gateway that shows the certificate does not get it")
	}
	if g.certificates.Has(ir.ParseGatewaySecret("infra/nameless|infra/client")) {
		t.Error("a Gateway gets a certificate that it does not show")
	}
}

func TestRotationChangesNoCluster(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change store.Change
		table  func(g *graph) *store.Table[translation]
		key    string
	}{
		{
			"of authorities", authoritiesIn(1),
			func(g *graph) *store.Table[translation] { return g.authorities.Table }, "infra/named|ConfigMap/infra/ca",
		},
		{
			"of a client certificate", clientPair(1),
			func(g *graph) *store.Table[translation] { return g.certificates.Table }, "infra/named|infra/client",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := securedGraph(t)
			before, _ := c.table(g).Get(nil, c.key)
			g.objects.Apply(c.change)
			report := g.memo.Run()
			after, _ := c.table(g).Get(nil, c.key)
			if before.resource == nil || after.resource == nil || sameTranslation(before, after) {
				t.Error("the new certificate was not handed out")
			}
			if report.Changed[stageCluster] != 0 || report.Computed[stageRoute] != 0 {
				t.Errorf("changed %d clusters, computed %d routes", report.Changed[stageCluster], report.Computed[stageRoute])
			}
		})
	}
}

func TestABrokenPolicyNeverFallsBackToPlainText(t *testing.T) {
	t.Parallel()
	g := securedGraph(t)
	for _, broken := range []store.Change{
		{Kind: store.ConfigMap, Key: "infra/ca"},
		change(store.ConfigMap, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "ca"}}),
	} {
		g.objects.Apply(broken)
		g.memo.Run()
		for _, gateway := range []string{"named", "nameless"} {
			if tls, _ := g.tls.byGateway.Get(nil, ir.ParseGatewayBackend("infra/"+gateway+"|infra/v1/80")); tls == nil || !tls.FailClosed {
				t.Errorf("Gateway %s connects with %+v", gateway, tls)
			}
		}
	}
	g.objects.Apply(store.Change{Kind: store.BackendTLSPolicy, Key: "infra/policy"})
	g.memo.Run()
	if tls, _ := g.tls.byGateway.Get(nil, ir.ParseGatewayBackend("infra/named|infra/v1/80")); tls != nil {
		t.Errorf("without a policy there is %+v", tls)
	}
}

func TestGatewaysShareTheBytesOfABundle(t *testing.T) {
	t.Parallel()
	g := securedGraph(t)
	one, _ := g.authorities.Get(nil, ir.ParseGatewaySecret("infra/named|ConfigMap/infra/ca"))
	other, _ := g.authorities.Get(nil, ir.ParseGatewaySecret("infra/nameless|ConfigMap/infra/ca"))
	if one.resource == nil || one.resource != other.resource {
		t.Error("each Gateway has a copy")
	}
}
