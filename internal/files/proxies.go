package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/files/layout"
	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
)

const (
	// answerTime is how long a proxy may take to return what it has loaded.
	answerTime = time.Second
	// touchPause is how often a pod is changed that has not read what was written.
	touchPause = 2 * time.Second
	// touchAnnotation on a pod names the files for which it was last touched.
	touchAnnotation = "gatewright.dev/files"
)

// pod is a proxy, as the EndpointSlices of its fleet have it.
type pod struct {
	name, address string
	ready         bool
}

// pods are the proxies of fleets.
type pods struct {
	// slices has them by Service and EndpointSlice, and services the Service of each slice.
	slices   map[types.NamespacedName]map[string][]pod
	services map[types.NamespacedName]types.NamespacedName
}

func newPods() pods {
	return pods{slices: map[types.NamespacedName]map[string][]pod{}, services: map[types.NamespacedName]types.NamespacedName{}}
}

// keep notes the proxies of a slice.
func (p pods) keep(service, slice types.NamespacedName, own []pod) {
	if p.slices[service] == nil {
		p.slices[service] = map[string][]pod{}
	}
	p.slices[service][slice.Name], p.services[slice] = own, service
}

// drop forgets a slice.
func (p pods) drop(service, slice types.NamespacedName) {
	delete(p.services, slice)
	delete(p.slices[service], slice.Name)
	if len(p.slices[service]) == 0 {
		delete(p.slices, service)
	}
}

func (p pods) of(gateway ir.Gateway) []pod {
	var all []pod
	for _, own := range p.slices[types.NamespacedName{Namespace: gateway.Name.Namespace, Name: gateway.Fleet.Name}] {
		for _, each := range own {
			if !slices.ContainsFunc(all, func(other pod) bool { return other.name == each.name }) {
				all = append(all, each)
			}
		}
	}
	return all
}

// Endpoints follows an EndpointSlice, nil when it is gone. The labels of a fleet's Service are on its slices, so those of others are not
// kept.
func (p *Plane) Endpoints(namespace, name string, slice *discoveryv1.EndpointSlice) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if service, ok := p.pods.services[key]; ok {
		p.pods.drop(service, key)
		p.touchService(service)
	}
	if slice == nil || slice.Labels[render.GatewayNameLabel] == "" || slice.AddressType == discoveryv1.AddressTypeFQDN {
		return
	}
	service := types.NamespacedName{Namespace: namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
	var own []pod
	for _, endpoint := range slice.Endpoints {
		is := func(condition *bool) bool { return condition != nil && *condition }
		// The kubelet does not update the files of a pod that terminates.
		if endpoint.TargetRef != nil && endpoint.TargetRef.Kind == "Pod" && len(endpoint.Addresses) > 0 && !is(endpoint.Conditions.Terminating) {
			own = append(own, pod{endpoint.TargetRef.Name, endpoint.Addresses[0], is(endpoint.Conditions.Ready)})
		}
	}
	p.pods.keep(service, key, own)
	p.touchService(service)
}

// touchService queues the Gateways whose proxies a Service selects, or once selected.
func (p *Plane) touchService(service types.NamespacedName) {
	for name := range p.byService[service] {
		if gateway, ok := p.known[name]; ok && (gateway.Fleet.Name == service.Name || p.staleFleets[name][service.Name]) {
			p.queue.AddAfter(name, batchDelay)
		}
	}
}

// indexService notes that a Service leads to the proxies of a Gateway, or once did.
func (p *Plane) indexService(gateway ir.Name, fleet string) {
	service := types.NamespacedName{Namespace: gateway.Namespace, Name: fleet}
	if p.byService[service] == nil {
		p.byService[service] = map[ir.Name]bool{}
	}
	p.byService[service][gateway] = true
}

// unindexServices forgets the Services of a Gateway that is gone.
func (p *Plane) unindexServices(gateway ir.Name) {
	fleets := slices.Collect(maps.Keys(p.staleFleets[gateway]))
	if known, ok := p.known[gateway]; ok {
		fleets = append(fleets, known.Fleet.Name)
	}
	for _, fleet := range fleets {
		p.unindexService(gateway, fleet)
	}
}

