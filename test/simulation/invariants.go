package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/test/simulation/model"
)

// What must hold:
//
//	(a) no proxy uses a route whose cluster is not warm;
//	(b) nothing that is in use is removed;
//	(c) Programmed=True for a generation means that every ready proxy serves it;
//	(d) a refused or stuck object delays no other;
//	(e) a stream sees only its own group;
//	(f) at rest, the state is that of a cold computation;
//	(g) a stale leader writes nothing.

// claim is a host that a proxy must answer at a port, because a condition says so.
type claim struct {
	slot, proxy, port int
}

// promise is the oldest version that may answer.
type promise struct {
	stamp int
	envoy *model.Envoy
}

func (s *simulation) dropClaims(of func(claim) bool) {
	maps.DeleteFunc(s.claims, func(c claim, _ promise) bool { return of(c) })
}

// check looks at what must hold after every step.
func (s *simulation) check() {
	for _, p := range s.proxies {
		for _, r := range p.envoy.Cold() {
			s.violate("(a) %s uses route %s, whose cluster %v is not warm", p.name, r.Name, r.Clusters)
		}
	}
	for c, promised := range s.claims {
		if s.proxies[c.proxy].envoy != promised.envoy {
			continue
		}
		if problem := s.unserved(c, promised.stamp); problem != "" {
			s.violate("(c) route %s is Programmed, and %s", routeName(c.slot), problem)
		}
	}
}

// unserved is empty if a proxy answers for a route with a version that is not older than the stamp.
func (s *simulation) unserved(c claim, stamp int) string {
	p := s.proxies[c.proxy]
	r := p.envoy.Answer(c.port, slots[c.slot].asked)
	switch {
	case r == nil:
		return fmt.Sprintf("%s answers 404 for %s at port %d", p.name, slots[c.slot].asked, c.port)
	case slotOf(r.Name) != c.slot:
		return fmt.Sprintf("%s answers for %s at port %d by %s", p.name, slots[c.slot].asked, c.port, r.Name)
	case r.Generation < stamp:
		return fmt.Sprintf("%s answers for %s at port %d with version %d, not %d", p.name, slots[c.slot].asked, c.port, r.Generation, stamp)
	default:
		return ""
	}
}

// isolated checks that a response has only what belongs to the proxy's own Gateway.
func (s *simulation) isolated(p *proxy, m *response) {
	for _, r := range m.GetResources() {
		if !strings.Contains(r.GetName(), gateways[p.gateway]) && !strings.HasPrefix(r.GetName(), "probe/") {
			s.violate("(e) %s is sent %s of another Gateway", p.name, r.GetName())
		}
	}
}

// write has the API server take a status, and notes what it promises.
func (s *simulation) write(i int, c *call) {
	kind := kindOf(c.object)
	if i != s.leader {
		s.violate("(g) replica %d writes the status of %s without the lease", i, c.object.GetName())
	}
	before, _ := s.api.objects[ref{kind, store.KeyOf(c.object)}].(*gwv1.HTTPRoute)
	err := s.api.writeStatus(kind, c.object)
	c.done <- err
	route, ok := c.object.(*gwv1.HTTPRoute)
	if err != nil || !ok {
		return
	}
	s.logf("status of %s: %s", route.Name, programmedIs(route))
	if generation := programmedGeneration(route); generation != 0 && generation != programmedGeneration(before) {
		// Otherwise nothing new is said of proxies. There may be listeners since that they do not have yet, which say so themselves.
		s.promise(i, route, generation)
	}
}

// promise notes that a generation of a route is Programmed, which must be true from now on.
func (s *simulation) promise(i int, route *gwv1.HTTPRoute, generation int64) {
	stored := route.DeepCopy()
	stored.Generation = generation
	stamp, known := s.stamps[versionOf(stored)]
	if !known {
		s.violate("(c) route %s is Programmed in a generation that never was", route.Name)
		return
	}
	slot := slotOf("HTTPRoute/" + namespace + "/" + route.Name)
	if present := s.api.route(slot); present != nil && present.Generation == generation {
		delete(s.replaced, slot)
	}
	decided := s.replicas[i].decisions[store.KeyOf(route)]
	if decided.generation != generation {
		return
	}
	for n, p := range s.proxies {
		if p.gateway != slots[slot].gateway || !p.envoy.Started() || !slices.Contains(decided.ready, p.name) {
			continue
		}
		for _, port := range s.ports(p.gateway) {
			if s.moved[[2]int{p.gateway, port}] {
				// The route may have been proved before the listener came back, which says itself whether proxies have it.
				continue
			}
			cl := claim{slot, n, port}
			if problem := s.unserved(cl, stamp); problem != "" {
				s.violate("(c) route %s becomes Programmed, and %s", route.Name, problem)
			}
			s.claims[cl] = promise{stamp, p.envoy}
		}
	}
}

// sees are the proxies of a Gateway that a replica has been told are ready. It is called with the lock held.
func (r *replica) sees(g int) []string {
	slice, _ := r.view[fleetRef(g)].(*discoveryv1.EndpointSlice)
	if slice == nil {
		return nil
	}
	return ready(slice)
}

// ports are those that a Gateway serves.
func (s *simulation) ports(g int) []int {
	var ports []int
	mask := s.listeners(g)
	if mask&1 != 0 {
		ports = append(ports, httpPort)
	}
	if mask&2 != 0 && s.api.has(store.Secret, keyOf(secretName(g))) {
		ports = append(ports, httpsPort)
	}
	return ports
}

// programmedCondition is the condition that says what proxies have of a route, nil if there is none.
func programmedCondition(r *gwv1.HTTPRoute) *metav1.Condition {
	for _, parent := range r.Status.Parents {
		for i := range parent.Conditions {
			if parent.Conditions[i].Type == outcome.RouteProgrammed {
				return &parent.Conditions[i]
			}
		}
	}
	return nil
}

// programmedGeneration is the generation that is Programmed, 0 if none is.
func programmedGeneration(r *gwv1.HTTPRoute) int64 {
	if c := programmedCondition(r); c != nil && c.Status == metav1.ConditionTrue {
		return c.ObservedGeneration
	}
	return 0
}

func programmedIs(r *gwv1.HTTPRoute) string {
	c := programmedCondition(r)
	if c == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %s, generation %d of %d", c.Status, c.Reason, c.ObservedGeneration, r.Generation)
}

// names are those of resources, with their versions.
func names(resources []*resource) []string {
	var all []string
	for _, r := range resources {
		all = append(all, r.GetName()+"="+r.GetVersion())
	}
	slices.Sort(all)
	return all
}
