package xds_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gatewright/gatewright/internal/xds"
)

func TestAStreamThatIsOverFollowsNoEndpoints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := boot(t, c)
		p.subscribe(endpointURL, "*", "eds/unknown")
		p.expect(endpointURL, nil, []string{"eds/unknown"})
		p.disconnect()
		for deadline := time.Now().Add(timeout); len(c.cache.Followed()) > 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("a stream that is over follows %v", c.cache.Followed())
			}
		}
	})
}

func TestTheReasonOfANACKIsClipped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, log := make(journal, 100), &logged{}
		c := start(t, options{observer: j, log: log})
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", "")})
		p := c.connect(group)
		p.subscribe(clusterURL)
		p.refuse(p.receive(), "c1: "+strings.Repeat("é", 1<<20))
		j.expect(t, "connected "+group.String())
		refused := j.next(t)
		if len(refused) > xds.MaxReason+100 || !utf8.ValidString(refused) || !strings.HasPrefix(refused, "refused cluster  c1 []: ééé") {
			t.Errorf("%d bytes were stored: %.100q", len(refused), refused)
		}
		if text := log.String(); len(text) > 2*xds.MaxReason || !strings.Contains(text, "ééé") {
			t.Errorf("%d bytes were logged: %.300q", len(text), text)
		}
	})
}

func TestWhatAProxySaysOfASecretIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, log := make(journal, 100), &logged{}
		c := start(t, options{observer: j, log: log})
		c.cache.Apply([]xds.Change{secret(t, group, "s1", "")})
		p := c.connect(group)
		p.subscribe(secretURL, "s1")
		p.refuse(p.receive(), "s1: cannot parse hunter2")
		j.expect(t, "connected "+group.String())
		if refused := j.next(t); !strings.HasPrefix(refused, "refused secret  s1 []: ") || strings.Contains(refused, "hunter2") {
			t.Errorf("stored: %q", refused)
		}
		if text := log.String(); !strings.Contains(text, "proxy sent a NACK") || strings.Contains(text, "hunter2") {
			t.Errorf("logged: %q", text)
		}
	})
}

// logged is what was logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// unknown are names that do not exist.
func unknown(from, count int) []string {
	names := make([]string, 0, count)
	for i := range count {
		names = append(names, fmt.Sprintf("unknown/%d", from+i))
	}
	return names
}

// endsExhausted says that the proxy has asked for too much.
func (p *proxy) endsExhausted() {
	p.t.Helper()
	for {
		if _, err := p.stream.Recv(); err != nil {
			if status.Code(err) != codes.ResourceExhausted {
				p.t.Errorf("the stream ended with %v", err)
			}
			return
		}
	}
}

func TestNamesThatDoNotExistAreLimited(t *testing.T) {
	t.Parallel()
	t.Run("a stream that goes on asking for more of them ends", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			log := &logged{}
			c := start(t, options{log: log})
			p := c.connectWithoutReading(group)
			for i := range 3 {
				p.subscribe(endpointURL, unknown(i*xds.MaxUnknown/2, xds.MaxUnknown/2)...)
			}
			p.endsExhausted()
			if lines := strings.Count(log.String(), "names that do not exist"); lines != 1 {
				t.Errorf("it was logged %d times:\n%s", lines, log)
			}
		})
	})
	t.Run("long ones count for more", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			p := c.connectWithoutReading(group)
			p.subscribe(secretURL, "s1")
			p.subscribe(secretURL, strings.Repeat("x", xds.MaxUnknownBytes+1))
			p.endsExhausted()
		})
	})
	t.Run("a proxy that reconnects may list any number that existed before", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			c.cache.Apply([]xds.Change{cluster(t, group, "c1", "")})
			p := c.connect(group)
			p.subscribe(endpointURL, append(unknown(0, 3*xds.MaxUnknown), "eds/c1")...)
			response := p.take()
			if len(response.GetResources()) != 1 || len(response.GetRemovedResources()) != xds.MaxUnknown {
				t.Errorf("got %d, removed %d", len(response.GetResources()), len(response.GetRemovedResources()))
			}
			if followed := len(c.cache.Followed()); followed != xds.MaxUnknown+1 {
				t.Errorf("%d are followed", followed)
			}
		})
	})
	t.Run("those that come to exist, or are let go, do not count", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			p := c.connect(group)
			for i := range 3 {
				names := unknown(i*xds.MaxUnknown, xds.MaxUnknown)
				p.subscribe(secretURL, names...)
				if removed := p.take().GetRemovedResources(); len(removed) != len(names) {
					t.Fatalf("removed %d", len(removed))
				}
				if i == 0 {
					var changes []xds.Change
					for _, name := range names {
						changes = append(changes, secret(t, group, name, ""))
					}
					c.cache.Apply(changes)
					if got := p.take().GetResources(); len(got) != len(names) {
						t.Fatalf("got %d", len(got))
					}
					continue
				}
				p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: secretURL, ResourceNamesUnsubscribe: names})
			}
		})
	})
}

