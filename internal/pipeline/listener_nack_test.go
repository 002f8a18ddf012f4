package pipeline

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

// TestANACKOfAListenerIsReportedByItsPolicies has a proxy reject listeners and secrets that policies have settings in.
func TestANACKOfAListenerIsReportedByItsPolicies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		golden string
		nack   xds.NACK
		want   []string
	}{
		{
			"TelemetryPolicyTracing",
			xds.NACK{Type: xds.Listener, Name: "infra/gateway/80"},
			[]string{"Gateway infra/gateway", "XTelemetryPolicy infra/older"},
		},
		{"HTTP3", xds.NACK{Type: xds.Listener, Name: "infra/gw/443"}, []string{"ClientTrafficPolicy infra/a", "Gateway infra/gw"}},
		{"HTTP3", xds.NACK{Type: xds.Listener, Name: "infra/gw/443/udp"}, []string{"ClientTrafficPolicy infra/a", "Gateway infra/gw"}},
		{
			"ClientTrafficPolicy",
			xds.NACK{Type: xds.Listener, Name: "infra/gw/8443"},
			[]string{
				"ClientTrafficPolicy gatewright-system/operator", "ClientTrafficPolicy infra/gateway", "ClientTrafficPolicy infra/mutual",
				"Gateway infra/gw",
			},
		},
		{
			"ClientTrafficPolicy",
			xds.NACK{Type: xds.Secret, Name: "ConfigMap/infra/ca"},
			[]string{
				"ClientTrafficPolicy gatewright-system/operator", "ClientTrafficPolicy infra/gateway", "ClientTrafficPolicy infra/mutual",
				"Gateway infra/gw",
			},
		},
	} {
		in, err := os.ReadFile("testdata/" + c.golden + "/in.yaml")
		if err != nil {
			t.Fatal(err)
		}
		l := &recorder{live: true, offers: map[string][]byte{}}
		out, proxies := discardAll(), xds.NewCache()
		out.Proxies, out.Statuses, out.Convergence, out.Peers = proxies, l, l, l
		p := New(out, prometheus.NewRegistry(), WithSystemNamespace("gatewright-system"))
		for _, change := range keys() {
			p.Put(change)
		}
		put(t, p, base+string(in))
		p.Start()
		l.said = nil
		c.nack.Reason = "no such thing"
		group := ownGroup("infra/gw")
		if c.nack.Type == xds.Listener {
			group = ownGroup(ir.ParsePortName(c.nack.Name).Gateway)
		}
		c.nack.Origins = proxies.Origins(group, c.nack)
		p.NACKed(xds.Identity{Group: group}, c.nack)
		p.config.step()
		var got []string
		for _, said := range l.said {
			if who, ok := strings.CutPrefix(said, "refuse "); ok {
				who, _, _ = strings.Cut(who, " [")
				got = append(got, who)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("a NACK of %s %s is reported by %q, want %q", c.nack.Type, c.nack.Name, got, c.want)
		}
	}
}

// TestANACKOfASecretIsReportedByTheRoutesOfItsListeners has a proxy reject a certificate, and a bundle that clients are validated by.
func TestANACKOfASecretIsReportedByTheRoutesOfItsListeners(t *testing.T) {
	t.Parallel()
	const objects = base + `
kind: Gateway
metadata: {namespace: infra, name: gw, generation: 1}
spec:
  gatewayClassName: gatewright
  listeners:
  - {name: http, port: 80, protocol: HTTP}
  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}
---
apiVersion: gatewright.dev/v1alpha1
kind: ClientTrafficPolicy
metadata: {namespace: infra, name: mutual, generation: 1}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw, sectionName: https}]
  tls: {clientValidation: {caCertificateRefs: [{kind: ConfigMap, name: ca}]}}
---
kind: HTTPRoute
metadata: {namespace: infra, name: plain, generation: 1}
spec: {parentRefs: [{name: gw, sectionName: http}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
---
kind: HTTPRoute
metadata: {namespace: infra, name: safe, generation: 1}
spec: {parentRefs: [{name: gw, sectionName: https}], rules: [{backendRefs: [{name: v1, port: 80}]}]}
`
	for _, name := range []string{"infra/cert", "ConfigMap/infra/ca"} {
		l := &recorder{live: true, offers: map[string][]byte{}}
		out, proxies := discardAll(), xds.NewCache()
		out.Proxies, out.Statuses, out.Convergence, out.Peers = proxies, l, l, l
		p := New(out, prometheus.NewRegistry())
		for _, change := range keys() {
			p.Put(change)
		}
		put(t, p, objects)
		p.Start()
		l.said = nil
		nack := xds.NACK{Type: xds.Secret, Name: name, Reason: "no such key"}
		nack.Origins = proxies.Origins(ownGroup("infra/gw"), nack)
		p.NACKed(xds.Identity{Group: ownGroup("infra/gw")}, nack)
		p.config.step()
		var got []string
		for _, said := range l.said {
			if who, ok := strings.CutPrefix(said, "refuse "); ok && strings.Contains(said, "no such key") {
				who, _, _ = strings.Cut(who, ":")
				got = append(got, who)
			}
		}
		slices.Sort(got)
		want := []string{"Gateway infra/gw [https]", "HTTPRoute infra/safe [https]"}
		if name != "infra/cert" {
			want = append([]string{"ClientTrafficPolicy infra/mutual []"}, want...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("a NACK of secret %s is reported by %q, want %q", name, got, want)
		}
	}
}

// TestANACKOfAListenerEndsWithTheProxiesThatSentIt has two proxies reject a listener. The next ones take it.
func TestANACKOfAListenerEndsWithTheProxiesThatSentIt(t *testing.T) {
	t.Parallel()
	for _, fellBack := range []bool{false, true} {
		l := &recorder{live: true, ready: map[string]bool{"a": true, "b": true}}
		p := l.plane(t)
		put(t, p, aRoute(1, "/"))
		p.config.step()
		for _, pod := range []string{"a", "b"} {
			p.NACKed(xds.Identity{Group: ownGroup("infra/web"), Pod: pod}, xds.NACK{
				Type: xds.Listener, Name: "infra/web/80", FellBack: fellBack, Reason: "no such port",
			})
			p.config.step()
		}
		for _, ready := range []map[string]bool{{"a": true}, {}} {
			l.said, l.ready = nil, ready
			p.config.step()
			// If all proxies have the version before because of them, it stays.
			want := len(ready) == 0 && !fellBack
			for _, accepted := range []string{"accept Gateway infra/web", "accept HTTPRoute infra/r"} {
				if got := slices.Contains(l.said, accepted); got != want {
					t.Errorf("with %d of the proxies, which fell back: %t, said %q", len(ready), fellBack, l.said)
				}
			}
		}
	}
}
