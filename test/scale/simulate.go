package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
)

// crowd is what a process that stands for many proxies is told.
type crowd struct {
	Address, ServerName string
	Bundle              []byte
	Proxies, Gateways   int
	// Watched is the assignment whose arrival is counted.
	Watched string
}

// What the process says, one word a line: when every proxy has everything, and whenever all have acknowledged one more version of the
// watched assignment.
const (
	allReady = "ready"
	allAcked = "acknowledged"
)

// simulate stands for proxies, each with a connection and a delta ADS stream of its own on which it asks as Envoy does, until its input
// ends.
func simulate(in io.Reader, out io.Writer) error {
	var c crowd
	reader := bufio.NewReader(in)
	if err := json.NewDecoder(reader).Decode(&c); err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(c.Bundle) {
		return errors.New("there is no certificate authority")
	}
	security := credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: c.ServerName, MinVersion: tls.VersionTLS13})
	tally := &tally{out: out, proxies: c.Proxies, versions: map[string]int{}}
	failed := make(chan error, c.Proxies)
	for i := range c.Proxies {
		p := &simulated{crowd: c, number: i, tally: tally, security: security}
		go func() { failed <- p.run() }()
		if i%20 == 19 {
			// As they would come after a restart, not all at the same moment.
			time.Sleep(10 * time.Millisecond)
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, reader)
		os.Exit(0)
	}()
	return <-failed
}

// tally counts what proxies have.
type tally struct {
	mu       sync.Mutex
	out      io.Writer
	proxies  int
	ready    int
	versions map[string]int
}

func (t *tally) becameReady() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ready++; t.ready == t.proxies {
		_, _ = fmt.Fprintln(t.out, allReady)
	}
}

func (t *tally) acknowledged(version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.versions[version]++; t.versions[version] == t.proxies {
		delete(t.versions, version)
		_, _ = fmt.Fprintln(t.out, allAcked)
	}
}

// simulated is one proxy.
type simulated struct {
	crowd
	number   int
	tally    *tally
	security credentials.TransportCredentials
	stream   discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	// missing are the assignments that were asked for and have not come; subscribed are the types.
	missing    map[string]bool
	subscribed map[string]bool
	// routed says that it has scopes, and ready that it has everything.
	routed, ready bool
}

func (p *simulated) run() error {
	gateway := p.number % p.Gateways
	connection, err := grpc.NewClient(
		p.Address, grpc.WithTransportCredentials(p.security), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(256<<20)),
	)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	pod := pod(gateway, p.number/p.Gateways)
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer "+token(gateway, pod))
	if p.stream, err = discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(
		ctx, grpc.WaitForReady(true),
	); err != nil {
		return fmt.Errorf("open a stream: %w", err)
	}
	p.missing, p.subscribed = map[string]bool{}, map[string]bool{}
	node := &corev3.Node{Id: pod, Cluster: namespace + "/" + name("gateway", gateway)}
	if err := p.stream.Send(&discoveryv3.DeltaDiscoveryRequest{Node: node, TypeUrl: resourcev3.ClusterType}); err != nil {
		return fmt.Errorf("ask for clusters: %w", err)
	}
	for {
		response, err := p.stream.Recv()
		if err != nil {
			return fmt.Errorf("proxy %d: %w", p.number, err)
		}
		if err := p.take(response); err != nil {
			return fmt.Errorf("proxy %d: %w", p.number, err)
		}
	}
}

// take asks for what the response makes necessary, and acknowledges it.
func (p *simulated) take(response *discoveryv3.DeltaDiscoveryResponse) error {
	acknowledgement := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: response.GetTypeUrl(), ResponseNonce: response.GetNonce()}
	switch response.GetTypeUrl() {
	case resourcev3.ClusterType:
		if err := p.askEndpoints(response); err != nil {
			return err
		}
		if err := p.subscribe(resourcev3.ListenerType); err != nil {
			return err
		}
	case resourcev3.ListenerType:
		if err := p.subscribe(resourcev3.ScopedRouteType); err != nil {
			return err
		}
	}
	if err := p.stream.Send(acknowledgement); err != nil {
		return err
	}
	for _, r := range response.GetResources() {
		if response.GetTypeUrl() != resourcev3.EndpointType {
			break
		}
		delete(p.missing, r.GetName())
		if r.GetName() == p.Watched {
			p.tally.acknowledged(r.GetVersion())
		}
	}
	p.routed = p.routed || response.GetTypeUrl() == resourcev3.ScopedRouteType
	if !p.ready && p.routed && len(p.missing) == 0 {
		p.ready = true
		p.tally.becameReady()
	}
	return nil
}

func (p *simulated) subscribe(typeURL string) error {
	if p.subscribed[typeURL] {
		return nil
	}
	p.subscribed[typeURL] = true
	return p.stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL})
}

func (p *simulated) askEndpoints(clusters *discoveryv3.DeltaDiscoveryResponse) error {
	var names []string
	for _, r := range clusters.GetResources() {
		c := &clusterv3.Cluster{}
		if err := r.GetResource().UnmarshalTo(c); err != nil {
			return err
		}
		endpoints := c.GetEdsClusterConfig().GetServiceName()
		if c.GetEdsClusterConfig() == nil || p.missing[endpoints] {
			continue
		}
		names = append(names, endpoints)
		p.missing[endpoints] = true
	}
	return p.stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: resourcev3.EndpointType, ResourceNamesSubscribe: names})
}
