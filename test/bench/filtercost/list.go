package main

import (
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/wire"
)

// part is something that a proxy of ours has and one configured by hand does without.
type part struct {
	name   string
	remove func(*configuration)
}

// parts are in the order in which a request meets them. Without all of them a proxy does what one configured by hand does.
var parts = []part{
	{"overload manager", func(c *configuration) { c.bootstrap.OverloadManager = nil }},
	{"statistics of few kinds", func(c *configuration) { c.bootstrap.StatsConfig = nil }},
	{"runtime layers", func(c *configuration) { c.bootstrap.LayeredRuntime = nil }},
	{"buffer limits", withoutBufferLimits},
	{"TLS inspector, chosen by name", func(c *configuration) {
		c.eachListener(func(l *listenerv3.Listener) { l.ListenerFilters = nil })
		c.eachChain(func(chain *listenerv3.FilterChain) { chain.FilterChainMatch = nil })
	}},
	{"chain name and guard", withoutGuard},
	{"longest life of connections", func(c *configuration) {
		c.eachManager(func(m *hcmv3.HttpConnectionManager) {
			m.CommonHttpProtocolOptions.MaxConnectionDuration, m.Http1SafeMaxConnectionDuration = nil, false
		})
	}},
	{"no internal addresses", func(c *configuration) {
		c.eachManager(func(m *hcmv3.HttpConnectionManager) { m.InternalAddressConfig = nil })
	}},
	{"headers that clients may not send", func(c *configuration) {
		c.eachManager(func(m *hcmv3.HttpConnectionManager) {
			m.EarlyHeaderMutationExtensions = m.GetEarlyHeaderMutationExtensions()[1:]
		})
	}},
	{"identity of requests in answers", func(c *configuration) {
		c.eachManager(func(m *hcmv3.HttpConnectionManager) { m.AlwaysSetRequestIdInResponse = false })
	}},
	{"server header as it is", func(c *configuration) {
		c.eachManager(func(m *hcmv3.HttpConnectionManager) {
			m.ServerHeaderTransformation = hcmv3.HttpConnectionManager_OVERWRITE
		})
	}},
	{"scopes", withoutScopes},
	{"filter that finds hosts", withoutFilters(filter.FindHost)},
	{"filter that hides Envoy", withoutFilters(filter.HideEnvoy)},
	{"filter that detects loops", withoutFilters(filter.Loops)},
	{"hops counted", func(c *configuration) {
		c.eachTable(func(t *routev3.RouteConfiguration) { t.RequestHeadersToAdd = nil })
	}},
	{"filter for CORS", withoutFilters(filter.CORS)},
	{"filter for external authorization", withoutFilters(filter.ExternalAuth)},
	{"filter for sessions", withoutFilters(filter.Session)},
	{"no statistics of backends' answers", func(c *configuration) {
		c.eachManager(func(m *hcmv3.HttpConnectionManager) {
			m.HttpFilters[len(m.GetHttpFilters())-1].ConfigType = &hcmv3.HttpFilter_TypedConfig{TypedConfig: wire.Any(&routerv3.Router{})}
		})
	}},
	{"no timeout for requests", func(c *configuration) {
		c.eachRoute(func(r *routev3.Route) { r.GetRoute().Timeout = nil })
	}},
	{"priority over copies", func(c *configuration) {
		c.eachRoute(func(r *routev3.Route) { r.GetRoute().Priority = corev3.RoutingPriority_DEFAULT })
	}},
	{"names", withoutNames},
	{"port ignored, clusters not looked at", func(c *configuration) {
		c.eachTable(func(t *routev3.RouteConfiguration) { t.IgnorePortInHostMatching, t.ValidateClusters = false, nil })
	}},
	{"least request", func(c *configuration) {
		c.eachCluster(func(b *clusterv3.Cluster) { b.LbPolicy = clusterv3.Cluster_ROUND_ROBIN })
	}},
	{"limits of clusters, no panic", func(c *configuration) {
		c.eachCluster(func(b *clusterv3.Cluster) {
			b.CircuitBreakers, b.CommonLbConfig, b.IgnoreHealthOnHostRemoval, b.TypedExtensionProtocolOptions = nil, nil, false, nil
		})
	}},
}

