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
	// retryPause is the time between two attempts to connect to a replica.
	retryPause = time.Second
	// recheckPause is the interval of checks whether this replica has come to want a version that a proxy of another replica rejects.
	recheckPause = time.Second
	// maxResponse is the maximum size of a response. The first one has all that a replica publishes: [maxOffers], and what its proxies have
	// rejected.
	maxResponse = 512 << 20
)

// Listener receives the state of other replicas' proxies. Replicas are identified by their addresses.
type Listener interface {
	PeerHolds(replica string, proxy xds.Identity, connected time.Time, state string, left bool)
	PeerForgets(replica string, proxy xds.Identity)
	// PeerLeft reports that nothing is known about the proxies of a replica any more.
	PeerLeft(replica string)
}

// Stream is a delta ADS stream to another replica.
type Stream interface {
	Send(request *discoveryv3.DeltaDiscoveryRequest) error
	Recv() (*discoveryv3.DeltaDiscoveryResponse, error)
}

// Options configures a [Client]. All fields but Open are required; Dial is not if there is Open.
type Options struct {
	Dial func(address string) (*grpc.ClientConn, error)
	// Open opens a stream to a replica; it ends with the context. It is for tests without gRPC.
	Open     func(ctx context.Context, address string) (Stream, error)
	Listener Listener
	// Wants reports whether this replica serves the rejected version too. If so, NACKed is called.
	Wants  func(group xds.GroupID, r xds.NACK) bool
	NACKed func(proxy xds.Identity, r xds.NACK)
	// Offered receives what another replica has in quarantine; an empty version withdraws it.
	Offered func(replica, key, rejected string, instead []byte)
	// Node is the name of this replica.
	Node string
	Log  *slog.Logger
}

// Client subscribes to other replicas.
type Client struct {
	Options
	mu       sync.Mutex
	replicas []string
	wake     chan struct{}
	nacks    nacks
	offers   offers
}

// NewClient returns a Client without replicas.
func NewClient(o Options) *Client {
	return &Client{
		Options: o, wake: make(chan struct{}, 1), nacks: nacks{byProxy: map[source][]remembered{}},
		offers: offers{byReplica: map[string]*offersOf{}},
	}
}

// Follow sets the addresses of the other replicas.
func (c *Client) Follow(addresses []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replicas = slices.Clone(addresses)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run subscribes to the replicas until the context is done.
func (c *Client) Run(ctx context.Context) {
	running := map[string]func(){}
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
			c.CheckNACKs()
			c.offers.expire(c.withdraw)
		case <-c.wake:
			c.mu.Lock()
			wanted := c.replicas
			c.mu.Unlock()
			for _, address := range wanted {
				if running[address] == nil {
					running[address] = c.start(ctx, address)
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

// start follows a replica until the function that it returns is called. That returns when nothing more comes from the replica, so that the
// end of one subscription is not taken for that of the next.
func (c *Client) start(ctx context.Context, address string) func() {
	own, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.follow(own, address)
	}()
	return func() {
		cancel()
		<-done
	}
}

// follow subscribes to one replica until the context is done.
func (c *Client) follow(ctx context.Context, address string) {
	for ctx.Err() == nil {
		err := c.read(ctx, address)
		c.Listener.PeerLeft(address)
		c.nacks.drop(address)
		c.offers.end(address)
		if ctx.Err() == nil {
			c.Log.Debug("cannot subscribe to another replica, retrying", "replica", address, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

// read reads from one replica until that fails.
func (c *Client) read(ctx context.Context, address string) error {
	stream, closeConnection, err := c.open(ctx, address)
	if err != nil {
		return err
	}
	defer closeConnection()
	request := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: TypeURL, ResourceNamesSubscribe: []string{"*"}, Node: &corev3.Node{Id: c.Node}}
	for {
		if err := stream.Send(request); err != nil {
			return err
		}
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		c.take(address, response)
		request = &discoveryv3.DeltaDiscoveryRequest{TypeUrl: TypeURL, ResponseNonce: response.GetNonce()}
	}
}

func (c *Client) open(ctx context.Context, address string) (Stream, func(), error) {
	if c.Open != nil {
		stream, err := c.Open(ctx, address)
		return stream, func() {}, err
	}
	connection, err := c.Dial(address)
	if err != nil {
		return nil, nil, err
	}
	closeConnection := func() { _ = connection.Close() }
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx,
		grpc.MaxCallRecvMsgSize(maxResponse))
	if err != nil {
		closeConnection()
		return nil, nil, err
	}
	return stream, closeConnection, nil
}

func (c *Client) take(address string, response *discoveryv3.DeltaDiscoveryResponse) {
	var offers []offer
	var proxies []entry
	for _, resource := range response.GetResources() {
		message := &statusv3.ClientConfig{}
		if resource.GetResource().UnmarshalTo(message) != nil {
			continue
		}
		if o, ok := parseOffer(message); ok {
			offers = append(offers, o)
		} else if e, err := parse(message); err == nil {
			proxies = append(proxies, e)
		}
	}
	var withdrawn []string
	var gone []xds.Identity
	for _, removed := range response.GetRemovedResources() {
		if key, ok := parseOfferName(removed); ok {
			withdrawn = append(withdrawn, key)
		} else if proxy, err := parseName(removed); err == nil {
			gone = append(gone, proxy)
		}
	}
	c.takeOffers(address, offers, withdrawn)
	for _, e := range proxies {
		c.nacks.set(address, e)
		// The NACK has to arrive before the state that is acknowledged without the rejected version.
		c.CheckNACKs()
		c.Listener.PeerHolds(address, e.proxy, e.since, e.state, e.left)
	}
	for _, proxy := range gone {
		c.nacks.set(address, entry{proxy: proxy})
		c.Listener.PeerForgets(address, proxy)
	}
}

// takeOffers passes on what a replica offers and withdraws. The keys are recorded first: what expires meanwhile is withdrawn before.
func (c *Client) takeOffers(address string, offers []offer, withdrawn []string) {
	var offered []string
	for _, o := range offers {
		offered = append(offered, o.key)
	}
	missing := c.offers.take(address, offered, withdrawn)
	for _, o := range offers {
		c.Offered(address, o.key, o.rejected, o.instead)
	}
	for _, key := range slices.Concat(withdrawn, missing) {
		c.withdraw(address, key)
	}
}

// CheckNACKs passes on the NACKs of versions that this replica has come to serve. Call it before anything may count as acknowledged because
// a proxy of another replica holds it already.
func (c *Client) CheckNACKs() { c.nacks.check(c.Wants, c.NACKed) }

// withdraw passes on that a replica does not offer something any more.
func (c *Client) withdraw(address, key string) { c.Offered(address, key, "", nil) }
