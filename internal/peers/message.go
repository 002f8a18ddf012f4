package peers

import (
	"fmt"
	"strings"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"

	"github.com/gatewright/gatewright/internal/xds"
)

// TypeURL is that of what is on a board.
const TypeURL = "type.googleapis.com/envoy.service.status.v3.ClientConfig"

// The names by which types of resources are known to other replicas.
var typeNames = map[xds.Type]string{
	xds.Cluster: "cluster", xds.Listener: "listener", xds.Secret: "secret", xds.VirtualHost: "virtual_host", xds.RouteTable: "route_table",
}

// separator is in no name of a table, domain or route.
const separator = "|"

// entry is what is on a board about one proxy.
type entry struct {
	proxy    xds.Identity
	state    string
	refusals []xds.Refusal
}

// name of a proxy's entry. Neither a Gateway nor a pod has the separator in its name.
func name(proxy xds.Identity) string { return proxy.Gateway + separator + proxy.Pod }

func parseName(text string) (xds.Identity, error) {
	gateway, pod, found := strings.Cut(text, separator)
	if !found {
		return xds.Identity{}, fmt.Errorf("%q names no proxy", text)
	}
	return xds.Identity{Gateway: gateway, Pod: pod}, nil
}

func (e entry) message() *statusv3.ClientConfig {
	m := &statusv3.ClientConfig{
		Node:              &corev3.Node{Id: e.proxy.Pod, Cluster: e.proxy.Gateway},
		GenericXdsConfigs: []*statusv3.ClientConfig_GenericXdsConfig{{VersionInfo: e.state, ConfigStatus: statusv3.ConfigStatus_SYNCED}},
	}
	for _, r := range e.refusals {
		m.GenericXdsConfigs = append(m.GenericXdsConfigs, &statusv3.ClientConfig_GenericXdsConfig{
			TypeUrl:      typeNames[r.Type],
			Name:         strings.Join(append([]string{r.Table, r.Name}, r.Routes...), separator),
			ConfigStatus: statusv3.ConfigStatus_ERROR,
			ErrorState:   &adminv3.UpdateFailureState{Details: r.Reason, VersionInfo: r.Version},
		})
	}
	return m
}

func parse(m *statusv3.ClientConfig) entry {
	e := entry{proxy: xds.Identity{Gateway: m.GetNode().GetCluster(), Pod: m.GetNode().GetId()}}
	for _, c := range m.GetGenericXdsConfigs() {
		if c.GetConfigStatus() == statusv3.ConfigStatus_SYNCED {
			e.state = c.GetVersionInfo()
			continue
		}
		parts := strings.Split(c.GetName(), separator)
		for t, known := range typeNames {
			if known == c.GetTypeUrl() && len(parts) >= 2 {
				e.refusals = append(e.refusals, xds.Refusal{
					Type: t, Table: parts[0], Name: parts[1], Routes: parts[2:], Version: c.GetErrorState().GetVersionInfo(), Reason: c.GetErrorState().GetDetails(),
				})
			}
		}
	}
	return e
}
