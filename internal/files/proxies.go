package files

import (
	"context"
	"errors"
	"fmt"
	"io"
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

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
)

const (
	// answerTime is how long a proxy may take to say what it has read.
	answerTime = time.Second
	// nudgePause is how often a pod is changed that has not read what was written.
	nudgePause = 2 * time.Second
	// lookAnnotation on a pod is for which files its kubelet was last asked to look after it.
	lookAnnotation = "gatewright.dev/files"
)

// pod is a proxy, as the EndpointSlices of its fleet have it.
type pod struct {
	name, address string
	ready         bool
}

// pods are the proxies of fleets, by Service and EndpointSlice.
type pods map[types.NamespacedName]map[string][]pod

func (p pods) of(gateway ir.Gateway) []pod {
	var all []pod
	for _, own := range p[types.NamespacedName{Namespace: gateway.Name.Namespace, Name: gateway.Fleet.Name}] {
		for _, each := range own {
			if !slices.ContainsFunc(all, func(other pod) bool { return other.name == each.name }) {
				all = append(all, each)
			}
		}
	}
	return all
}

// Endpoints follows an EndpointSlice, nil when it is gone. The labels of a fleet's Service are on its slices, so those of others are not kept.
func (p *Plane) Endpoints(namespace, name string, slice *discoveryv1.EndpointSlice) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for service, own := range p.pods {
		if _, ok := own[name]; ok && service.Namespace == namespace {
			delete(own, name)
			p.touchService(service)
		}
	}
	if slice == nil || slice.Labels[render.GatewayNameLabel] == "" || slice.AddressType == discoveryv1.AddressTypeFQDN {
		return
	}
	service := types.NamespacedName{Namespace: namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
	if p.pods[service] == nil {
		p.pods[service] = map[string][]pod{}
	}
	for _, endpoint := range slice.Endpoints {
		is := func(condition *bool) bool { return condition != nil && *condition }
		// The kubelet does not look after the files of a pod that is to end.
		if endpoint.TargetRef != nil && len(endpoint.Addresses) > 0 && !is(endpoint.Conditions.Terminating) {
			p.pods[service][name] = append(p.pods[service][name], pod{endpoint.TargetRef.Name, endpoint.Addresses[0], is(endpoint.Conditions.Ready)})
		}
	}
	p.touchService(service)
}

func (p *Plane) touchService(service types.NamespacedName) {
	for name, gateway := range p.known {
		if name.Namespace == service.Namespace && (gateway.Fleet.Name == service.Name || p.left[name][service.Name]) {
			p.tasks.AddAfter(name, gather)
		}
	}
}

// errNoFiles is that a proxy is not supplied by files.
var errNoFiles = errors.New("the proxy does not read files")

// look asks proxies what they have read, and has the kubelets of those that are behind look after them again.
func (p *Plane) look(ctx context.Context, s *supply) {
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
		case p.now().Sub(s.moved[each.name]) >= patience:
			// It can not be asked, but its kubelet must have been there.
			number = s.last
		}
		if !known || number != before || number == s.last {
			s.moved[each.name] = p.now()
		}
		s.loaded[each.name], s.reads = number, true
	}
	if len(s.writes) > 0 && len(s.behind()) > 0 {
		p.nudge(ctx, s)
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

// anyReads says whether a proxy of a fleet reads files, as far as can be known.
func (p *Plane) anyReads(ctx context.Context, gateway ir.Gateway) bool {
	p.mu.Lock()
	own := p.pods.of(gateway)
	p.mu.Unlock()
	return slices.ContainsFunc(p.askAll(ctx, own), func(a answer) bool { return !errors.Is(a.err, errNoFiles) })
}

// nudge changes the pods that have not read the last write, since a kubelet looks after the files of a pod at once when that changes, and within 90 seconds otherwise.
func (p *Plane) nudge(ctx context.Context, s *supply) {
	for _, each := range s.pods {
		if loaded, reads := s.loaded[each.name]; each.ready && (!reads || loaded >= s.last) || p.now().Sub(s.nudged[each.name]) < nudgePause {
			continue
		}
		s.nudged[each.name] = p.now()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, lookAnnotation, fmt.Sprintf("%s %d", s.writes[len(s.writes)-1].id[:8], p.now().UnixMilli()))
		object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.gateway.Name.Namespace, Name: each.name}}
		if err := client.IgnoreNotFound(p.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))); err != nil && ctx.Err() == nil {
			p.Log.Warn("a proxy learns of its new files only when its kubelet looks after it by itself", "gateway", s.gateway.Name.String(), "pod", each.name, "error", err)
		}
	}
}

// asker keeps no connection: a proxy is asked now and then.
var asker = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil}}

// maxAnswer is more than an id has.
const maxAnswer = 256

// ask asks over HTTP.
func ask(ctx context.Context, address string) (string, error) {
	url := "http://" + net.JoinHostPort(address, strconv.Itoa(render.ReadyPort)) + render.LoadedPath
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("asking a proxy: %w", err)
	}
	response, err := asker.Do(request)
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