func (p *Plane) unindexService(gateway ir.Name, fleet string) {
	service := types.NamespacedName{Namespace: gateway.Namespace, Name: fleet}
	delete(p.byService[service], gateway)
	if len(p.byService[service]) == 0 {
		delete(p.byService, service)
	}
}

// errNoFiles is that a proxy is not supplied by files.
var errNoFiles = errors.New("the proxy does not read files")

// pollPods requests from each proxy what it has loaded, and touches the pods that are behind.
func (p *Plane) pollPods(ctx context.Context, s *rollout) {
	answers := p.askAll(ctx, s.pods)
	s.reads = false
	for i, each := range s.pods {
		before, known := s.loaded[each.name]
		number := before
		switch answer := answers[i]; {
		case errors.Is(answer.err, errNoFiles):
			delete(s.loaded, each.name)
			continue
		case answer.err == nil:
			number = s.numberOf(answer.id)
		case !known:
			number = -1
		case p.now().Sub(s.moved[each.name]) >= assumeLoadedAfter:
			// It does not answer, but its kubelet must have updated the files.
			number = s.last
		}
		if !known || number != before || number == s.last {
			s.moved[each.name] = p.now()
		}
		s.loaded[each.name], s.reads = number, true
	}
	if len(s.writes) > 0 && len(s.behind()) > 0 {
		p.touchPods(ctx, s)
	}
}

type answer struct {
	id  string
	err error
}

func (p *Plane) askAll(ctx context.Context, pods []pod) []answer {
	answers := make([]answer, len(pods))
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var group sync.WaitGroup
	for i, each := range pods {
		if !each.ready {
			answers[i].err = errNoFiles
			continue
		}
		group.Go(func() { answers[i].id, answers[i].err = p.Ask(limited, each.address) })
	}
	group.Wait()
	return answers
}

// anyReads reports whether a proxy of a fleet reads files, or may read them.
func (p *Plane) anyReads(ctx context.Context, gateway ir.Gateway) bool {
	p.mu.Lock()
	own := p.pods.of(gateway)
	p.mu.Unlock()
	return slices.ContainsFunc(p.askAll(ctx, own), func(a answer) bool { return !errors.Is(a.err, errNoFiles) })
}

// touchPods changes the pods that have not read the last write, since a kubelet looks after the files of a pod at once when that
// changes, and within 90 seconds otherwise.
func (p *Plane) touchPods(ctx context.Context, s *rollout) {
	for _, each := range s.pods {
		if loaded, reads := s.loaded[each.name]; each.ready && (!reads || loaded >= s.last) || p.now().Sub(s.touched[each.name]) < touchPause {
			continue
		}
		s.touched[each.name] = p.now()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, touchAnnotation, fmt.Sprintf(
			"%s %d", s.writes[len(s.writes)-1].id[:8], p.now().UnixMilli(),
		))
		object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.gateway.Name.Namespace, Name: each.name}}
		if err := client.IgnoreNotFound(p.Client.Patch(ctx, object, client.RawPatch(
			types.MergePatchType, patch,
		))); err != nil && ctx.Err() == nil {
			p.Log.Warn(
				"cannot touch a pod, so its kubelet updates the files later", "gateway", s.gateway.Name.String(), "pod",
				each.name, "error", err,
			)
		}
	}
}

// loadedClient keeps no connections, because requests are rare, and follows no redirects.
var loadedClient = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true, Proxy: nil},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// maxAnswer is more than an id has.
const maxAnswer = 256

// ask asks over HTTP.
func ask(ctx context.Context, address string) (string, error) {
	return askAt(ctx, "http://"+net.JoinHostPort(address, strconv.Itoa(bootstrap.ReadyPort))+layout.LoadedPath)
}

func askAt(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("asking a proxy: %w", err)
	}
	response, err := loadedClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("asking a proxy: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusNotFound {
		return "", errNoFiles
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil || response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("asking a proxy: status %d: %w", response.StatusCode, err)
	}
	return string(body), nil
}
