package pipeline

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/resolve/client"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/inherit"
	"github.com/gatewright/gatewright/internal/resolve/refs"
	"github.com/gatewright/gatewright/internal/store"
	clustertranslate "github.com/gatewright/gatewright/internal/translate/cluster"
	listenertranslate "github.com/gatewright/gatewright/internal/translate/listener"
	routetranslate "github.com/gatewright/gatewright/internal/translate/route"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

const (
	stageListener     = "translate listener"
	stageTable        = "translate route table"
	stageHostProto    = "translate virtual host"
	stageClusterProto = "translate cluster"
	stageCluster      = "cluster"
	stageCertificate  = "translate certificate"
	stageBundle       = "translate bundle"
	stageAuthorities  = "translate authorities"
)

// addTranslationStages adds the stages that make Envoy's resources.
func (g *graph) addTranslationStages(byTable *store.IndexOf[ir.TableID, gateway.Resolved], backends backendSources) {
	g.addFilterChainStages()
	g.listeners = memo.DeriveOf(g.memo, stageListener, ir.ParsePortID, typed[ir.PortID](g.ports), sameTranslation,
		func(v *store.View, id ir.PortID) translation {
			return g.listener(v, id, func(*ir.Port) {}, func(c filterChain) []*listenerv3.FilterChain { return c.own })
		})
	g.addSharedListenerStage()
	g.tables = memo.DeriveOf(g.memo, stageTable, ir.ParseTableID, typed[ir.TableID](byTable), sameTranslation,
		func(_ *store.View, id ir.TableID) translation {
			return checked(func() *routev3.RouteConfiguration { return routetranslate.Table(id, g.objects.EnabledExtensions.Any()) })
		})
	protos := memo.DeriveOf(
		g.memo,
		stageClusterProto,
		parseBackend,
		backends.names,
		sameTranslation,
		func(v *store.View, backend ir.Backend) translation {
			tls, _ := g.tls.byBackend.Get(v, backend)
			return g.cluster(v, backend, tls, nil)
		},
	)
	// Gateways share the bytes of a cluster, unless they present a client certificate, or policies on them have settings for it.
	g.clusters = memo.DeriveOf(g.memo, stageCluster, ir.ParseGatewayBackend, backends.byUser, sameTranslation,
		func(v *store.View, user ir.GatewayBackend) translation {
			tls, _ := g.tls.byGateway.Get(v, user)
			layer := g.clusterLayer(v, user.Gateway)
			if tls != nil && tls.ClientCertificate != "" || layer != nil && layer.Destination != nil {
				return g.cluster(v, user.Backend, tls, layer)
			}
			cluster, _ := protos.Get(v, user.Backend)
			return cluster
		})
	g.addHostTranslationStage()
	g.addApartStage()
}

// addHostTranslationStage stands behind clusters: what clients see of a response depends on them.
func (g *graph) addHostTranslationStage() {
	g.hidingReports = store.NewIndexOf(g.clusters.Table, "cluster.hidesReports", func(key string, t translation) []ir.GatewayBackend {
		if !t.hidesReports {
			return nil
		}
		return []ir.GatewayBackend{ir.ParseGatewayBackend(key)}
	})
	hosts := typed[ir.HostID](g.hosts)
	g.virtualHosts = memo.DeriveOf(
		g.memo,
		stageHostProto,
		ir.ParseHostID,
		hosts,
		sameTranslation,
		func(v *store.View, id ir.HostID) translation {
			host, _ := g.hosts.Get(v, id)
			t := g.hostTranslation(v, host)
			last, _ := g.virtualHosts.Get(nil, id)
			return g.orSubstitute(v, id, orClosed(id, last, t))
		},
		memo.OnPanic(func(v *store.View, key string, last translation, _ string) translation {
			id := ir.ParseHostID(key)
			return g.orSubstitute(v, id, orClosed(id, last, translation{}))
		}),
	)
}

// hostTranslation is a host as proxies get it, without a resource if it is not valid.
func (g *graph) hostTranslation(v *store.View, host ir.VirtualHost) translation {
	host = host.HidingReports(func(backend ir.Backend) bool {
		return g.hidingReports.Len(v, ir.GatewayBackend{Gateway: host.Table.Gateway, Backend: backend}) > 0
	})
	var invalid []wire.ValidationError
	t := checked(func() (proto *routev3.VirtualHost) {
		proto, invalid = routetranslate.VirtualHost(host)
		return proto
	})
	t.invalid = append(invalid, t.invalid...)
	return t
}

