//go:build fault

package fault

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

const (
	originLimit = 2 * time.Second
	// lacks takes two extensions from a proxy, so that it refuses what needs them.
	lacks = "envoy.filters.http/envoy.filters.http.ext_authz,envoy.http.stateful_session/envoy.http.stateful_session.header"

	routeHost, filterHost, backendHost = "route.origin.example.com", "filter.origin.example.com", "backend.origin.example.com"
	filteredListener                   = "filtered"
	// authorizerHeader is on requests that the authorization server was asked about.
	authorizerHeader = "X-Authorizer"
	// elsewhereGateway has no strict proxies.
	elsewhereGateway = "elsewhere"
)

// origin is an object that a proxy refuses after an edit. It was served before, and its host is to be answered either way.
type origin struct {
	name string
	// closed is the host that strict proxies answer 500 meanwhile: a check that was asked for must not be left out.
	closed string
	// words are Envoy's.
	words       string
	spoil, mend func(t *testing.T)
	// conditions are those of the object at fault.
	conditions func(ctx context.Context) ([]metav1.Condition, error)
}

// TestCase55NACKOrigins edits a route, a listener's filters and an XBackend so that some proxies of a fleet refuse what comes of it.
// The object at fault says so in Envoy's words, and no other does. Everything is served as it was, but for the host whose first filter is
// refused: the proxies that refuse it answer 500, and the one that takes it asks the authorization server. Nothing else waits, and a new
// proxy gets what is good: with proxies at two replicas, and after one of these restarts. Another Gateway of the route serves what its own
// proxies take.
//
//nolint:paralleltest // it restarts a controller
func TestCase55NACKOrigins(t *testing.T) {
	c := begin(t, "55", "a route, a listener filter and an XBackend that a proxy refuses")
	w := newFixture(t)
	elsewhere := w.Gateway(t, elsewhereGateway)
	origins := w.makeOrigins(t)
	proxies := []*corev1.Pod{
		w.OneProxy(t, gatewayName),
		w.strictProxy(t, "strict-a", "--disable-extensions", lacks),
		w.strictProxy(t, "strict-b", "--disable-extensions", lacks),
	}
	replica := w.spread(t, proxies[1], proxies[2])
	w.checkOrigins(t, c, "before", proxies, nil)
	run := askAll(t, w.address, 40, steadyHost, routeHost, backendHost)

	for i, o := range origins {
		start := clock.Now()
		o.spoil(t)
		w.waitReported(t, o, true)
		c.took(clock.Since(start), o.name+" reported after", originLimit)
		w.checkOrigins(t, c, fmt.Sprintf("spoiled-%d", i), proxies, origins[:i+1])
	}
	w.checkElsewhere(t, elsewhere)
	proxies = append(proxies, w.strictProxy(t, "strict-c", "--disable-extensions", lacks))
	w.checkOrigins(t, c, "new-proxy", proxies, origins)

	holder, err := w.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.Kill(t, replica)
	w.WaitControllers(t, 2, map[string]bool{replica.Name: true})
	if strings.HasPrefix(holder, replica.Name) {
		// How long it takes until another one leads is for case 3.
		live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
			now, err := w.Leader(ctx)
			if err == nil && now == holder {
				err = fmt.Errorf("%s still holds the lease", holder)
			}
			return err
		})
	}
	for _, proxy := range proxies {
		w.waitConnected(t, proxy)
	}
	proxies = append(proxies, w.strictProxy(t, "strict-d", "--disable-extensions", lacks))
	w.checkOrigins(t, c, "restarted", proxies, origins)
	w.checkElsewhere(t, elsewhere)

	for _, o := range origins {
		start := clock.Now()
		o.mend(t)
		w.waitReported(t, o, false)
		c.took(clock.Since(start), o.name+" mended after", originLimit)
	}
	w.checkOrigins(t, c, "mended", proxies, nil)
	c.answers("hosts of all of them", run.Stop())
}

