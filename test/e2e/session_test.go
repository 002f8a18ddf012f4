//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/test/live"
)

// TestSessionPersistence keeps a client on the pod that answered it first, by a cookie and by a header, and lets another take over when
// that pod is gone.
func TestSessionPersistence(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.needExperimental(t)
	pods := w.Echo(t, "echo", 3)
	w.EchoService(t, "echo")
	address := w.Gateway(t, "gateway")
	for name, c := range map[string]struct {
		session gwv1.SessionPersistence
		// carry takes the session from a reply and puts it into the headers of the next request.
		carry func(http.Header) map[string]string
	}{
		"cookie": {
			gwv1.SessionPersistence{Type: new(gwv1.CookieBasedSessionPersistence), Cookie: &gwv1.CookieConfig{Name: new(gwv1.CookieName("sticky"))}},
			func(h http.Header) map[string]string {
				for _, cookie := range (&http.Response{Header: h}).Cookies() {
					if cookie.Name == "sticky" && cookie.Path == "/" && cookie.MaxAge == 0 {
						return map[string]string{"Cookie": `sticky="` + cookie.Value + `"`}
					}
				}
				return nil
			},
		},
		"header": {
			gwv1.SessionPersistence{Type: new(gwv1.HeaderBasedSessionPersistence), Header: &gwv1.HeaderConfig{Name: "X-Sticky"}},
			func(h http.Header) map[string]string {
				if h.Get("X-Sticky") == "" {
					return nil
				}
				return map[string]string{"X-Sticky": h.Get("X-Sticky")}
			},
		},
	} {
		host := name + ".session.example.com"
		route := live.HTTPRoute(name, "gateway", host, "echo")
		route.Spec.Rules[0].SessionPersistence = &c.session //nolint:staticcheck // deprecated in the standard, and still to be served
		w.Make(t, route)
		w.WaitServed(t, address, host)
		w.checkSession(t, address, host, c.carry)
	}

	// The pod of a session goes, the session goes on.
	if err := w.Delete(t.Context(), &pods[0]); err != nil {
		t.Fatal(err)
	}
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		r, err := w.ask(ctx, address, "cookie.session.example.com", "", map[string]string{"Cookie": `sticky="Cg8xOTguMTguMTYuMjU0OjE="`})
		if err == nil && r.status != http.StatusOK {
			err = fmt.Errorf("an endpoint that is gone is answered with %d", r.status)
		}
		return err
	})
}

func (w *fixture) checkSession(t *testing.T, address, host string, carry func(http.Header) map[string]string) {
	t.Helper()
	first, err := w.ask(t.Context(), address, host, "", nil)
	if err != nil || first.status != http.StatusOK {
		t.Fatalf("%s: %d, %v", host, first.status, err)
	}
	headers := carry(first.header)
	if headers == nil {
		t.Fatalf("%s: no session in %v", host, first.header)
	}
	without := map[string]bool{}
	for range 30 {
		r, err := w.ask(t.Context(), address, host, "", headers)
		if err != nil || r.Pod != first.Pod {
			t.Fatalf("%s: the session began on %s and went to %s, %v", host, first.Pod, r.Pod, err)
		}
		if r, err = w.ask(t.Context(), address, host, "", nil); err != nil {
			t.Fatal(err)
		}
		without[r.Pod] = true
	}
	if len(without) < 2 {
		t.Errorf("%s: all requests went to one pod, so nothing was shown", host)
	}
}
