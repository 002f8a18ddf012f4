//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/test/live"
	"github.com/gatewright/gatewright/test/load"
)

func TestMain(m *testing.M) { os.Exit(live.Run(m)) }

// The labels by which an implementation of the Multi-Cluster Services API announces endpoints.
const (
	labelImport = "multicluster.kubernetes.io/service-name"
	labelSource = "multicluster.kubernetes.io/source-cluster"
)

// cluster is one of the two: a namespace in it, and its network.
type cluster struct {
	*live.Fixture
	name    string
	network string
	address string
}

// newCluster is the cluster that has this name as its clusterID. The variables say where its kubeconfig and its network namespace are.
func newCluster(t *testing.T, name string) *cluster {
	t.Helper()
	variable := func(suffix string) string {
		value := os.Getenv(strings.ToUpper(name) + suffix)
		if value == "" {
			t.Fatalf("%s%s is not set; run make multicluster", strings.ToUpper(name), suffix)
		}
		return value
	}
	connection, err := clientcmd.BuildConfigFromFlags("", variable("_KUBECONFIG"))
	if err != nil {
		t.Fatalf("read the kubeconfig of cluster %s: %v", name, err)
	}
	c := &cluster{name: name, network: variable("_NETWORK")}
	connection.Dial = c.dial
	c.Fixture = live.NewIn(t, connection)
	c.HTTP = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: c.dial}}
	return c
}

// dial opens a connection inside the network of the cluster.
func (c *cluster) dial(ctx context.Context, network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		// Never unlocked: the thread stays in the namespace and has to end with this goroutine.
		runtime.LockOSThread()
		namespace, err := os.Open("/run/netns/" + c.network)
		if err != nil {
			done <- result{err: fmt.Errorf("open the network of cluster %s: %w", c.name, err)}
			return
		}
		err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
		_ = namespace.Close()
		if err != nil {
			done <- result{err: fmt.Errorf("enter the network of cluster %s: %w", c.name, err)}
			return
		}
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, address)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

// drop loses all packets that the cluster's node forwards and that match, without a word to anyone, until the test or restore ends it.
func (c *cluster) drop(t *testing.T, matches ...string) (restore func()) {
	t.Helper()
	rules := "add table ip lost\nadd chain ip lost forward { type filter hook forward priority -10; }\n"
	for _, match := range matches {
		rules += "add rule ip lost forward " + match + " drop\n"
	}
	c.nft(t, rules)
	restore = sync.OnceFunc(func() { c.nft(t, "delete table ip lost\n") })
	t.Cleanup(restore)
	return restore
}

func (c *cluster) nft(t *testing.T, rules string) {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), "nsenter", "--net=/run/netns/"+c.network, "nft", "-f", "-")
	command.Stdin = strings.NewReader(rules)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s: %v: %s", rules, err, out)
	}
}

func (c *cluster) makeYAML(t *testing.T, text string) {
	t.Helper()
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(part), &object.Object); err != nil {
			t.Fatalf("read an object: %v\n%s", err, part)
		}
		c.Make(t, object)
	}
}

// announce copies the EndpointSlices of a Service into a cluster, as an implementation of the Multi-Cluster Services API does.
func (c *cluster) announce(ctx context.Context, service string, to *cluster) error {
	var slices discoveryv1.EndpointSliceList
	if err := c.List(ctx, &slices, client.InNamespace(c.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service}); err != nil {
		return fmt.Errorf("list the slices of cluster %s: %w", c.name, err)
	}
	for i := range slices.Items {
		from := &slices.Items[i]
		copied := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: to.Namespace, Name: c.name + "-" + from.Name}}
		found := client.IgnoreNotFound(to.Get(ctx, client.ObjectKeyFromObject(copied), copied))
		if found != nil {
			return fmt.Errorf("read a slice of cluster %s: %w", to.name, found)
		}
		copied.Labels = map[string]string{labelImport: service, labelSource: c.name}
		copied.AddressType, copied.Ports, copied.Endpoints = from.AddressType, from.Ports, nil
		for _, e := range from.Endpoints {
			copied.Endpoints = append(copied.Endpoints, discoveryv1.Endpoint{Addresses: e.Addresses, Conditions: e.Conditions})
		}
		write := to.Update
		if copied.ResourceVersion == "" {
			write = func(ctx context.Context, o client.Object, _ ...client.UpdateOption) error { return to.Create(ctx, o) }
		}
		if err := write(ctx, copied); err != nil {
			return fmt.Errorf("write a slice of cluster %s: %w", to.name, err)
		}
	}
	return nil
}

// answeredBy waits until pods of a cluster answer for this one's Gateway.
func (c *cluster) answeredBy(t *testing.T, by *cluster) time.Duration {
	t.Helper()
	return live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		answer, err := c.Request(ctx, c.address, host)
		if err == nil && !strings.HasPrefix(answer.Pod, by.name) {
			err = fmt.Errorf("pod %s answered, want one of cluster %s", answer.Pod, by.name)
		}
		return err
	})
}

// load sends requests to the Gateway of the cluster, from within.
func (c *cluster) load(t *testing.T) *load.Run {
	t.Helper()
	return load.Start(t.Context(), load.Plan{
		URL: "http://" + live.Host(c.address), Host: host, Rate: 50, Workers: 500, Timeout: 10 * time.Second,
		MaxDuration: 5 * time.Minute, Dial: c.dial,
	})
}
