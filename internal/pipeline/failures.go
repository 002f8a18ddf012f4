package pipeline

import (
	"fmt"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/memo"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/gateway"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/translate/wire"
	"github.com/gatewright/gatewright/internal/xds"
)

// failed is the message of an object for which a stage panicked.
func failed(reason string) string {
	return fmt.Sprintf("Gatewright failed to process this: %s; what was there before is used, if anything was. This is a bug: "+
		"please report it, and change the object to get around it", reason[:min(len(reason), maxReason)])
}

// brokenGateway is a Gateway for which its stage panicked.
func (g *graph) brokenGateway(v *store.View, key string, last gateway.Resolved, reason string) gateway.Resolved {
	return gateway.Broken(v, g.objects, g.classes, key, last, failed(reason))
}

// failures are the values for which stages panicked, and the parts of resources that violate Envoy's validation rules. Each is a bug. The
// objects at fault report it.
type failures struct {
	graph   *graph
	stages  map[stageKey]string
	invalid map[resourceID][]wire.ValidationError
}

// stageKey is one value of a stage.
type stageKey struct{ stage, key string }

func newFailures(g *graph) *failures {
	return &failures{graph: g, stages: map[stageKey]string{}, invalid: map[resourceID][]wire.ValidationError{}}
}

// update records the values for which stages panicked, and those for which they no longer do.
func (f *failures) update(report memo.Report) {
	for _, r := range report.Recovered {
		delete(f.stages, stageKey{r.Stage, r.Key})
	}
	for _, r := range report.Failed {
		f.stages[stageKey{r.Stage, r.Key}] = r.Reason
	}
}

// replace records the invalid parts of changed resources.
func (f *failures) replace(changes []xds.Change, invalid []locatedError) {
	of := func(c xds.Change) resourceID {
		return resourceID{group: c.Group, typ: c.Type, name: c.Name, table: c.Table}
	}
	for _, change := range changes {
		delete(f.invalid, of(change))
	}
	for _, part := range invalid {
		delete(f.invalid, of(part.Change))
	}
	for _, part := range invalid {
		f.invalid[of(part.Change)] = append(f.invalid[of(part.Change)], part.ValidationError)
	}
}

// notices adds the notices of failures. What the outcomes of routes and Gateways report is not repeated.
func (f *failures) notices(all notices) {
	for at, reason := range f.stages {
		f.graph.noticeStage(all, at, failed(reason))
	}
	for what, invalid := range f.invalid {
		if what.typ == xds.Listener {
			f.graph.noticeChains(all, ir.ParsePortName(what.name), invalid)
		}
		for _, part := range invalid {
			if what.typ == xds.Listener && part.Owner != "" {
				continue
			}
			reason, _, _ := strings.Cut(part.Reason, "\n")
			f.graph.noticeInvalid(all, what, part.Owner, fmt.Sprintf(
				"a part of it would be rejected by proxies and was left out: %s. This is a bug: please report it", reason))
		}
	}
}

// noticeStage adds a notice for the objects that a value of a stage is about.
func (g *graph) noticeStage(all notices, at stageKey, message string) {
	if add := stageNotices[at.stage]; add != nil {
		add(g, all, at.key, message)
		return
	}
	g.noticePolicy(all, at, message)
}

// stageNotices adds the notices for a value that a stage failed to compute, by stage. Policies register theirs with addPolicies, and
// unreportedStages have none; a test sees that each stage has one of the three.
var stageNotices = map[string]func(g *graph, all notices, key, message string){
	stageStatus:           noticeGateway,
	stagePort:             noticeGateway,
	stageListener:         noticeGateway,
	stageSharedListener:   noticeGateway,
	stageTracing:          noticeGateway,
	stageClientSettings:   noticeGateway,
	stageGatewayPolicies:  noticeGateway,
	stageListenerPolicies: noticeGateway,
	stageRejectedRules:    noticeGateway,
	stageRoutePolicies:    noticeRouteStage,
	stageTenant:           noticeGateway,
	stageSocket:           noticeGateway,
	stageCertificate:      noticeGateway,
	stageAuthorities:      noticeGateway,
	stageCredential:       noticeGateway,
	stageTableListeners:   noticeTable,
	stageTable:            noticeTable,
	stageVirtualHost:      noticeHostStage,
	stageHostProto:        noticeHostStage,
	stageGatewayTLS:       noticeGatewayBackend,
	stageCluster:          noticeGatewayBackend,
	stageBackendUser:      noticeGatewayBackend,
	stageBackendTLS:       noticeBackend,
	stageClusterProto:     noticeBackend,
	stageRetryBudget:      noticeBackend,
	stageRouteStatus:      noticeRouteStage,
	stageHTTP3:            noticeGateway,
}

