package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/gatewright/gatewright/internal/convergence"
	"github.com/gatewright/gatewright/internal/dataplane"
	"github.com/gatewright/gatewright/internal/files"
	"github.com/gatewright/gatewright/internal/identity"
	"github.com/gatewright/gatewright/internal/infra/apply"
	"github.com/gatewright/gatewright/internal/infra/authority"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/infra/selector"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/peers"
	"github.com/gatewright/gatewright/internal/pipeline"
	"github.com/gatewright/gatewright/internal/pki"
	"github.com/gatewright/gatewright/internal/programmed"
	"github.com/gatewright/gatewright/internal/status"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/watch"
	"github.com/gatewright/gatewright/internal/xds"
)

// replica is one replica of the control plane.
type replica struct {
	options   Options
	log       *slog.Logger
	settings  render.Settings
	authority *authority.Source
	proxies   *xds.Cache
	fleets    *fleetSink
	files     *files.Plane // nil if not offered
	selectors *selector.ServiceReconciler
	statuses  *status.Writer
	tracker   *convergence.Tracker
	pipeline  *pipeline.Pipeline
	replicas  *replicas
	watcher   *watch.Watcher
	// synced is true once everything that existed at the start was read and delivered.
	synced atomic.Bool
}

// assemble connects the parts and gives them to the manager.
func assemble(mgr manager.Manager, o Options, log *slog.Logger) error {
	p := &replica{
		options: o, log: log, authority: &authority.Source{}, proxies: xds.NewCache(), tracker: convergence.New(metrics.Registry),
		settings: render.Settings{
			SystemNamespace: o.Namespace, ClusterDomain: o.ClusterDomain, Families: o.families,
			Image: o.ProxyImage, Helper: o.Image, Installation: o.installation(),
		},
	}
	lives := pki.DefaultLifetimes()
	reader := within{mgr.GetAPIReader(), o.WatchNamespaces}
	applier := apply.New(apply.Config{
		Client: mgr.GetClient(), Reader: reader, Settings: p.settings,
		Authority: p.authority, Log: log, Report: p.tracker.ReportFleetError,
	})
	p.authority.OnChange(applier.Refresh)
	p.fleets = newFleetSink(applier, identity.NewFleets(o.Namespace), o.Namespace)
	p.selectors = selector.New(selector.Config{Client: mgr.GetClient(), Reader: reader, Log: log, Installation: o.installation()})
	p.watcher = watch.New(mgr.GetCache(), log, p.observe)
	statuses := p.watcher.Statuses(mgr.GetCache(), mgr.GetClient())
	p.statuses = status.NewWriter(status.Options{
		Reader: statuses, Client: statuses, Controller: o.controller(), Log: log, Metrics: metrics.Registry,
		Events: mgr.GetClient(), Instance: o.Instance,
	})
	conditions := programmed.New(p.tracker, p.statuses)
	p.fleets.tracker, p.fleets.planes = p.tracker, dataplane.Planes{xdsDelivery{p.proxies, p.fleets.identities}}
	if o.Files {
		p.files = files.New(files.Config{
			Client: mgr.GetClient(), Reader: reader, Source: p.proxies, Observer: p.tracker, Report: p.tracker.ReportDeliveryError, Log: log,
			Installation: o.installation(),
		})
		p.fleets.planes = append(p.fleets.planes, p.files)
	}
	peerServer := peers.NewServer(log)
	limits := p.newRateLimits(peerServer)
	p.pipeline = pipeline.New(pipeline.Outputs{
		Proxies: p.fleets.planes, Fleets: p.fleets, Selectors: p.selectors, Statuses: conditions, Convergence: conditions, Peers: peerServer,
		RateLimits: limits,
	}, metrics.Registry, o.forPipeline(log)...)
	server := xds.NewServer(p.proxies, p.callers(mgr), log, metrics.Registry, observer{p.tracker, peerServer, p.pipeline})
	server.AllowListed(o.listed())
	server.ServePeers(peerServer, peers.TypeURL)
	server.ServeRateLimits(xds.GroupID(ir.RateLimitService), limits.Serve)
	peerClient := peers.NewClient(peers.Options{
		Dial: dialPeer(p.authority, p.settings, o.TokenFile), Listener: p.tracker,
		Wants: p.proxies.Wants, NACKed: p.peerNACKed, Offered: p.pipeline.Offered, Node: o.Instance, Log: log,
	})
	conditions.OnReach(peerClient.CheckNACKs)
	p.replicas = &replicas{namespace: o.Namespace, peerClient: peerClient, slices: map[string][]string{}}

	leading := []manager.Runnable{
		&authority.CARotator{
			Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Namespace: o.Namespace,
			Source: p.authority, Lifetimes: lives, Now: time.Now, Log: log,
		},
		applier,
		p.selectors,
		p.statuses,
	}
	if p.files != nil {
		leading = append(leading, p.files)
	}
	leader, err := lead(mgr, o, log, leading...)
	if err != nil {
		return err
	}
	owned, err := ownedCache(mgr, o)
	if err != nil {
		return err
	}
	return p.register(mgr,
		&authority.Follower{Reader: mgr.GetAPIReader(), Namespace: o.Namespace, Source: p.authority, Lifetimes: lives, Now: time.Now, Log: log},
		onEveryReplica(owned.Start),
		onEveryReplica(func(ctx context.Context) error { return watch.FollowOwned(ctx, owned, render.Kinds, p.fleets.observed) }),
		onEveryReplica(func(ctx context.Context) error { return p.run(ctx) }),
		onEveryReplica(forever(p.tracker.Run)),
		onEveryReplica(forever(peerServer.Run)),
		onEveryReplica(forever(peerClient.Run)),
		onEveryReplica(func(ctx context.Context) error { return p.serve(ctx, server, lives) }),
		leader,
	)
}

