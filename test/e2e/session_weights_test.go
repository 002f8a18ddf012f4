//go:build e2e

package e2e

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestSessionPersistenceWithWeights has two backends of two pods each. GEP-1619: for every request the weights choose the backend, as
// if there were no session, and the session then the pod.
func TestSessionPersistenceWithWeights(t *testing.T) {
	t.Parallel()
	const host, requests = "weights.session.example.com", 100
	w := newFixture(t)
	w.needExperimental(t)
	for _, name := range []string{"heavy", "light"} {
		w.Echo(t, name, 2)
		w.EchoService(t, name)
	}
	address := w.Gateway(t, "gateway")
	route := live.HTTPRoute("weights", "gateway", host, "heavy")
	rule := &route.Spec.Rules[0]
	rule.SessionPersistence = &gwv1.SessionPersistence{ //nolint:staticcheck // deprecated in the standard, and still to be served
		Cookie: &gwv1.CookieConfig{Name: new(gwv1.CookieName("sticky"))},
	}
	light := rule.BackendRefs[0]
	light.Name = "light"
	rule.BackendRefs = append(rule.BackendRefs, light)
	rule.BackendRefs[0].Weight, rule.BackendRefs[1].Weight = new(int32(70)), new(int32(30))
	w.Make(t, route)
	w.WaitServed(t, address, host)

	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	site := &url.URL{Scheme: "http", Host: host, Path: "/"}
	pods, drawn := map[string]map[string]bool{"heavy": {}, "light": {}}, map[string]int{}
	for range requests {
		var cookies []string
		for _, cookie := range jar.Cookies(site) {
			cookies = append(cookies, cookie.Name+`="`+cookie.Value+`"`)
		}
		r, err := w.ask(t.Context(), address, host, "", map[string]string{"Cookie": strings.Join(cookies, "; ")})
		if err != nil || r.status != http.StatusOK {
			t.Fatalf("%d, %v", r.status, err)
		}
		jar.SetCookies(site, (&http.Response{Header: r.header}).Cookies())
		backend, _, _ := strings.Cut(r.Pod, "-")
		pods[backend][r.Pod] = true
		drawn[backend]++
	}
	for backend, seen := range pods {
		if len(seen) != 1 {
			t.Errorf("the client has a session with %s and was answered by %v", backend, seen)
		}
	}
	// Of 100 draws with 70 %, fewer than 50 or more than 88 come once in 30,000 runs.
	if drawn["heavy"] < 50 || drawn["heavy"] > 88 {
		t.Errorf("with weights 70 and 30, the sessions were drawn %v", drawn)
	}
}