// listed are the versions of hosts that do not exist.
func listed(count, length int) map[string]string {
	versions := map[string]string{}
	for i := range count {
		name := fmt.Sprintf("t1|%d.example", i)
		versions[name+strings.Repeat("x", max(0, length-len(name)))] = strings.Repeat("f", 32)
	}
	return versions
}

func TestResourcesThatAProxyListsAreLimited(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		versions map[string]string
	}{
		{"many that do not exist", listed(xds.LeastGone+1, 0)},
		{"long ones that do not exist", listed(xds.LeastGoneBytes/1000+1, 1000)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := &logged{}
				c := start(t, options{log: log})
				p := c.connectWithoutReading(group)
				p.introduce(clusterURL, true, nil)
				p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: scopeURL, InitialResourceVersions: test.versions})
				p.endsExhausted()
				if !strings.Contains(log.String(), "lists too many resources that do not exist") {
					t.Errorf("logged: %s", log)
				}
			})
		})
	}
	t.Run("all that are gone are removed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			c.cache.Apply([]xds.Change{table(t, group, "t1"), host(t, "a.example", "")})
			p := c.connect(group)
			p.introduce(clusterURL, true, nil)
			versions := listed(20000, 0)
			versions["t1|a.example"] = strings.Repeat("long", 1000)
			p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: scopeURL, InitialResourceVersions: versions})
			p.expect(clusterURL, nil, nil)
			p.expect(scopeURL, []string{"t1|*", "t1|a.example"}, nil)
			removed := 0
			for removed < 20000 {
				removed += len(p.take().GetRemovedResources())
			}
			p.hearsNothing()
		})
	})
	t.Run("of a type without a wildcard, only what is subscribed to counts", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := start(t, options{})
			c.cache.Apply([]xds.Change{cluster(t, group, "c1", "")})
			p := c.connect(group)
			p.send(&discoveryv3.DeltaDiscoveryRequest{
				TypeUrl: endpointURL, ResourceNamesSubscribe: []string{"eds/c1"}, InitialResourceVersions: listed(xds.LeastGone+1, 0),
			})
			p.expect(endpointURL, []string{"eds/c1"}, nil)
			p.hearsNothing()
		})
	})
}

