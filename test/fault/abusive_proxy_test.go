//go:build fault

package fault

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/test/clock"
)

const endpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

// mostMemory is by how much a caller may make the controllers grow.
const mostMemory = 1.1

// TestCase47AbusiveProxy lets a client with the token of a proxy ask for names that do not exist, open streams, refuse everything with
// many words, and never read. Others advance, and the controllers do not grow.
//
//nolint:paralleltest // it looks at the memory of the controllers
func TestCase47AbusiveProxy(t *testing.T) {
	c := begin(t, "47", "a proxy that asks for all it can")
	w := newFixture(t)
	// The caller uses up the streams of the proxy whose token it has. That proxy comes back each time; the others notice nothing.
	const robbed = "robbed"
	address := w.Gateway(t, robbed)
	proxy := w.OneProxy(t, robbed)
	// What counts is what the caller adds, so the same is done without it first. Controllers that have just started have not read all their
	// code yet, nor collected garbage.
	length := span(time.Minute, 20*time.Second)
	w.slowestBeside(t, "before", length)
	memory := w.watchMemory(t)

	g := &greedy{
		at: w.door(t), t: t, token: w.token(t, proxy, xdsAudience, true),
		node: &corev3.Node{Id: proxy.Name, Cluster: w.Namespace + "/" + robbed},
	}
	stop := g.begin(t.Context())
	slowest := w.slowestBeside(t, "beside", length)
	stop()
	start := clock.Now()
	w.Route(t, robbed, robbed, "robbed.example.com", serviceName)
	w.waitHost(t, address, "robbed.example.com")
	c.note("%d streams asked for", g.streams)
	c.took(clock.Since(start), "a route of the proxy with the token, afterwards, served within", reconnectLimit)
	c.took(slowest, "other routes served within", othersLimit)
	memory.report(c)
}

// slowestBeside creates and deletes routes for a while, and says how long the slowest took to be served.
func (w *fixture) slowestBeside(t *testing.T, name string, length time.Duration) time.Duration {
	t.Helper()
	var slowest time.Duration
	for end, round := time.Now().Add(length), 0; time.Now().Before(end); round++ {
		slowest = max(slowest, w.slowestRoute(t, w.address, fmt.Sprintf("%s-%d", name, round)))
	}
	return slowest
}

// greedy is a client with the token of a proxy.
type greedy struct {
	at    door
	t     *testing.T
	token string
	node  *corev3.Node

	mu      sync.Mutex
	streams int
}

// begin does everything at once, again and again, until it is stopped.
func (g *greedy) begin(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	var callers sync.WaitGroup
	for _, do := range []func(context.Context){g.askForNothing, g.openStreams, g.refuse, g.neverRead} {
		callers.Go(func() { repeat(ctx, func() { do(ctx) }) })
	}
	return func() {
		cancel()
		callers.Wait()
	}
}

// stream opens a stream on a connection of its own, which ends with the context.
func (g *greedy) stream(ctx context.Context) (grpc.ClientStream, error) {
	g.mu.Lock()
	g.streams++
	g.mu.Unlock()
	connection := g.at.dial(ctx, g.t)
	return connection.NewStream(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+g.token),
		&grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, deltaCall)
}

// askForNothing asks for 100,000 names that do not exist.
func (g *greedy) askForNothing(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	stream, err := g.stream(ctx)
	if err != nil {
		return
	}
	for batch := range 100 {
		request := &discoveryv3.DeltaDiscoveryRequest{Node: g.node, TypeUrl: endpointType}
		for i := range 1000 {
			request.ResourceNamesSubscribe = append(request.ResourceNamesSubscribe, fmt.Sprintf("nothing/of-that-name-%d/%d", batch, i))
		}
		if stream.SendMsg(request) != nil {
			break
		}
	}
	<-ctx.Done()
}

// openStreams opens 1,000 streams, and keeps as many as it is let.
func (g *greedy) openStreams(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var opening sync.WaitGroup
	for range 20 {
		opening.Go(func() {
			for range 50 {
				stream, err := g.stream(ctx)
				if err != nil {
					continue
				}
				_ = stream.SendMsg(&discoveryv3.DeltaDiscoveryRequest{Node: g.node, TypeUrl: clusterType})
			}
		})
	}
	opening.Wait()
	<-ctx.Done()
}

// refuse refuses whatever it is sent with 1 MiB of words.
func (g *greedy) refuse(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	stream, err := g.stream(ctx)
	if err != nil || stream.SendMsg(&discoveryv3.DeltaDiscoveryRequest{Node: g.node, TypeUrl: clusterType}) != nil {
		return
	}
	for ctx.Err() == nil {
		answer := &discoveryv3.DeltaDiscoveryResponse{}
		if stream.RecvMsg(answer) != nil {
			return
		}
		words := strings.Repeat(fmt.Sprintf("no, not %s; ", answer.GetNonce()), 1<<17)
		if stream.SendMsg(&discoveryv3.DeltaDiscoveryRequest{
			TypeUrl: clusterType, ResponseNonce: answer.GetNonce(), ErrorDetail: &status.Status{Code: 3, Message: words[:1<<20]},
		}) != nil {
			return
		}
	}
}

// neverRead asks again and again, and reads nothing.
func (g *greedy) neverRead(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	stream, err := g.stream(ctx)
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		for _, typeURL := range []string{clusterType, listenerType, secretType} {
			if stream.SendMsg(&discoveryv3.DeltaDiscoveryRequest{Node: g.node, TypeUrl: typeURL}) != nil {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// memoryWatch looks at what the controllers take.
type memoryWatch struct {
	w      *fixture
	pods   []corev1.Pod
	before int64
}

// watchMemory begins with the most that they take within ten seconds: it depends on when garbage was collected last.
func (w *fixture) watchMemory(t *testing.T) *memoryWatch {
	t.Helper()
	pods, err := w.Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := &memoryWatch{w: w, pods: pods}
	for range 10 {
		took, _ := w.memory(t)
		m.before = max(m.before, took)
		time.Sleep(time.Second)
	}
	return m
}

// report says how much they grew, once what is no longer needed is given back.
func (m *memoryWatch) report(c *faultCase) {
	c.t.Helper()
	grown := func() float64 {
		took, _ := m.w.memory(c.t)
		return float64(took) / float64(m.before)
	}
	peak, end := grown(), clock.Now()
	now := peak
	for now > mostMemory && clock.Since(end) < 30*time.Second {
		time.Sleep(time.Second)
		now = min(now, grown())
	}
	c.note("memory of the controllers %.2f × at the end of it, %.2f × after %.0f s", peak, now, clock.Since(end).Seconds())
	if now > mostMemory {
		c.exceeded("the controllers take %.2f times the memory, the limit is %.2f", now, mostMemory)
	}
	c.none(restarts(m.w, c.t, m.pods), "restarts of controllers")
}

func restarts(w *fixture, t *testing.T, before []corev1.Pod) int {
	t.Helper()
	n := w.controllerRestarts(t)
	for i := range before {
		for _, s := range before[i].Status.ContainerStatuses {
			n -= int(s.RestartCount)
		}
	}
	return n
}
