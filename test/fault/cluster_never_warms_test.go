//go:build fault

package fault

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// TestCase46ClusterNeverWarms has a backend whose name no name server ever answers, replaced by another such every ten seconds, and
// backends whose client certificate is missing. A cluster that does not warm must delay only those who use it: other routes, listeners
// and Gateways advance.
func TestCase46ClusterNeverWarms(t *testing.T) {
	t.Parallel()
	const every = 10 * time.Second
	c := begin(t, "46", "clusters that do not warm")
	w := newSecureFixture(t, 1)
	w.waitSecure(t, secureHost(0))
	w.editGateway(t, secureGateway, func(gateway *gwv1.Gateway) {
		gateway.Spec.Listeners = append(gateway.Spec.Listeners, gwv1.Listener{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType})
	})
	w.Route(t, "steady", secureGateway, steadyHost, serviceName)
	w.WaitServed(t, w.address, steadyHost)
	o := &othersBeside{w: w, elsewhere: w.Gateway(t, "elsewhere")}
	o.advance(t) // what is created for the first time is not measured
	*o = othersBeside{w: w, elsewhere: o.elsewhere, rounds: o.rounds}
	run := askAll(t, w.address, 50, steadyHost)
	swallowed := swallowQueries(t)

	names := 0
	var before []client.Object
	for end := time.Now().Add(span(time.Minute, 30*time.Second)); time.Now().Before(end); names++ {
		next := time.Now().Add(every)
		now := w.external(t, fmt.Sprintf("n%02d", names%100), "silent.example", nil)
		w.deleteAll(t, before)
		before = now
		for time.Now().Before(next.Add(-time.Second)) {
			o.advance(t)
		}
		time.Sleep(time.Until(next))
	}
	c.note("%d names of which %d queries were swallowed", names, swallowed())
	o.report(c, "beside names that are never answered")

	*o = othersBeside{w: w, elsewhere: o.elsewhere, rounds: o.rounds}
	before = append(before, w.withoutSecret(t)...)
	for range 3 {
		o.advance(t)
	}
	o.report(c, "beside missing client certificates")
	c.load(run.Stop())
	w.deleteAll(t, before)
}

// othersBeside measures how soon others advance.
type othersBeside struct {
	w         *fixture
	elsewhere string
	rounds    int

	route, listener, gateway time.Duration
}

// advance creates a route and a listener of the same Gateway, and a route of another.
func (o *othersBeside) advance(t *testing.T) {
	t.Helper()
	o.rounds++
	name := fmt.Sprintf("beside-%d", o.rounds)

	start := clock.Now()
	host := name + ".same.example.com"
	o.w.Route(t, name, secureGateway, host, serviceName)
	o.w.waitHost(t, o.w.address, host)
	o.route = max(o.route, clock.Since(start))

	o.w.Make(t, live.TLSSecret(t, secureName(o.rounds), secureHost(o.rounds)))
	start = clock.Now()
	o.w.editGateway(t, secureGateway, func(gateway *gwv1.Gateway) {
		// The first two stay, and the one before is replaced.
		gateway.Spec.Listeners = append(gateway.Spec.Listeners[:2], secureListener(o.rounds))
	})
	o.w.waitSecure(t, secureHost(o.rounds))
	o.listener = max(o.listener, clock.Since(start))

	start = clock.Now()
	host = name + ".elsewhere.example.com"
	o.w.Route(t, name+"-elsewhere", "elsewhere", host, serviceName)
	o.w.waitHost(t, o.elsewhere, host)
	o.gateway = max(o.gateway, clock.Since(start))
}

func (o *othersBeside) report(c *faultCase, when string) {
	c.t.Helper()
	c.note("%s", when)
	c.took(o.route, "routes within", othersLimit)
	c.took(o.listener, "listeners within", othersLimit)
	c.took(o.gateway, "other Gateways within", othersLimit)
}

// external makes a route to a name outside of the cluster.
func (w *fixture) external(t *testing.T, name, zone string, security *gwxv1alpha1.BackendTLS) []client.Object {
	t.Helper()
	backend := &gwxv1alpha1.XBackend{ObjectMeta: metav1.ObjectMeta{Name: name}}
	backend.Spec.Type, backend.Spec.Port.Number = gwxv1alpha1.BackendTypeExternalHostname, 80
	backend.Spec.ExternalHostname = &gwxv1alpha1.ExternalHostnameBackend{Hostname: gwv1.PreciseHostname(name + "." + zone)}
	backend.Spec.TLS = security
	route := toXBackend(live.HTTPRoute(name, secureGateway, name+".external.example.com", serviceName), name)
	w.Make(t, backend, route)
	return []client.Object{route, backend}
}

// withoutSecret makes routes to backends that want a client certificate: one that never was there, and one that is deleted.
func (w *fixture) withoutSecret(t *testing.T) []client.Object {
	t.Helper()
	const zone = "outside.example"
	certificate, _ := live.KeyPair(t, zone)
	w.trusted(t, "external", certificate)
	security := func(secret string) *gwxv1alpha1.BackendTLS {
		return &gwxv1alpha1.BackendTLS{
			Mode:                 gwxv1alpha1.BackendTLSModeClientAndServer,
			ClientCertificateRef: &gwv1.SecretObjectReference{Name: gwv1.ObjectName(secret)},
			Validation: &gwv1.BackendTLSPolicyValidation{
				Hostname: zone, CACertificateRefs: []gwv1.LocalObjectReference{{Kind: "ConfigMap", Name: "external"}},
			},
		}
	}
	gone := live.TLSSecret(t, "gone", zone)
	w.Make(t, gone)
	objects := append(w.external(t, "never", zone, security("never")), w.external(t, "gone", zone, security("gone"))...)
	w.deleteAll(t, []client.Object{gone})
	return objects
}

func (w *fixture) deleteAll(t *testing.T, objects []client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := client.IgnoreNotFound(w.Delete(t.Context(), object)); err != nil {
			t.Fatalf("delete %T %s: %v", object, object.GetName(), err)
		}
	}
}

// silentTable drops DNS queries; it is the test's own.
const silentTable = "gatewright-fault-dns"

// swallowQueries drops every DNS query for a name of three letters in the zone silent.example until the test ends. What it returns says
// how many there were.
func swallowQueries(t *testing.T) func() int {
	t.Helper()
	remove := func() {
		// The test's own context may be over.
		_, _ = run(context.Background(), "", "nft", "delete", "table", "ip", silentTable)
	}
	remove()
	t.Cleanup(remove)
	// The name begins behind 8 octets of UDP and 12 of DNS. Its first label takes 4 octets. The second is 6 and "silent", in either case
	// of letters.
	command(t, strings.ReplaceAll(`
		table ip TABLE {
			counter swallowed { }
			chain queries {
				type filter hook input priority -10;
				udp dport 53 @th,192,56 & 0xffdfdfdfdfdfdf == 0x0653494c454e54 counter name swallowed drop
			}
		}`, "TABLE", silentTable), "nft", "--file", "-")
	return func() int {
		t.Helper()
		listing := command(t, "", "nft", "list", "counter", "ip", silentTable, "swallowed")
		_, figures, _ := strings.Cut(listing, "packets ")
		n := 0
		if _, err := fmt.Sscan(figures, &n); err != nil || n == 0 {
			t.Errorf("no query was swallowed: %s", listing)
		}
		return n
	}
}