// TestAProxyCanListTheLargestGateway has names of every length that Kubernetes allows: namespace, Gateway, port and hostname.
func TestAProxyCanListTheLargestGateway(t *testing.T) {
	t.Parallel()
	list := func(count, length int) *discoveryv3.DeltaDiscoveryRequest {
		request := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: scopeURL, InitialResourceVersions: map[string]string{}}
		for i := range count {
			name := fmt.Sprintf("n/g/65535|%06d", i)
			request.InitialResourceVersions[name+strings.Repeat("h", length-len(name))] = strings.Repeat("f", 32)
		}
		return request
	}
	for length := 20; length <= 63+63+5+253+3; length++ {
		times := (length + xds.ListedName - 1) / xds.ListedName
		if one := proto.Size(list(2, length)) - proto.Size(list(1, length)); one > times*xds.ListedRoom {
			t.Errorf("a name of %d characters takes %d bytes, more than %d", length, one, times*xds.ListedRoom)
		}
	}
	// What is beyond the least takes effect; all of it at once.
	const hostnames = 60_000
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{prepare: func(s *xds.Server) { s.AllowListed(hostnames, 0) }})
		p := c.connect(group)
		p.introduce(clusterURL, true, nil)
		// The versions are longer than any of ours, so that fewer names prove it.
		request := list(hostnames, xds.ListedName)
		for name := range request.InitialResourceVersions {
			request.InitialResourceVersions[name] = strings.Repeat("f", 160)
		}
		if size := proto.Size(request); size <= xds.LeastReceived || size > 2*hostnames*xds.ListedRoom {
			t.Errorf("%d bytes prove nothing", size)
		}
		p.send(request)
		p.expect(clusterURL, nil, nil)
		removed := 0
		for removed < hostnames {
			removed += len(p.take().GetRemovedResources())
		}
		p.hearsNothing()
	})
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := c.connectWithoutReading(group)
		p.send(list(xds.LeastReceived/xds.ListedName, xds.ListedName))
		p.endsExhausted()
	})
}

// TestResourcesOfAllTypesThatAProxyListsAreLimitedTogether lists half of what is allowed of each of several types.
func TestResourcesOfAllTypesThatAProxyListsAreLimitedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := c.connectWithoutReading(group)
		p.introduce(clusterURL, true, listed(xds.LeastGone/2+1, 0))
		p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: scopeURL, InitialResourceVersions: listed(xds.LeastGone/2+1, 0)})
		p.endsExhausted()
	})
}

func TestAProxyThatDoesNotAnswerIsNotSentMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		c.cache.Apply([]xds.Change{secret(t, group, "s1", "")})
		p := c.connect(group)
		for range 10 * xds.MaxUnanswered {
			p.subscribe(secretURL, "s1")
		}
		var last *discoveryv3.DeltaDiscoveryResponse
		for range xds.MaxUnanswered {
			last = p.receive()
		}
		p.hearsNothing()
		p.acknowledge(last)
		p.expect(secretURL, []string{"s1"}, nil)
		p.hearsNothing()
	})
}

func TestTheStreamsOfAProxyAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		other := c.connectAs("pod-2")
		other.subscribe(clusterURL)
		other.expect(clusterURL, nil, nil)
		streams := make([]*proxy, xds.MaxStreamsOfProxy+1)
		for i := range streams {
			streams[i] = c.connectAs(pod)
			streams[i].subscribe(clusterURL)
			streams[i].expect(clusterURL, nil, nil)
		}
		// The oldest has made room for the newest: a proxy whose connections broke without a word is let in again.
		select {
		case _, more := <-streams[0].responses:
			if more || status.Code(streams[0].ended) != codes.ResourceExhausted {
				t.Errorf("the oldest stream ended with %v", streams[0].ended)
			}
		case <-time.After(timeout):
			t.Fatal("the oldest stream goes on")
		}
		c.cache.Apply([]xds.Change{cluster(t, group, "c1", "")})
		for _, p := range append(streams[1:], other) {
			p.expect(clusterURL, []string{"c1"}, nil)
		}
		c.wait("gatewright_xds_connected_proxies", xds.MaxStreamsOfProxy+1)
		streams[0].expectNoConnection()
	})
}

func TestAProxyThatIsRefusedKeepsNoConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options{})
		p := c.connect(group)
		p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, Node: &corev3.Node{Id: pod, Cluster: "another/gateway"}})
		p.expectNoConnection()
	})
}

// expectNoConnection says that the connection of the proxy ends.
func (p *proxy) expectNoConnection() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), timeout)
	defer cancel()
	for state := p.connection.GetState(); state == connectivity.Ready; state = p.connection.GetState() {
		if !p.connection.WaitForStateChange(ctx, state) {
			p.t.Fatal("the connection stays")
		}
	}
}