// makeOrigins makes the objects, which are good at first.
func (w *fixture) makeOrigins(t *testing.T) []origin {
	t.Helper()
	w.ServeHere(t, "authorizer", func(answer http.ResponseWriter, _ *http.Request) { answer.Header().Set(authorizerHeader, "allowed") })
	w.editGateway(t, gatewayName, func(gateway *gwv1.Gateway) {
		gateway.Spec.Listeners = append(gateway.Spec.Listeners, gwv1.Listener{
			Name: filteredListener, Port: 80, Protocol: gwv1.HTTPProtocolType, Hostname: new(gwv1.Hostname(filterHost)),
		})
	})
	route := live.HTTPRoute("origin-route", gatewayName, routeHost, serviceName)
	route.Spec.ParentRefs = append(route.Spec.ParentRefs, gwv1.ParentReference{Name: elsewhereGateway})
	w.Make(t, route)
	w.Route(t, "origin-filter", gatewayName, filterHost, serviceName)
	backend := &gwxv1alpha1.XBackend{ObjectMeta: metav1.ObjectMeta{Name: "origin-backend"}}
	backend.Spec.Type, backend.Spec.Port.Number = gwxv1alpha1.BackendTypeEndpointSelector, live.EchoPort
	backend.Spec.EndpointSelector = &gwxv1alpha1.EndpointSelectorBackend{}
	backend.Spec.EndpointSelector.MatchLabels = map[gwv1.LabelKey]gwv1.LabelValue{"app": serviceName}
	w.Make(t, backend, toXBackend(live.HTTPRoute("origin-backend", gatewayName, backendHost, serviceName), backend.Name))
	for _, host := range []string{routeHost, filterHost, backendHost} {
		w.WaitServed(t, w.address, host)
	}
	return []origin{w.routeOrigin(route), w.filterOrigin(), w.backendOrigin(backend)}
}

// routeOrigin gets one more rule, with an expression that is too large for a strict proxy.
func (w *fixture) routeOrigin(route *gwv1.HTTPRoute) origin {
	return origin{
		name: "a route", words: "program size",
		spoil: func(t *testing.T) {
			w.edit(t, route, func(r *gwv1.HTTPRoute) {
				r.Spec.Rules = append(r.Spec.Rules, *r.Spec.Rules[0].DeepCopy())
				r.Spec.Rules[1].Matches = []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{
					Type: new(gwv1.PathMatchRegularExpression), Value: new("/[a-z]{500}/"),
				}}}
				r.Spec.Rules[1].Filters = []gwv1.HTTPRouteFilter{{
					Type:                  gwv1.HTTPRouteFilterRequestHeaderModifier,
					RequestHeaderModifier: &gwv1.HTTPHeaderFilter{Set: []gwv1.HTTPHeader{{Name: newRuleHeader, Value: "yes"}}},
				}}
			})
		},
		mend: func(t *testing.T) {
			w.edit(t, route, func(r *gwv1.HTTPRoute) { r.Spec.Rules = r.Spec.Rules[:1] })
		},
		conditions: func(ctx context.Context) ([]metav1.Condition, error) {
			if err := w.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
				return nil, fmt.Errorf("get the route: %w", err)
			}
			return conditionsOf(route), nil
		},
	}
}

// newRuleHeader is what the new rule of the route adds to requests.
const newRuleHeader = "X-New-Rule"

// checkElsewhere checks that a Gateway whose proxies refuse nothing serves the route as it is now, and that the route says so.
func (w *fixture) checkElsewhere(t *testing.T, address string) {
	t.Helper()
	live.Eventually(t, originLimit, 50*time.Millisecond, func(ctx context.Context) error {
		answer, err := w.Request(ctx, address+"/"+strings.Repeat("a", 500), routeHost)
		if err == nil && answer.Headers[newRuleHeader] == nil {
			err = fmt.Errorf("gateway %s does not serve the new rule of the route", elsewhereGateway)
		}
		return err
	})
	live.Eventually(t, originLimit, 50*time.Millisecond, func(ctx context.Context) error {
		route := &gwv1.HTTPRoute{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "origin-route"}, route); err != nil {
			return fmt.Errorf("get the route: %w", err)
		}
		for _, parent := range route.Status.Parents {
			if c := meta.FindStatusCondition(parent.Conditions, programmed); parent.ParentRef.Name == elsewhereGateway &&
				c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == route.Generation {
				return nil
			}
		}
		return fmt.Errorf("the route is not programmed for gateway %s: %+v", elsewhereGateway, route.Status.Parents)
	})
}

