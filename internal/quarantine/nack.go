package quarantine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/xds"
)

// NACK is a resource that a proxy rejected.
type NACK struct {
	Group xds.GroupID
	Type  xds.Type
	Name  string
	// Version is that of a virtual host, or of what the hosts of a route table share.
	Version string
	// The rest is for a virtual host: its table, and the names of its routes, one on each line. Filters is set if the cause is in what its
	// rules share, Together if each route alone is accepted. Cluster is a rejected cluster that it names, if that is the cause.
	Table, Routes     string
	Filters, Together bool
	Cluster           xds.ClusterVersion
}

func (r NACK) compare(other NACK) int {
	order := cmp.Or(cmp.Compare(r.Table, other.Table), cmp.Compare(r.Name, other.Name), cmp.Compare(r.Version, other.Version),
		cmp.Compare(r.Routes, other.Routes))
	if order != 0 || r == other {
		return order
	}
	return cmp.Compare(fmt.Sprint(r), fmt.Sprint(other))
}

// host returns the virtual host that was rejected.
func (r NACK) host() ir.HostID { return ir.ParseTableID(r.Table).Host(r.Name) }

// byRoute returns the names of the rejected rules by route.
func (r NACK) byRoute() map[string][]string {
	rules := map[string][]string{}
	for name := range strings.SplitSeq(r.Routes, "\n") {
		if kind, key, ok := route.ObjectOf(name); ok {
			rules[string(kind)+"/"+key] = append(rules[string(kind)+"/"+key], name)
		}
	}
	return rules
}

// routes returns the routes that have rejected rules, sorted.
func (r NACK) routes() []string { return slices.Sorted(maps.Keys(r.byRoute())) }

// Report is what proxies say about what they reject.
type Report struct {
	Reason string
	// Pods are the proxies.
	Pods map[string]struct{}
	// Origins are the objects that a rejected cluster, listener or secret comes from.
	Origins []ir.ObjectRef
	// FellBack reports that all proxies of a replica get its last good version until it changes.
	FellBack bool
}

// With adds another report of the same NACK.
func (r Report) With(other Report) Report {
	pods := maps.Clone(r.Pods)
	if pods == nil {
		return other
	}
	maps.Copy(pods, other.Pods)
	return Report{Reason: other.Reason, Pods: pods, Origins: other.Origins, FellBack: r.FellBack || other.FellBack}
}