// unreportedStages have no notice, for this reason.
var unreportedStages = map[string]string{
	stageClass:           "the class keeps its last outcome",
	stageGateway:         "the outcome of the Gateway has it",
	stagePatches:         "the outcome of the Gateway has it",
	stageRoute:           "the outcome of the route has it",
	stageRouteConflict:   "the outcome of the route has it",
	stageParent:          "routes keep their attachments",
	stageBackendPolicies: "clusters keep their settings",
	stageClassPolicies:   "clusters keep their settings; the stage of Gateways fails too",
	stageVariant:         "it copies a value",
	stageRouteKinds:      "it compares numbers",
	stageFleetBudget:     "it compares numbers",
	stageOwnerBudget:     "it compares numbers",
	stageNamespaceBudget: "it compares numbers",
	stageRepeatBudget:    "it compares numbers",
	stageWildcardBudget:  "it compares numbers",
	stageNameBudget:      "it compares numbers",
	stageFixedNames:      "it compares numbers",
	stageRateLimitBudget: "it compares numbers",
	stageRateLimit:       "the rate limit service keeps the limits that it has; the stage of the policy fails too",
	stageSetStatus:       "the ListenerSet keeps its last outcome",
	stageSockets:         "Gateways keep their target ports",
	stageSharedFleet:     "the fleet stays as it is",
	stageBundle:          "the stage after it reports it",
	stageChainBytes:      "the stage of the filter chain fails too",
	stageListenerBudget:  "it compares numbers",
	stageChainPlace:      "it compares numbers",
	stageChain:           "what the chain is made of reports it, see noticeChains",
	stageFilterChain:     "what the chain is made of reports it, see noticeChains",
	stageApart:           "proxies that reject the host get one that answers errors; its routes report the NACK",
}

func noticeGateway(_ *graph, all notices, key, message string) {
	name := ir.ParsePortID(key).Gateway
	all.add(subject{store.Gateway, name}, name, nil, message)
}

func noticeTable(_ *graph, all notices, key, message string) {
	name := ir.ParseTableID(key).Gateway
	all.add(subject{store.Gateway, name}, name, nil, message)
}

func noticeHostStage(g *graph, all notices, key, message string) {
	g.noticeHost(all, ir.ParseHostID(key), "", message)
}

func noticeGatewayBackend(g *graph, all notices, key, message string) {
	g.noticeCluster(all, ir.ParseGatewayBackend(key), message)
}

func noticeBackend(g *graph, all notices, key, message string) {
	backend := parseBackend(key)
	for _, route := range g.byBackend.Keys(nil, backend) {
		r, _ := g.routes.Get(nil, route)
		for _, name := range r.Gateways() {
			g.noticeCluster(all, ir.GatewayBackend{Gateway: name, Backend: backend}, message)
		}
	}
}

func noticeRouteStage(g *graph, all notices, key, message string) {
	kind, name := store.SplitKindKey(key)
	r, _ := g.routes.Get(nil, key)
	for _, gateway := range r.Gateways() {
		all.add(subject{kind, name}, gateway, nil, message)
	}
}

// noticeAncestors adds a notice for a policy at each of its ancestors.
func noticeAncestors(all notices, kind store.Kind, outcomes *store.Table[outcome.Policy], key, message string) {
	o, _ := outcomes.Get(nil, key)
	for _, ancestor := range o.Ancestors {
		if ancestor.Ref.Namespace != nil {
			all.add(subject{kind, key}, store.Key(*ancestor.Ref.Namespace, ancestor.Ref.Name), nil, message)
		}
	}
}

// noticeHost adds a notice for the routes of a virtual host, or for the one that a rule belongs to.
func (g *graph) noticeHost(all notices, host ir.HostID, rule, message string) {
	for _, key := range g.byVirtualHost.Keys(nil, host) {
		if rule == "" || strings.HasPrefix(rule, key+"/") {
			kind, name := store.SplitKindKey(key)
			all.add(subject{kind, name}, host.Table.Gateway, nil, message)
		}
	}
}

// noticeInvalid adds a notice for the objects that a resource is made of, or for the route that a rule belongs to.
func (g *graph) noticeInvalid(all notices, what resourceID, rule, message string) {
	if what.typ == xds.VirtualHost {
		g.noticeHost(all, ir.ParseTableID(what.table).Host(what.name), rule, message)
		return
	}
	g.noticeResource(all, what, g.originsOf(what), message)
}
