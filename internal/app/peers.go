package app

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/oauth"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/transport"

	"github.com/gatewright/gatewright/internal/convergence"
	"github.com/gatewright/gatewright/internal/infra/authority"
	"github.com/gatewright/gatewright/internal/infra/bootstrap"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/peers"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// observer passes on what proxies report.
type observer struct {
	tracker    *convergence.Tracker
	peerServer *peers.Server
	pipeline   *pipeline.Pipeline
}

var _ xds.Observer = observer{}

func (o observer) Connected(proxy xds.Identity) {
	o.tracker.Connected(proxy)
	o.peerServer.Connected(proxy)
}

func (o observer) Disconnected(proxy xds.Identity) {
	o.tracker.Disconnected(proxy)
	o.peerServer.Disconnected(proxy)
}

func (o observer) Holds(proxy xds.Identity, state string) {
	o.tracker.Holds(proxy, state)
	o.peerServer.Holds(proxy, state)
}

func (o observer) Leaves(proxy xds.Identity) {
	o.tracker.Leaves(proxy)
	o.peerServer.Leaves(proxy)
}

func (o observer) NACKed(proxy xds.Identity, r xds.NACK) {
	o.pipeline.NACKed(proxy, r)
	o.peerServer.NACKed(proxy, r)
}

// peerNACKed takes in a NACK that a proxy has sent to another replica. This one serves the same content.
func (p *replica) peerNACKed(proxy xds.Identity, r xds.NACK) {
	r.Origins = p.proxies.Origins(proxy.Group, r)
	p.pipeline.NACKed(proxy, r)
}

// dialPeer returns a way to connect to another replica: by the certificate that all of them have, and the token of their common
// ServiceAccount.
func dialPeer(source *authority.Source, settings render.Settings, tokenFile string) func(address string) (*grpc.ClientConn, error) {
	token := oauth.TokenSource{TokenSource: transport.NewCachedFileTokenSource(tokenFile)}
	return func(address string) (*grpc.ClientConn, error) {
		current := source.Authority()
		if current == nil {
			return nil, errors.New("the certificate authority is not known yet")
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(current.Bundle())
		security := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, ServerName: settings.ServerNames()[0]}
		return grpc.NewClient("passthrough:///"+address,
			grpc.WithTransportCredentials(credentials.NewTLS(security)), grpc.WithPerRPCCredentials(token))
	}
}

// replicas knows where the other replicas are, from the EndpointSlices of the Service they share.
type replicas struct {
	namespace  string
	peerClient *peers.Client

	mu     sync.Mutex
	slices map[string][]string
}

// observe follows an EndpointSlice, nil when it is gone.
func (r *replicas) observe(key string, slice *discoveryv1.EndpointSlice) {
	namespace, _ := store.SplitKey(key)
	if namespace != r.namespace {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.slices[key]; !known && (slice == nil || slice.Labels[discoveryv1.LabelServiceName] != bootstrap.XDSService) {
		return
	}
	delete(r.slices, key)
	if slice != nil {
		r.slices[key] = addresses(slice)
	}
	var all []string
	for _, own := range r.slices {
		all = append(all, own...)
	}
	slices.Sort(all)
	r.peerClient.Follow(slices.Compact(all))
}

// addresses are those of the ready replicas other than this one.
func addresses(slice *discoveryv1.EndpointSlice) []string {
	var found []string
	for _, endpoint := range slice.Endpoints {
		if endpoint.Conditions.Ready == nil || !*endpoint.Conditions.Ready || len(endpoint.Addresses) == 0 || ours(endpoint.Addresses[0]) {
			continue
		}
		for _, port := range slice.Ports {
			if port.Port != nil {
				found = append(found, net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*port.Port))))
			}
		}
	}
	return found
}

// ours says whether an address is one of this pod.
func ours(address string) bool {
	wanted, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(interfaces, func(own net.Addr) bool {
		prefix, err := netip.ParsePrefix(own.String())
		return err == nil && prefix.Addr() == wanted
	})
}