// callers authenticates those who call the xDS server.
func (p *replica) callers(mgr manager.Manager) *identity.Verifier {
	o := &p.options
	return identity.New(identity.Config{
		Reviewer: identity.APIServer{Client: mgr.GetClient()}, Audience: render.TokenAudience,
		Peers: identity.ServiceAccount{Namespace: o.Namespace, Name: o.ServiceAccount}, Fleets: p.fleets.identities,
		RateLimits: o.rateLimitAccount(), Keys: tokenKeys(mgr, p.log), Now: time.Now, Log: p.log,
	})
}

// register adds the parts and the health checks to the manager.
func (p *replica) register(mgr manager.Manager, parts ...manager.Runnable) error {
	for _, part := range parts {
		if err := mgr.Add(part); err != nil {
			return fmt.Errorf("set up the parts: %w", err)
		}
	}
	return p.addHealthChecks(mgr)
}

// ownedCache holds the metadata of the objects of fleets. It is a cache of its own because the other one holds all Services and ConfigMaps
// without what tells who changed them.
func ownedCache(mgr manager.Manager, o Options) (cache.Cache, error) {
	options := watch.OwnedCacheOptions(o.scope())
	options.Scheme, options.Mapper, options.HTTPClient = mgr.GetScheme(), mgr.GetRESTMapper(), mgr.GetHTTPClient()
	owned, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("set up the cache of fleets: %w", err)
	}
	return owned, nil
}

// lead makes a part of those that only one replica may run at a time. Without leader election there is only one.
func lead(mgr manager.Manager, o Options, log *slog.Logger, parts ...manager.Runnable) (manager.Runnable, error) {
	if !o.LeaderElect {
		alone := &leadership{parts: parts, log: log}
		return onEveryReplica(func(ctx context.Context) error { return alone.lead(ctx, ctx) }), nil
	}
	lock, err := newLock(mgr.GetConfig(), o)
	if err != nil {
		return nil, err
	}
	return &leadership{lock: lock, parts: parts, log: log}, nil
}

// run reads everything, delivers the result, accepts proxies, and then follows changes.
func (p *replica) run(ctx context.Context) error {
	if err := p.watcher.Start(ctx); err != nil {
		return err
	}
	p.pipeline.Start()
	p.fleets.applier.Synced()
	p.proxies.Open()
	p.synced.Store(true)
	p.log.Info("first full sync is done, proxies are accepted")
	p.pipeline.Run(ctx)
	return nil
}

// observe takes an event from an informer.
func (p *replica) observe(e watch.Event) {
	p.statuses.Observed(e.Kind, e.Key)
	if e.StatusOnly {
		return
	}
	if e.Kind == store.Deployment || e.Kind == store.DaemonSet {
		p.fleets.runs(e.Kind, e.Key, e.Object)
	}
	if e.Kind == store.Node {
		p.placeNode(e)
	}
	if e.Kind == store.Service {
		namespace, name := store.SplitKey(e.Key)
		p.selectors.Observed(namespace, name, e.Object == nil)
	}
	if e.Kind == store.EndpointSlice {
		slice, _ := e.Object.(*discoveryv1.EndpointSlice)
		p.tracker.Endpoints(e.Key, slice)
		p.replicas.observe(e.Key, slice)
		if p.files != nil {
			namespace, name := store.SplitKey(e.Key)
			p.files.Endpoints(namespace, name, slice)
		}
	}
	p.pipeline.Put(e.Change)
}

// placeNode sets the zone of a node, by which its proxies prefer endpoints.
func (p *replica) placeNode(e watch.Event) {
	zone := ""
	if e.Object != nil {
		zone = e.Object.GetLabels()[corev1.LabelTopologyZone]
	}
	p.proxies.PlaceNode(e.Key, zone)
}

// serve runs the xDS server.
func (p *replica) serve(ctx context.Context, server *xds.Server, lives pki.Lifetimes) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", p.options.XDSAddress)
	if err != nil {
		return fmt.Errorf("open the xDS port: %w", err)
	}
	return server.Serve(ctx, listener, pki.ServerTLS(p.authority, lives, time.Now, p.settings.ServerNames()...))
}

// forever is a part that ends with its context and in no other way.
func forever(run func(context.Context)) func(context.Context) error {
	return func(ctx context.Context) error {
		run(ctx)
		return nil
	}
}

// onEveryReplica is a part that does not need to lead.
type onEveryReplica func(context.Context) error

// Start implements [manager.Runnable].
func (f onEveryReplica) Start(ctx context.Context) error { return f(ctx) }

// NeedLeaderElection implements [manager.LeaderElectionRunnable].
func (onEveryReplica) NeedLeaderElection() bool { return false }
