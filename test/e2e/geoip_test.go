//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/geoip"
	"github.com/gatewright/gatewright/test/live"
)

// mountDatabases is the patch that brings the ConfigMap geo to where databases are copied from.
const mountDatabases = `{"spec":{"template":{"spec":{
	"volumes":[{"name":"geo","configMap":{"name":"geo"}}],
	"initContainers":[{"name":"install-drain","volumeMounts":[{"name":"geo","mountPath":"/geo","readOnly":true}]}]}}}}`

// TestGeoLocations: rules by the country of a client are closed without a database, enforced with one, and a path to no database takes no
// proxy away.
func TestGeoLocations(t *testing.T) {
	t.Parallel()
	const name, host = "geo", "geo.example.com"
	w := &securityFixture{fixture: newFixture(t), host: host}
	w.Echo(t, "echo", 1)
	w.EchoService(t, "echo")
	w.makeDatabase(t, name)
	gateway, config := live.GatewayWith(name, v1alpha1.ProxyConfigSpec{})
	w.Make(t, config, &v1alpha1.ClientTrafficPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ClientTrafficPolicySpec{
			PolicyTargets: v1alpha1.PolicyTargets{TargetRefs: []gwv1.LocalPolicyTargetReferenceWithSectionName{target("Gateway", name)}},
			ClientIPDetection: &v1alpha1.ClientIPDetection{
				XForwardedFor: &v1alpha1.XForwardedFor{NumTrustedHops: new(int32(1))},
			},
		},
	})
	w.address = w.Programmed(t, gateway)
	w.Route(t, "route", name, host, "echo")
	w.WaitServed(t, w.address, host)

	w.Make(t, &v1alpha1.SecurityPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SecurityPolicySpec{
		PolicyTargets: v1alpha1.PolicyTargets{TargetRefs: []gwv1.LocalPolicyTargetReferenceWithSectionName{target("HTTPRoute", "route")}},
		Authorization: &v1alpha1.Authorization{Rules: []v1alpha1.AuthorizationRule{{
			Action: v1alpha1.AuthorizationAllow, Principal: &v1alpha1.AuthorizationPrincipal{
				ClientIPGeoLocations: []v1alpha1.ClientIPGeoLocation{{Country: new("DE")}},
			},
		}}},
	}})
	german := map[string]string{"X-Forwarded-For": "192.0.2.1"}
	w.waitPolicy(t, name, metav1.ConditionFalse, "countryDBPath or cityDBPath")
	w.eventually(t, "without a database", "/", german, http.StatusInternalServerError)

	w.Configure(t, config, func(s *v1alpha1.ProxyConfigSpec) {
		s.GeoIP = &v1alpha1.GeoIP{MaxMind: &v1alpha1.MaxMind{CityDBPath: new(v1alpha1.DatabasePath("/geo/city.mmdb"))}}
		s.Patches = &v1alpha1.Patches{Deployment: &runtime.RawExtension{Raw: []byte(mountDatabases)}}
	})
	w.waitPolicy(t, name, metav1.ConditionTrue, "")
	live.Eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error { return w.replaced(ctx, name, german) })
	w.expectLocations(t)

	w.Configure(t, config, func(s *v1alpha1.ProxyConfigSpec) {
		s.GeoIP.MaxMind.CityDBPath = new(v1alpha1.DatabasePath("/geo/missing.mmdb"))
	})
	live.Eventually(t, 2*time.Minute, 200*time.Millisecond, func(ctx context.Context) error { return w.saysWhatIsMissing(ctx, name) })
	w.expectLocations(t)
}

func target(kind, name string) gwv1.LocalPolicyTargetReferenceWithSectionName {
	return gwv1.LocalPolicyTargetReferenceWithSectionName{LocalPolicyTargetReference: gwv1.LocalPolicyTargetReference{
		Group: gwv1.GroupName, Kind: gwv1.Kind(kind), Name: gwv1.ObjectName(name),
	}}
}

// makeDatabase makes a ConfigMap with a database of two countries.
func (w *securityFixture) makeDatabase(t *testing.T, name string) {
	t.Helper()
	database, err := geoip.Write(map[netip.Prefix]geoip.Record{
		netip.MustParsePrefix("192.0.2.0/24"):    {"country": geoip.Record{"iso_code": "DE"}},
		netip.MustParsePrefix("198.51.100.0/24"): {"country": geoip.Record{"iso_code": "FR"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Make(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, BinaryData: map[string][]byte{"city.mmdb": database}})
}

// waitPolicy waits until a policy is Programmed, or says why it is not.
func (w *securityFixture) waitPolicy(t *testing.T, name string, status metav1.ConditionStatus, words string) {
	t.Helper()
	live.Eventually(t, time.Minute, 50*time.Millisecond, func(ctx context.Context) error {
		var policy v1alpha1.SecurityPolicy
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, &policy); err != nil {
			return fmt.Errorf("read the policy: %w", err)
		}
		c := meta.FindStatusCondition(policy.Status.Conditions, "Programmed")
		if c == nil || c.Status != status || !strings.Contains(c.Message, words) {
			return fmt.Errorf("the policy says %+v", policy.Status.Conditions)
		}
		return nil
	})
}

// replaced says whether requests reach proxies without the database, to which connections may still be open.
func (w *securityFixture) replaced(ctx context.Context, gateway string, allowed map[string]string) error {
	pods, err := w.Proxies(ctx, gateway)
	if err != nil {
		return err
	}
	if len(pods) != 1 || !live.PodReady(&pods[0]) {
		return fmt.Errorf("there are %d proxies", len(pods))
	}
	mounts := pods[0].Spec.InitContainers[0].VolumeMounts
	if !slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool { return m.Name == "geo" }) {
		return fmt.Errorf("the proxy has no database, but %v", mounts)
	}
	for range 20 {
		http.DefaultClient.CloseIdleConnections()
		if r, err := w.get(ctx, "/", allowed); err != nil || r.status != http.StatusOK {
			return fmt.Errorf("a client in the country: %d, %w", r.status, err)
		}
	}
	return nil
}

// saysWhatIsMissing waits until a pod that cannot start says which database is not there.
func (w *securityFixture) saysWhatIsMissing(ctx context.Context, gateway string) error {
	pods, err := w.Proxies(ctx, gateway)
	if err != nil {
		return err
	}
	for i := range pods {
		for _, c := range pods[i].Status.InitContainerStatuses {
			for _, state := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
				if state != nil && strings.Contains(state.Message, "the database /geo/missing.mmdb is not there") {
					return nil
				}
			}
		}
	}
	return errors.New("no pod says which database is missing")
}

func (w *securityFixture) expectLocations(t *testing.T) {
	t.Helper()
	from := func(address string) map[string]string {
		return map[string]string{"X-Forwarded-For": address, "X-Gatewright-Geo-Country": "DE"}
	}
	if r := w.expect(t, "a client in the country", "/", from("192.0.2.1"), http.StatusOK); len(r.Headers["X-Gatewright-Geo-Country"]) > 0 {
		t.Errorf("the backend sees %v", r.Headers)
	}
	w.expect(t, "a client in another country", "/", from("198.51.100.1"), http.StatusForbidden)
	w.expect(t, "a client that no database has", "/", from("203.0.113.1"), http.StatusForbidden)
}
