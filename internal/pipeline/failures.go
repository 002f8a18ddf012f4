package pipeline

import (
	"fmt"
	"strings"

	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/translate/wire"
	"github.com/gatewright/gatewright/internal/xds"
)

// failed is what an object is told for which a stage panicked.
func failed(reason string) string {
	return fmt.Sprintf("Gatewright failed to process this: %s; what was there before is used, if anything was. This is a bug: "+
		"please report it, and change the object to get around it", reason[:min(len(reason), maxReason)])
}

// brokenGateway is a Gateway for which its stage panicked.
func (g *graph) brokenGateway(v *store.View, key string, last gateway.Resolved, reason string) gateway.Resolved {
	return gateway.Broken(v, g.objects, g.classes, key, last, failed(reason))
}

// failures are what stages panicked for, and what was left out of resources because Envoy would refuse it. Each is a bug, and is told to
// the objects that it comes from.
type failures struct {
	graph  *graph
	stages map[stageKey]string
	flaws  map[refusal][]wire.Flaw
}

// stageKey is one value of a stage.
type stageKey struct{ stage, key string }

func newFailures(g *graph) *failures {
	return &failures{graph: g, stages: map[stageKey]string{}, flaws: map[refusal][]wire.Flaw{}}
}

// update notes what stages panicked for, and for what they no longer do.
func (f *failures) update(report memo.Report) {
	for _, r := range report.Recovered {
		delete(f.stages, stageKey{r.Stage, r.Key})
	}
	for _, r := range report.Failed {
		f.stages[stageKey{r.Stage, r.Key}] = r.Reason
	}
}

// replace notes what was left out of resources, instead of what was left out of those before.
func (f *failures) replace(changes []xds.Change, flaws []found) {
	of := func(c xds.Change) refusal { return refusal{group: c.Group, typ: c.Type, name: c.Name, table: c.Table} }
	for _, change := range changes {
		delete(f.flaws, of(change))
	}
	for _, flaw := range flaws {
		delete(f.flaws, of(flaw.Change))
	}
	for _, flaw := range flaws {
		f.flaws[of(flaw.Change)] = append(f.flaws[of(flaw.Change)], flaw.Flaw)
	}
}

// notices tells the objects. What routes, Gateways and patches are told by their own outcomes is not repeated.
func (f *failures) notices(all notices) {
	for at, reason := range f.stages {
		f.graph.noticeStage(all, at, failed(reason))
	}
	for what, flaws := range f.flaws {
		for _, flaw := range flaws {
			reason, _, _ := strings.Cut(flaw.Reason, "\n")
			f.graph.noticeFlaw(all, what, flaw.Owner, fmt.Sprintf("a part of it would be refused by proxies and was left out: %s. This is a bug: please report it", reason))
		}
	}
}

// noticeStage tells the objects that a value of a stage is about.
func (g *graph) noticeStage(all notices, at stageKey, message string) {
	first, rest := splitKey(at.key)
	switch at.stage {
	case stageStatus, stagePort, stageListener, stageSharedListener, stageTracing, stageTenant, stageSocket, stageCertificate, stageAuthorities:
		all.add(subject{store.Gateway, first}, first, nil, message)
	case stageTableListeners, stageTable:
		name := route.GatewayOf(first)
		all.add(subject{store.Gateway, name}, name, nil, message)
	case stageVirtualHost, stageHostProto:
		g.noticeHost(all, at.key, "", message)
	case stageGatewayTLS, stageCluster, stageBackendUser:
		g.noticeCluster(all, first, rest, message)
	case stageBackendTLS, stageClusterProto, stageRetryBudget:
		for _, key := range g.byBackend.Keys(nil, at.key) {
			r, _ := g.routes.Get(nil, key)
			for _, name := range r.Gateways() {
				g.noticeCluster(all, name, at.key, message)
			}
		}
	case stageRouteStatus:
		kind, name := splitRouteKey(at.key)
		r, _ := g.routes.Get(nil, at.key)
		for _, gateway := range r.Gateways() {
			all.add(subject{kind, name}, gateway, nil, message)
		}
	case stagePolicy, stagePolicyStatus:
		noticeAncestors(all, store.BackendTLSPolicy, g.policyStatus, at.key, message)
	case stageTrafficPolicy, stageTrafficStatus:
		noticeAncestors(all, store.XBackendTrafficPolicy, g.trafficStatus, at.key, message)
	case stageTelemetry, stageTelemetryStatus:
		noticeAncestors(all, store.XTelemetryPolicy, g.telemetryStatus, at.key, message)
	case stageXBackend, stageXBackendStatus, stageSelector:
		noticeAncestors(all, store.XBackend, g.xbackendStatus, at.key, message)
	}
}

// noticeAncestors tells a policy at each of its ancestors.
func noticeAncestors(all notices, kind store.Kind, outcomes *store.Table[outcome.Policy], key, message string) {
	o, _ := outcomes.Get(nil, key)
	for _, ancestor := range o.Ancestors {
		if ancestor.Ref.Namespace != nil {
			all.add(subject{kind, key}, store.Key(*ancestor.Ref.Namespace, ancestor.Ref.Name), nil, message)
		}
	}
}

// noticeHost tells the routes of a virtual host, or the one that a rule belongs to.
func (g *graph) noticeHost(all notices, host, rule, message string) {
	table, _ := splitKey(host)
	for _, key := range g.byVirtualHost.Keys(nil, host) {
		if rule == "" || strings.HasPrefix(rule, key+"/") {
			kind, name := splitRouteKey(key)
			all.add(subject{kind, name}, route.GatewayOf(table), nil, message)
		}
	}
}

// noticeFlaw tells the objects that a resource is made of, or the route that a rule belongs to.
func (g *graph) noticeFlaw(all notices, what refusal, rule, message string) {
	if what.typ == xds.VirtualHost {
		g.noticeHost(all, route.VirtualHostKey(what.table, what.name), rule, message)
		return
	}
	g.noticeResource(all, what, message)
}
