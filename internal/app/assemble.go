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
	"github.com/gatewright/gatewright/internal/proof"
	"github.com/gatewright/gatewright/internal/status"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/watch"
	"github.com/gatewright/gatewright/internal/xds"
)

// plane is one replica of the control plane.
type plane struct {
	options   Options
	log       *slog.Logger
	settings  render.Settings
	authority *authority.Source
	proxies   *xds.Cache
	fleets    *fleetSink
	files     *files.Plane // nil if not offered
	selectors *selector.Keeper
	statuses  *status.Writer
	proofs    *proof.Keeper
	pipeline  *pipeline.Pipeline
	replicas  *replicas
	watcher   *watch.Watcher
	// synced says that everything that existed at the start has been read and handed out.
	synced atomic.Bool
}

// assemble connects the parts and gives them to the manager.
func assemble(mgr manager.Manager, o Options, log *slog.Logger) error {
	p := &plane{
		options: o, log: log, authority: &authority.Source{}, proxies: xds.NewCache(),
		settings: render.Settings{
			SystemNamespace: o.Namespace, ClusterDomain: o.ClusterDomain, Families: o.families,
			Image: o.ProxyImage, Helper: o.Image, Installation: o.installation(),
		},
	}
	lives := pki.DefaultLifetimes()
	reader := within{mgr.GetAPIReader(), o.WatchNamespaces}
	applier := apply.New(apply.Config{
		Client: mgr.GetClient(), Reader: reader, Settings: p.settings,
		Authority: p.authority, Log: log, Report: func(fleet ir.Name, problem error) { p.proofs.Report(fleet, problem) },
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
	p.proofs = proof.New(p.statuses, metrics.Registry)
	p.fleets.proofs, p.fleets.planes = p.proofs, dataplane.Planes{streams{p.proxies, p.fleets.identities}}
	if o.Files {
		p.files = files.New(files.Config{
			Client: mgr.GetClient(), Reader: reader, Source: p.proxies, Observer: p.proofs, Report: p.proofs.Hinder, Log: log,
			Installation: o.installation(),
		})
		p.fleets.planes = append(p.fleets.planes, p.files)
	}
	board := peers.NewBoard(log)
	p.pipeline = pipeline.New(pipeline.Outputs{
		Proxies: p.fleets.planes, Fleets: p.fleets, Selectors: p.selectors, Statuses: p.proofs, Proofs: p.proofs, Peers: board,
	}, metrics.Registry, o.forPipeline(log)...)
	callers := identity.New(identity.Config{
		Reviewer: identity.APIServer{Client: mgr.GetClient()}, Audience: render.TokenAudience,
		Peers: identity.ServiceAccount{Namespace: o.Namespace, Name: o.ServiceAccount}, Fleets: p.fleets.identities,
		Keys: tokenKeys(mgr, log), Now: time.Now, Log: log,
	})
	server := xds.NewServer(p.proxies, callers, log, metrics.Registry, observer{p.proofs, board, p.pipeline})
	server.ServePeers(board, peers.TypeURL)
	follower := peers.NewFollower(peers.Options{
		Dial: dialPeer(p.authority, p.settings, o.TokenFile), Listener: p.proofs,
		Wants: p.proxies.Wants, Refused: p.pipeline.Refused, Offered: p.pipeline.Offered, Node: o.Instance, Log: log,
	})
	p.replicas = &replicas{namespace: o.Namespace, follower: follower, slices: map[string][]string{}}

	leading := []manager.Runnable{
		&authority.Keeper{
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
		onEveryReplica(forever(p.proofs.Run)),
		onEveryReplica(forever(board.Run)),
		onEveryReplica(forever(follower.Run)),
		onEveryReplica(func(ctx context.Context) error { return p.serve(ctx, server, lives) }),
		leader,
	)
}

// register gives the parts, and what says how they are, to the manager.
func (p *plane) register(mgr manager.Manager, parts ...manager.Runnable) error {
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

// run reads everything, hands out what follows from it, lets proxies in, and goes on with what changes.
func (p *plane) run(ctx context.Context) error {
	if err := p.watcher.Start(ctx); err != nil {
		return err
	}
	p.pipeline.Start()
	p.fleets.applier.Synced()
	p.proxies.Open()
	p.synced.Store(true)
	p.log.Info("first full sync is done, proxies are let in")
	p.pipeline.Run(ctx)
	return nil
}

// observe takes an event from an informer.
func (p *plane) observe(e watch.Event) {
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
		p.proofs.Endpoints(e.Key, slice)
		p.replicas.observe(e.Key, slice)
		if p.files != nil {
			namespace, name := store.SplitKey(e.Key)
			p.files.Endpoints(namespace, name, slice)
		}
	}
	p.pipeline.Put(e.Change)
}

// placeNode has proxies get the endpoints of the zone that their node is in.
func (p *plane) placeNode(e watch.Event) {
	zone := ""
	if e.Object != nil {
		zone = e.Object.GetLabels()[corev1.LabelTopologyZone]
	}
	p.proxies.PlaceNode(e.Key, zone)
}

// serve gives proxies their configuration.
func (p *plane) serve(ctx context.Context, server *xds.Server, lives pki.Lifetimes) error {
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
