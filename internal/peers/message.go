package peers

import (
	"fmt"
	"strings"
	"time"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/gatewright/gatewright/internal/xds"
)

// TypeURL is the type of the exchanged resources.
const TypeURL = "type.googleapis.com/envoy.service.status.v3.ClientConfig"

// The names by which types of resources are known to other replicas.
var typeNames = map[xds.Type]string{
	xds.Cluster: "cluster", xds.Listener: "listener", xds.Secret: "secret", xds.VirtualHost: "virtual_host", xds.RouteTable: "route_table",
}

// separator is in no name of a table, domain or route.
const separator = "|"

// entry is the published state of one proxy.
type entry struct {
	proxy xds.Identity
	// since is when its newest stream began.
	since time.Time
	state string
	// left reports that the proxy has been sent another state since it acknowledged this one.
	left  bool
	nacks []xds.NACK
}

// name of a proxy's entry. Neither a Gateway nor a pod has the separator in its name.
func name(proxy xds.Identity) string { return proxy.Group.String() + separator + proxy.Pod }

func parseName(text string) (xds.Identity, error) {
	group, pod, found := strings.Cut(text, separator)
	if !found {
		return xds.Identity{}, fmt.Errorf("%q names no proxy", text)
	}
	return parseProxy(group, pod)
}

// parseProxy returns the proxy of a node.
func parseProxy(cluster, id string) (xds.Identity, error) {
	group, ok := xds.ParseGroupID(cluster)
	if !ok {
		return xds.Identity{}, fmt.Errorf("%q names no group of proxies", cluster)
	}
	return xds.Identity{Group: group, Pod: id}, nil
}

func (e entry) message() *statusv3.ClientConfig {
	status := statusv3.ConfigStatus_SYNCED
	if e.left {
		status = statusv3.ConfigStatus_STALE
	}
	m := &statusv3.ClientConfig{
		Node: &corev3.Node{Id: e.proxy.Pod, Cluster: e.proxy.Group.String()},
		GenericXdsConfigs: []*statusv3.ClientConfig_GenericXdsConfig{{
			VersionInfo: e.state, ConfigStatus: status, LastUpdated: timestamppb.New(e.since),
		}},
	}
	for _, r := range e.nacks {
		nack := &statusv3.ClientConfig_GenericXdsConfig{
			TypeUrl:      typeNames[r.Type],
			Name:         strings.Join(append([]string{r.Table, r.Name, detailsOf(r)}, r.Routes...), separator),
			ConfigStatus: statusv3.ConfigStatus_ERROR,
			ErrorState:   &adminv3.UpdateFailureState{Details: r.Reason, VersionInfo: r.Version},
		}
		if r.Cluster.Name != "" {
			nack.XdsConfig = &anypb.Any{TypeUrl: r.Cluster.Name, Value: []byte(r.Cluster.Version)}
		}
		m.GenericXdsConfigs = append(m.GenericXdsConfigs, nack)
	}
	return m
}

func parse(m *statusv3.ClientConfig) (entry, error) {
	proxy, err := parseProxy(m.GetNode().GetCluster(), m.GetNode().GetId())
	if err != nil {
		return entry{}, err
	}
	e := entry{proxy: proxy}
	for _, c := range m.GetGenericXdsConfigs() {
		if status := c.GetConfigStatus(); status == statusv3.ConfigStatus_SYNCED || status == statusv3.ConfigStatus_STALE {
			e.state, e.left, e.since = c.GetVersionInfo(), status == statusv3.ConfigStatus_STALE, c.GetLastUpdated().AsTime()
			continue
		}
		parts := strings.Split(c.GetName(), separator)
		for t, known := range typeNames {
			if known == c.GetTypeUrl() && len(parts) >= 2 {
				details, routes := "", parts[2:]
				if len(routes) > 0 && strings.HasPrefix(routes[0], detailsPrefix) {
					details, routes = routes[0], routes[1:]
				}
				r := xds.NACK{
					Type: t, Table: parts[0], Name: parts[1], Routes: routes,
					Version: c.GetErrorState().GetVersionInfo(), Reason: c.GetErrorState().GetDetails(),
					Cluster: xds.ClusterVersion{Name: c.GetXdsConfig().GetTypeUrl(), Version: string(c.GetXdsConfig().GetValue())},
				}
				r.Filters, r.Together = strings.Contains(details, detailFilters), strings.Contains(details, detailTogether)
				r.FellBack = strings.Contains(details, detailFellBack)
				e.nacks = append(e.nacks, r)
			}
		}
	}
	return e, nil
}

// The letters for the details of what is rejected.
const (
	detailFilters  = "f"
	detailTogether = "t"
	detailFellBack = "b"
	// detailsPrefix tells them from the name of a route, which earlier releases have in their place.
	detailsPrefix = "+"
)

func detailsOf(r xds.NACK) string {
	details := detailsPrefix
	if r.Filters {
		details += detailFilters
	}
	if r.Together {
		details += detailTogether
	}
	if r.FellBack {
		details += detailFellBack
	}
	return details
}

// offerNode is the node id of a message about a quarantined route. Other messages have the pod of a proxy there.
const offerNode = "quarantine"

// offer is the substitute that a replica serves for a quarantined route. It may have secrets, so it is in no log.
type offer struct {
	key, rejected string
	instead       []byte
}

func (o offer) name() string { return offerNode + separator + o.key }

// parseOfferName returns the key of an offer, and reports whether the name is one of an offer. No group has that name.
func parseOfferName(text string) (string, bool) { return strings.CutPrefix(text, offerNode+separator) }

func (o offer) message() *statusv3.ClientConfig {
	return &statusv3.ClientConfig{
		Node: &corev3.Node{Id: offerNode},
		GenericXdsConfigs: []*statusv3.ClientConfig_GenericXdsConfig{{
			Name: o.key, VersionInfo: o.rejected, XdsConfig: &anypb.Any{Value: o.instead},
		}},
	}
}

// parseOffer reports whether a message is an offer, and parses it.
func parseOffer(m *statusv3.ClientConfig) (offer, bool) {
	if m.GetNode().GetId() != offerNode || m.GetNode().GetCluster() != "" || len(m.GetGenericXdsConfigs()) != 1 {
		return offer{}, false
	}
	c := m.GetGenericXdsConfigs()[0]
	return offer{key: c.GetName(), rejected: c.GetVersionInfo(), instead: c.GetXdsConfig().GetValue()}, true
}