// extras are parts that both have, so that what they cost is known too.
var extras = []part{
	{"access log", func(c *configuration) {
		c.eachManager(func(m *hcmv3.HttpConnectionManager) { m.AccessLog = nil })
	}},
	{"identity of requests", func(c *configuration) {
		c.eachManager(func(m *hcmv3.HttpConnectionManager) { m.GenerateRequestId = wrapperspb.Bool(false) })
	}},
	{"timer of idle streams", func(c *configuration) {
		c.eachManager(func(m *hcmv3.HttpConnectionManager) { m.StreamIdleTimeout = durationpb.New(0) })
	}},
	{"timer of request headers", func(c *configuration) {
		c.eachManager(func(m *hcmv3.HttpConnectionManager) { m.RequestHeadersTimeout = durationpb.New(0) })
	}},
}

func withoutBufferLimits(c *configuration) {
	c.eachListener(func(l *listenerv3.Listener) { l.PerConnectionBufferLimitBytes = nil })
	c.eachCluster(func(b *clusterv3.Cluster) { b.PerConnectionBufferLimitBytes = nil })
}

// withoutGuard has a virtual host answer whatever connection a request came by.
func withoutGuard(c *configuration) {
	c.eachChain(func(chain *listenerv3.FilterChain) { chain.Filters = chain.GetFilters()[len(chain.GetFilters())-1:] })
	c.eachTable(func(t *routev3.RouteConfiguration) {
		for _, vh := range t.GetVirtualHosts() {
			if vh.GetMatcher() == nil {
				continue
			}
			own := vh.GetMatcher().GetMatcherTree().GetExactMatchMap().GetMap()
			for _, action := range own {
				vh.Routes = unpacked(action.GetAction().GetTypedConfig(), &routev3.RouteList{}).GetRoutes()
			}
			vh.Matcher = nil
		}
	})
}

// withoutScopes has each connection manager know its route table.
func withoutScopes(c *configuration) {
	i := 0
	c.eachManager(func(m *hcmv3.HttpConnectionManager) {
		// The edit that finds the scope is the last one.
		early := m.GetEarlyHeaderMutationExtensions()
		m.EarlyHeaderMutationExtensions = early[:len(early)-1]
		table := c.scopes[i].GetRouteConfiguration()
		table.RequestHeadersToRemove = nil
		m.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: table}
		i++
	})
	c.scopes = nil
	withoutFilters(filter.FindHost)(c)
}

func withoutFilters(names ...string) func(*configuration) {
	return func(c *configuration) {
		c.eachManager(func(m *hcmv3.HttpConnectionManager) {
			m.HttpFilters = slices.DeleteFunc(m.GetHttpFilters(), func(f *hcmv3.HttpFilter) bool { return slices.Contains(names, f.GetName()) })
		})
		c.eachTable(func(t *routev3.RouteConfiguration) {
			for _, vh := range t.GetVirtualHosts() {
				for _, name := range names {
					delete(t.GetTypedPerFilterConfig(), name)
					delete(vh.GetTypedPerFilterConfig(), name)
					delete(vh.GetMetadata().GetFilterMetadata(), name)
				}
			}
		})
	}
}

// withoutNames calls things as briefly as by hand: they are in every line of the access log.
func withoutNames(c *configuration) {
	c.eachCluster(func(b *clusterv3.Cluster) { b.Name, b.LoadAssignment.ClusterName = "backend", "backend" })
	c.eachRoute(func(r *routev3.Route) {
		r.Name = ""
		r.GetRoute().ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: "backend"}
	})
	c.eachManager(func(m *hcmv3.HttpConnectionManager) { m.StatPrefix = "bench" })
}