// orClosed is a host that proxies take. Without one it is what they have, or else one that answers errors.
func orClosed(id ir.HostID, last, t translation) translation {
	if t.resource == nil {
		t.resource = last.resource
	}
	if t.resource == nil {
		t.resource = closedTranslation(id).resource
	}
	return t
}

// orSubstitute is a host that answers errors if proxies reject the host as it is, and nothing else replaces it.
func (g *graph) orSubstitute(v *store.View, id ir.HostID, t translation) translation {
	if closed, _ := g.substitutes.Hosts.Get(v, id); closed.Closes(version(t.resource)) {
		t.resource = closedTranslation(id).resource
	}
	return t
}

func closedTranslation(id ir.HostID) translation {
	return checked(func() *routev3.VirtualHost {
		closed, _ := routetranslate.VirtualHost(ir.ClosedHost(id))
		return closed
	})
}

// cluster is the cluster of a backend, with the policies on a Gateway if there are any.
func (g *graph) cluster(v *store.View, backend ir.Backend, tls *ir.BackendTLS, layer *inherit.Layer) translation {
	budget, _ := g.retryBudgets.Get(v, backend)
	options := clustertranslate.Options{Families: g.families, Policy: &ir.DestinationPolicy{
		TLS: tls, RetryBudget: budget, Settings: g.destination(v, layer, backend),
	}}
	switch backend.Kind {
	case ir.KindXBackend:
		own, _ := g.xbackends.Get(v, backend.Object.String())
		options.Hostname, options.DeniedAddresses = own.Hostname, g.objects.DeniedAddresses
	case ir.KindBackend:
		own, _ := g.fixedBackends.Get(v, backend.Object.String())
		options.Fixed, options.DeniedAddresses = own.Endpoints, g.objects.DeniedAddresses
	case ir.KindInferencePool:
		own, _ := g.pools.Get(v, backend.Object.String())
		options.Picker = own.Picker
	case ir.KindService, ir.KindServiceImport, ir.KindFailover:
	}
	t := checked(func() *clusterv3.Cluster { return clustertranslate.Cluster(backend, options) })
	t.hidesReports = options.Policy.Settings.HidesReports()
	return t
}

// addSecretStages adds the stages that make what is kept apart from listeners and clusters so that it can be rotated.
func (g *graph) addSecretStages(byCertificate, byAuthorities []store.SourceOf[ir.GatewaySecret]) {
	g.certificates = memo.DeriveOf(g.memo, stageCertificate, ir.ParseGatewaySecret, byCertificate, sameTranslation,
		func(v *store.View, id ir.GatewaySecret) translation {
			certificate, problem := refs.KeyPair(v, g.objects, ir.CertificateKey(id.Secret))
			if problem != nil {
				return translation{}
			}
			certificate.Name = id.Secret
			return checked(func() *tlsv3.Secret { return listenertranslate.Secret(certificate) })
		})
	// Gateways share the bytes of a bundle.
	byGatewayBundle := store.NewIndex(
		g.gateways,
		"gateway.byBundle",
		func(_ string, r gateway.Resolved) []string { return r.Needs().Authorities() },
	)
	byBackendBundle := store.NewIndex(g.tls.byGateway.Table, "backend TLS.byBundle",
		func(_ string, tls *ir.BackendTLS) []string { return ir.NeedsOf(tls).Authorities() })
	byClientBundle := store.NewIndex(g.clientSettings, "client settings.byBundle",
		func(_ string, e client.Effective) []string { return e.Authorities() })
	bundles := memo.Derive(
		g.memo,
		stageBundle,
		from(byGatewayBundle, byBackendBundle, byClientBundle),
		sameTranslation,
		func(v *store.View, name string) translation {
			bundle, problem := refs.AuthoritiesNamed(v, g.objects, name)
			if problem != nil {
				return translation{}
			}
			return checked(func() *tlsv3.Secret { return listenertranslate.Authorities(bundle) })
		},
	)
	g.authorities = memo.DeriveOf(g.memo, stageAuthorities, ir.ParseGatewaySecret, byAuthorities, sameTranslation,
		func(v *store.View, id ir.GatewaySecret) translation {
			bundle, _ := bundles.Get(v, id.Secret)
			return bundle
		})
}
