package quarantine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/resolve/route"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// What some proxies of a group reject and others have acknowledged is not replaced: one outdated proxy takes nothing from the others. The
// proxies that reject it get a closed host, and the routes report them.

// groupHost is a virtual host at the proxies of a group.
type groupHost struct {
	group xds.GroupID
	host  ir.HostID
}

// apartEntry is the version of a virtual host that some proxies reject.
type apartEntry struct {
	version string
	routes  []string
	// closed reports that they reject a host that is closed for all. Nothing is left to try: they keep what they have.
	closed bool
	Report
}

// introduction is the state of a group in which hosts got the version that they have, unless they are in a later introduction.
type introduction struct {
	state string
	hosts map[ir.HostID]struct{}
}

// maxIntroductions limits the introductions of a group that are not acknowledged. The oldest ones are merged, as if they came later.
const maxIntroductions = 32

// Introduce records in which states of groups virtual hosts have changed. It is called when these states are published.
func (q *Quarantine) Introduce(changes []xds.Change, states map[xds.GroupID]string) {
	for group, list := range q.introduced {
		list = slices.DeleteFunc(list, func(in introduction) bool {
			_, all := q.convergence.Acked(group, in.state, nil)
			return all
		})
		if q.introduced[group] = list; len(list) == 0 {
			delete(q.introduced, group)
		}
	}
	fresh := map[xds.GroupID]introduction{}
	for i := range changes {
		c := &changes[i]
		if c.Type != xds.VirtualHost || c.Resource == nil {
			continue
		}
		if _, known := fresh[c.Group]; !known {
			fresh[c.Group] = introduction{state: states[c.Group], hosts: map[ir.HostID]struct{}{}}
		}
		fresh[c.Group].hosts[ir.ParseTableID(c.Table).Host(c.Name)] = struct{}{}
	}
	for group, in := range fresh {
		q.introduced[group] = append(q.introduced[group], in)
		if list := q.introduced[group]; len(list) > maxIntroductions {
			maps.Copy(list[1].hosts, list[0].hosts)
			q.introduced[group] = slices.Delete(list, 0, 1)
		}
	}
}

// acked reports whether a proxy of a group, other than these, has acknowledged the present version of a host.
func (q *Quarantine) acked(at groupHost, but map[string]struct{}) bool {
	state := ""
	for _, in := range q.introduced[at.group] {
		if _, changed := in.hosts[at.host]; changed {
			state = in.state
		}
	}
	some, _ := q.convergence.Acked(at.group, state, but)
	return some
}

// keepApart takes in a NACK of a host that other proxies have acknowledged, and reports whether it is one.
func (q *Quarantine) keepApart(r NACK, report Report) bool {
	at := groupHost{r.Group, r.host()}
	entry := q.apart[at]
	if entry != nil && entry.version == r.Version {
		report = entry.With(report)
	}
	closed := r.Version == q.tables.ClosedVersion(at.host)
	if !closed && !q.acked(at, report.Pods) {
		return false
	}
	q.apart[at] = &apartEntry{
		version: r.Version, routes: strings.FieldsFunc(r.Routes, func(c rune) bool { return c == '\n' }), closed: closed, Report: report,
	}
	return true
}

// releaseApart forgets hosts that have changed, and those whose proxies are gone.
func (q *Quarantine) releaseApart() {
	maps.DeleteFunc(q.apart, func(at groupHost, entry *apartEntry) bool {
		maps.DeleteFunc(entry.Pods, func(pod string, _ struct{}) bool { return !q.convergence.Ready(at.group, pod) })
		return len(entry.Pods) == 0 || q.tables.HostVersion(at.host) != entry.version
	})
}

// Apart calls visit for each host that some proxies of a group reject as it is, and others serve.
func (q *Quarantine) Apart(visit func(group xds.GroupID, host ir.HostID)) {
	for at, entry := range q.apart {
		if q.tables.HostVersion(at.host) == entry.version {
			visit(at.group, at.host)
		}
	}
}

// noticeApart reports what some proxies reject: the routes at fault, or all of the host if these are not known.
func (q *Quarantine) noticeApart(add func(Notice)) {
	for at, entry := range q.apart {
		if entry.closed {
			continue
		}
		routes := map[string]struct{}{}
		for _, name := range entry.routes {
			if kind, key, ok := route.ObjectOf(name); ok {
				routes[string(kind)+"/"+key] = struct{}{}
			}
		}
		if len(routes) == 0 {
			for _, key := range q.tables.HostRoutes(at.host) {
				routes[key] = struct{}{}
			}
		}
		pods := slices.Sorted(maps.Keys(entry.Pods))
		for key := range routes {
			kind, own := store.SplitKindKey(key)
			add(Notice{Kind: kind, Key: own, Gateway: at.host.Table.Gateway, Message: fmt.Sprintf(
				"of the proxies of Gateway %s, %s rejected (NACK) it for host %s: %s; others serve it, and these answer 500 to all requests for the "+
					"host; replace them if their version is outdated, or change the route",
				at.host.Table.Gateway, strings.Join(pods[:min(len(pods), maxPods)], ", "), at.host.Domain, entry.Reason)})
		}
	}
}

// maxPods is the number of proxies that a message names.
const maxPods = 3
