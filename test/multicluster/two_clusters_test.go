//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/load"
)

const (
	host = "shop.example.com"
	shop = "shop"
	// failover is how long health checks may take to find an endpoint that has gone silent: an interval and a timeout, and as much again.
	failover = 4 * time.Second
)

// objects are the same in both clusters.
const objects = `
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceImport
metadata: {name: shop}
spec: {type: ClusterSetIP, ports: [{name: http, port: 80, protocol: TCP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec:
  parentRefs: [{name: edge}]
  hostnames: [shop.example.com]
  rules: [{backendRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: shop, port: 80}]}]
---
apiVersion: gatewright.dev/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: shop}
spec:
  targetRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: shop}]
  healthCheck:
    panicThreshold: 0
    active: {type: HTTP, http: {path: /}, interval: 1s, timeout: 1s, unhealthyThreshold: 1, healthyThreshold: 1}
`

// linkName is the link between the two clusters, as `cluster connect` names it.
const linkName = "clusters0"

// pair is the two clusters.
type pair struct{ near, far *cluster }

// TestTwoClusters has a Service in two clusters, each with a control plane and a Gateway of its own, and the same objects in both.
//
//nolint:paralleltest // each part changes the network of both
func TestTwoClusters(t *testing.T) {
	p := pair{newCluster(t, "near"), newCluster(t, "far")}
	for _, c := range p.both() {
		live.InstallServiceImports(t, c.Client)
		c.StartEcho(t, patient(live.EchoDeployment(c.name, 2)))
		c.Make(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: shop}, Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": c.name},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(live.EchoPort)}},
		}})
		c.makeYAML(t, objects)
		c.address = c.Gateway(t, "edge")
	}
	p.announceReady(t, 2)
	p.near.answeredBy(t, p.near)
	p.far.answeredBy(t, p.far)

	t.Run("the other cluster is lost", p.otherLost)
	t.Run("all pods of this cluster go away", p.podsGone)
	t.Run("the pods of this cluster fall silent", p.podsSilent)
}

// patient has pods stay until the slices of all clusters say that they leave, as pods of any Service should.
func patient(d *appsv1.Deployment) *appsv1.Deployment {
	d.Spec.Template.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{
		PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 10}},
	}
	return d
}

func (p pair) both() []*cluster { return []*cluster{p.near, p.far} }

// otherLost cuts the link for longer than Envoy waits for a first response of xDS. No request of either cluster notices.
func (p pair) otherLost(t *testing.T) {
	atNear, atFar := p.near.load(t), p.far.load(t)
	time.Sleep(3 * time.Second)
	restore := p.near.drop(t, "iifname "+linkName, "oifname "+linkName)
	time.Sleep(20 * time.Second)
	restore()
	time.Sleep(3 * time.Second)
	none(t, "near", atNear.Stop())
	none(t, "far", atFar.Stop())
}

// podsGone stops all pods of one cluster and starts them again. Slices say so, and no request fails.
func (p pair) podsGone(t *testing.T) {
	atNear := p.near.load(t)
	p.near.scale(t, 0)
	p.announceReady(t, 0)
	p.near.answeredBy(t, p.far)
	time.Sleep(15 * time.Second) // until the pods have ended
	p.near.scale(t, 2)
	p.announceReady(t, 2)
	p.near.answeredBy(t, p.near)
	none(t, "near", atNear.Stop())
}

// podsSilent loses all packets to and from the pods of one cluster. No slice says so, and health checks find it. Requests fail that were
// under way, and those sent until then; no other does, and none at the other cluster.
func (p pair) podsSilent(t *testing.T) {
	const pause = 3 * time.Second
	addresses := strings.Join(p.near.podAddresses(t), ", ")
	atFar := p.far.load(t)
	started := time.Now()
	atNear := p.near.load(t)
	time.Sleep(pause)
	restore := p.near.drop(t, "ip daddr { "+addresses+" }", "ip saddr { "+addresses+" }")
	lost := time.Since(started)
	took := p.near.answeredBy(t, p.far)
	time.Sleep(20 * time.Second)
	restore()
	p.near.answeredBy(t, p.near)
	time.Sleep(pause)
	r := atNear.Stop()
	t.Logf("the other cluster answered after %s; near: %s; the last of them was sent %s after the loss", took, r, r.LastSent-lost)
	if r.Failed() == 0 || r.LastSent-lost > failover {
		t.Errorf("the last request that failed was sent %s after the loss, want at most %s: %s", r.LastSent-lost, failover, r)
	}
	none(t, "far", atFar.Stop())
}

// announceReady copies slices in both directions until they have so many ready endpoints of the near cluster.
func (p pair) announceReady(t *testing.T, want int) {
	t.Helper()
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		for _, from := range p.both() {
			for _, to := range p.both() {
				if err := from.announce(ctx, shop, to); err != nil {
					return err
				}
			}
		}
		if ready, err := p.near.readyEndpoints(ctx); err != nil || ready != want {
			return fmt.Errorf("%d endpoints are ready, want %d: %w", ready, want, err)
		}
		return nil
	})
}

// none fails if any request did.
func none(t *testing.T, where string, r load.Result) {
	t.Helper()
	if r.Failed() > 0 || r.Sent == 0 {
		t.Errorf("%s: %s", where, r)
		return
	}
	t.Logf("%s: %s", where, r)
}

// readyEndpoints counts the endpoints of the cluster's own pods in its own copies.
func (c *cluster) readyEndpoints(ctx context.Context) (int, error) {
	var slices discoveryv1.EndpointSliceList
	if err := c.List(ctx, &slices, client.InNamespace(c.Namespace), client.MatchingLabels{labelSource: c.name}); err != nil {
		return 0, fmt.Errorf("list the copies of cluster %s: %w", c.name, err)
	}
	ready := 0
	for i := range slices.Items {
		for _, e := range slices.Items[i].Endpoints {
			if ptr.Deref(e.Conditions.Ready, false) {
				ready++
			}
		}
	}
	return ready, nil
}

func (c *cluster) podAddresses(t *testing.T) []string {
	t.Helper()
	var pods corev1.PodList
	if err := c.List(t.Context(), &pods, client.InNamespace(c.Namespace), client.MatchingLabels{"app": c.name}); err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for i := range pods.Items {
		if live.PodReady(&pods.Items[i]) {
			addresses = append(addresses, pods.Items[i].Status.PodIP)
		}
	}
	return addresses
}

func (c *cluster) scale(t *testing.T, replicas int32) {
	t.Helper()
	live.Eventually(t, time.Minute, 200*time.Millisecond, func(ctx context.Context) error {
		d := &appsv1.Deployment{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.name}, d); err != nil {
			return fmt.Errorf("read the Deployment of cluster %s: %w", c.name, err)
		}
		d.Spec.Replicas = &replicas
		if err := c.Update(ctx, d); err != nil {
			return fmt.Errorf("scale the Deployment of cluster %s: %w", c.name, err)
		}
		return nil
	})
}
