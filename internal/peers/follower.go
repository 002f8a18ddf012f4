package peers

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"

	"github.com/gatewright/gatewright/internal/xds"
)

const (
	// retryPause is between two attempts to reach a replica.
	retryPause = time.Second
	// recheckPause is how often it is looked whether something that a proxy of another replica refused has come to be wanted here too.
	recheckPause = time.Second
)

// Listener is told what is on the boards of other replicas, which are known by their addresses.
type Listener interface {
	PeerHolds(replica string, proxy xds.Identity, connected time.Time, state string, left bool)
	PeerForgets(replica string, proxy xds.Identity)
	// PeerLeft says that nothing is known of the proxies of a replica any more.
	PeerLeft(replica string)
}

// Stream is a delta ADS stream to another replica.
type Stream interface {
	Send(request *discoveryv3.DeltaDiscoveryRequest) error
	Recv() (*discoveryv3.DeltaDiscoveryResponse, error)
}

// Options is what a [Follower] needs. All fields but Open are required; Dial is not if there is Open.
type Options struct {
	Dial func(address string) (*grpc.ClientConn, error)
	// Open opens a stream to a replica that ends with the context. It is for tests without gRPC.
	Open     func(ctx context.Context, address string) (Stream, error)
	Listener Listener
	// Wants says whether a refused resource is what the proxies of this replica are to have too, and Refused is told of those that are.
	Wants   func(gateway string, r xds.Refusal) bool
	Refused func(proxy xds.Identity, r xds.Refusal)
	// Offered is told what another replica has in quarantine, and with an empty version that it has nothing there any more.
	Offered func(key, refused string, instead []byte)
	// Node is the name of this replica.
	Node string
	Log  *slog.Logger
}

// Follower follows the boards of other replicas.
type Follower struct {
	Options
	mu       sync.Mutex
	replicas []string
	wake     chan struct{}
	refusals refusals
}

// NewFollower returns a Follower that knows of no other replica.
func NewFollower(o Options) *Follower {
	return &Follower{Options: o, wake: make(chan struct{}, 1), refusals: refusals{byProxy: map[source][]remembered{}}}
}

// Follow says where the other replicas are.
func (f *Follower) Follow(addresses []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replicas = slices.Clone(addresses)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Run follows until the context is done.
func (f *Follower) Run(ctx context.Context) {
	running := map[string]context.CancelFunc{}
	var wait sync.WaitGroup
	defer wait.Wait()
	recheck := time.NewTicker(recheckPause)
	defer recheck.Stop()
	for {
		select {
		case <-ctx.Done():
			for _, stop := range running {
				stop()
			}
			return
		case <-recheck.C:
			f.refusals.check(f.Wants, f.Refused)
		case <-f.wake:
			f.mu.Lock()
			wanted := f.replicas
			f.mu.Unlock()
			for _, address := range wanted {
				if running[address] == nil {
					own, stop := context.WithCancel(ctx)
					running[address] = stop
					wait.Go(func() { f.follow(own, address) })
				}
			}
			for address, stop := range running {
				if !slices.Contains(wanted, address) {
					stop()
					delete(running, address)
				}
			}
		}
	}
}

// follow follows one replica until the context is done.
func (f *Follower) follow(ctx context.Context, address string) {
	for ctx.Err() == nil {
		err := f.read(ctx, address)
		f.Listener.PeerLeft(address)
		f.refusals.drop(address)
		if ctx.Err() == nil {
			f.Log.Debug("another replica can not be followed, trying again", "replica", address, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

// read reads one board until that fails.
func (f *Follower) read(ctx context.Context, address string) error {
	stream, closeConnection, err := f.open(ctx, address)
	if err != nil {
		return err
	}
	defer closeConnection()
	request := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: TypeURL, ResourceNamesSubscribe: []string{"*"}, Node: &corev3.Node{Id: f.Node}}
	for {
		if err := stream.Send(request); err != nil {
			return err
		}
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		f.take(address, response)
		request = &discoveryv3.DeltaDiscoveryRequest{TypeUrl: TypeURL, ResponseNonce: response.GetNonce()}
	}
}

func (f *Follower) open(ctx context.Context, address string) (Stream, func(), error) {
	if f.Open != nil {
		stream, err := f.Open(ctx, address)
		return stream, func() {}, err
	}
	connection, err := f.Dial(address)
	if err != nil {
		return nil, nil, err
	}
	closeConnection := func() { _ = connection.Close() }
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx)
	if err != nil {
		closeConnection()
		return nil, nil, err
	}
	return stream, closeConnection, nil
}

func (f *Follower) take(address string, response *discoveryv3.DeltaDiscoveryResponse) {
	for _, resource := range response.GetResources() {
		message := &statusv3.ClientConfig{}
		if resource.GetResource().UnmarshalTo(message) != nil {
			continue
		}
		if o, ok := parseOffer(message); ok {
			f.Offered(o.key, o.refused, o.instead)
			continue
		}
		e := parse(message)
		f.refusals.set(address, e)
		// A refusal has to be known before the state that goes without what was refused.
		f.refusals.check(f.Wants, f.Refused)
		f.Listener.PeerHolds(address, e.proxy, e.since, e.state, e.left)
	}
	for _, removed := range response.GetRemovedResources() {
		proxy, err := parseName(removed)
		if err == nil && proxy.Gateway == offerNode {
			f.Offered(proxy.Pod, "", nil)
			continue
		}
		if err == nil {
			f.refusals.set(address, entry{proxy: proxy})
			f.Listener.PeerForgets(address, proxy)
		}
	}
}