func conditionsOf(route *gwv1.HTTPRoute) []metav1.Condition {
	var conditions []metav1.Condition
	for _, parent := range route.Status.Parents {
		conditions = append(conditions, parent.Conditions...)
	}
	return conditions
}

// filterOrigin has a listener ask a server about each request, which takes an extension that strict proxies lack.
func (w *fixture) filterOrigin() origin {
	filters := func(list ...gwv1.ListenerFilter) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			w.editGateway(t, gatewayName, func(gateway *gwv1.Gateway) {
				gateway.Spec.Listeners[1].Filters = nil
				if len(list) > 0 {
					gateway.Spec.Listeners[1].Filters = &gwv1.ListenerFilters{Requests: list}
				}
			})
		}
	}
	return origin{
		name: "a listener filter", words: "ext_authz", closed: filterHost,
		spoil: filters(gwv1.ListenerFilter{Type: gwv1.ListenerFilterExternalAuth, ExternalAuth: &gwv1.HTTPExternalAuthFilter{
			ExternalAuthProtocol: gwv1.HTTPRouteExternalAuthHTTPProtocol,
			BackendRef:           gwv1.BackendObjectReference{Name: "authorizer", Port: new(gwv1.PortNumber(80))},
			HTTPAuthConfig:       &gwv1.HTTPAuthConfig{AllowedResponseHeaders: []string{authorizerHeader}},
		}}),
		mend: filters(),
		conditions: func(ctx context.Context) ([]metav1.Condition, error) {
			var gateway gwv1.Gateway
			if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: gatewayName}, &gateway); err != nil {
				return nil, fmt.Errorf("get the Gateway: %w", err)
			}
			for _, l := range gateway.Status.Listeners {
				if l.Name == filteredListener {
					return l.Conditions, nil
				}
			}
			return nil, fmt.Errorf("listener %s has no status", filteredListener)
		},
	}
}

// backendOrigin keeps sessions by a header, which takes another extension that strict proxies lack.
func (w *fixture) backendOrigin(backend *gwxv1alpha1.XBackend) origin {
	sessions := func(s *gwxv1alpha1.SessionPersistence) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			live.Eventually(t, 10*time.Second, 5*time.Millisecond, func(ctx context.Context) error {
				if err := w.Get(ctx, client.ObjectKeyFromObject(backend), backend); err != nil {
					return fmt.Errorf("get the XBackend: %w", err)
				}
				backend.Spec.SessionPersistence = s
				return w.Update(ctx, backend)
			})
		}
	}
	return origin{
		name: "an XBackend", words: "stateful_session.header",
		spoil: sessions(&gwxv1alpha1.SessionPersistence{
			Type: new(gwv1.HeaderBasedSessionPersistence), Header: &gwv1.HeaderConfig{Name: "X-Session"},
		}),
		mend: sessions(nil),
		conditions: func(ctx context.Context) ([]metav1.Condition, error) {
			if err := w.Get(ctx, client.ObjectKeyFromObject(backend), backend); err != nil {
				return nil, fmt.Errorf("get the XBackend: %w", err)
			}
			var conditions []metav1.Condition
			for _, ancestor := range backend.Status.Ancestors {
				conditions = append(conditions, ancestor.Conditions...)
			}
			return conditions, nil
		},
	}
}

// reports says whether conditions have Envoy's words about what it refused.
func reports(conditions []metav1.Condition, words string) bool {
	return slices.ContainsFunc(conditions, func(c metav1.Condition) bool {
		return c.Status == metav1.ConditionFalse && strings.Contains(c.Message, words)
	})
}

// waitReported waits until the object at fault says that it is refused, or says so no more.
func (w *fixture) waitReported(t *testing.T, o origin, want bool) {
	t.Helper()
	live.Eventually(t, time.Minute, 10*time.Millisecond, func(ctx context.Context) error {
		conditions, err := o.conditions(ctx)
		if err == nil && reports(conditions, o.words) != want {
			err = fmt.Errorf("%s reports %q: %t, want %t: %+v", o.name, o.words, !want, want, conditions)
		}
		return err
	})
}

// checkOrigins checks that all hosts are served by each proxy, or closed, that a new route reaches each of them and is programmed in time,
// and that those at fault report it and no other route does.
func (w *fixture) checkOrigins(t *testing.T, c *faultCase, when string, proxies []*corev1.Pod, refused []origin) {
	t.Helper()
	for _, proxy := range proxies {
		for _, host := range []string{steadyHost, routeHost, filterHost, backendHost} {
			if host == filterHost {
				w.waitFiltered(t, proxy, slices.ContainsFunc(refused, func(o origin) bool { return o.closed == host }))
			} else if _, err := w.Request(t.Context(), proxy.Status.PodIP, host); err != nil {
				t.Errorf("%s: proxy %s: %v", when, proxy.Name, err)
			}
		}
	}
	start := clock.Now()
	more := live.HTTPRoute(when, gatewayName, when+".more.example.com", serviceName)
	w.Make(t, more)
	for _, proxy := range proxies {
		w.waitHost(t, proxy.Status.PodIP, when+".more.example.com")
	}
	if err := w.awaitProgrammed(t.Context(), more); err != nil {
		t.Errorf("%s: %v", when, err)
	}
	c.took(clock.Since(start), when+": others advance and are programmed within", originLimit)
	for _, o := range refused {
		w.waitReported(t, o, true)
	}
	w.noOtherCulprits(t, when, refused)
}

// waitFiltered waits until a proxy that refuses the filter answers 500 for its host, one that takes it asks the authorization server, and
// each of them serves the host without it.
func (w *fixture) waitFiltered(t *testing.T, proxy *corev1.Pod, filtered bool) {
	t.Helper()
	strict := strings.HasPrefix(proxy.Name, "strict-")
	live.Eventually(t, originLimit, 10*time.Millisecond, func(ctx context.Context) error {
		answer, err := w.Request(ctx, proxy.Status.PodIP, filterHost)
		closed := err != nil && strings.Contains(err.Error(), "500 Internal Server Error")
		asked := err == nil && answer.Headers[authorizerHeader] != nil
		switch {
		case err != nil && !closed:
			return fmt.Errorf("proxy %s: %w", proxy.Name, err)
		case closed != (filtered && strict) || asked != (filtered && !strict):
			return fmt.Errorf("proxy %s, with the filter: %t: %s is closed: %t; the authorization server was asked: %t",
				proxy.Name, filtered, filterHost, closed, asked)
		}
		return nil
	})
}

// noOtherCulprits checks that no route reports what another object is at fault for.
func (w *fixture) noOtherCulprits(t *testing.T, when string, refused []origin) {
	t.Helper()
	var routes gwv1.HTTPRouteList
	if err := w.List(t.Context(), &routes, client.InNamespace(w.Namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range routes.Items {
		route := &routes.Items[i]
		for _, o := range refused {
			// The route of a listener that is not programmed says so.
			own := o.name == "a route" && route.Name == "origin-route" || o.closed == filterHost && route.Name == "origin-filter"
			if !own && reports(conditionsOf(route), o.words) {
				t.Errorf("%s: route %s reports what %s is at fault for: %+v", when, route.Name, o.name, conditionsOf(route))
			}
		}
	}
}

// spread cuts streams until two proxies are connected to different replicas, and returns the replica of the first.
func (w *fixture) spread(t *testing.T, a, b *corev1.Pod) *corev1.Pod {
	t.Helper()
	var replica *corev1.Pod
	live.Eventually(t, 2*time.Minute, time.Second, func(context.Context) error {
		other := w.replicaOf(t, b)
		if replica = w.replicaOf(t, a); replica == nil || other == nil {
			return fmt.Errorf("%s or %s is not connected", a.Name, b.Name)
		}
		if replica.Name == other.Name {
			cutStream(t, b)
			return fmt.Errorf("%s and %s are both connected to %s", a.Name, b.Name, replica.Name)
		}
		return nil
	})
	return replica
}

// replicaOf is the controller that a proxy is connected to, nil if none.
func (w *fixture) replicaOf(t *testing.T, proxy *corev1.Pod) *corev1.Pod {
	t.Helper()
	controllers, err := w.Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range controllers {
		for _, pid := range live.Processes(t, string(controllers[i].UID)) {
			connections, err := run(t.Context(), "", "nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", pid), "--",
				"ss", "--no-header", "--tcp", "--numeric", "state", "established", "sport", "=", ":18000", "dst", proxy.Status.PodIP)
			if err == nil && connections != "" {
				return &controllers[i]
			}
		}
	}
	return nil
}
