package convergence

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/xds"
)

// maxError is the number of bytes of an error that are kept.
const maxError = 1024

// Progress is how far the proxies of a Gateway are with an object.
type Progress struct {
	Delivery ir.Delivery
	// Waiting reports that a ready proxy has not acknowledged the object's state, and Late that it has not done so for a minute.
	Waiting, Late bool
	// Pods is the number of ready proxies of a late object, and Behind are those that have not acknowledged its state.
	Pods   int
	Behind []string
	// Service is the Service that does not lead to the shared proxies of the Gateway yet, empty if it does.
	Service string
	// DeliveryError is why the proxies cannot be configured, and FleetError why their fleet cannot be applied.
	DeliveryError, FleetError string
}

// Track lets an object wait for the target state of its Gateways' proxies.
func (t *Tracker) Track(o Object, gateways []string) {
	t.update(func() {
		t.stopWaiting(o, gateways)
		t.objects[o] = gateways
		for _, gateway := range gateways {
			if t.groupOf(gateway).waitFor(o, t.since) {
				t.metrics.live.Observe(t.now().Sub(t.since).Seconds())
			}
		}
	})
}

// TrackAgain lets an object wait once more for the proxies of one of its Gateways.
func (t *Tracker) TrackAgain(o Object, gateway string) {
	t.update(func() {
		if slices.Contains(t.objects[o], gateway) {
			t.groupOf(gateway).waitFor(o, t.since)
		}
	})
}

// Forget stops tracking an object.
func (t *Tracker) Forget(o Object) {
	t.update(func() {
		t.stopWaiting(o, nil)
		delete(t.objects, o)
	})
}

// stopWaiting removes an object from the groups of its Gateways, except for those to keep.
func (t *Tracker) stopWaiting(o Object, keep []string) {
	for _, gateway := range t.objects[o] {
		if g := t.groups[t.groupIDOf(gateway)]; g != nil && !slices.Contains(keep, gateway) {
			delete(g.waiting, o)
		}
	}
}

// Converged reports whether every ready proxy of a Gateway has acknowledged the state of an object.
func (t *Tracker) Converged(o Object, gateway string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.objects[o], gateway) {
		return false
	}
	_, waits := t.groupOf(gateway).waiting[o]
	return !waits
}

// Progress returns how far the proxies of a Gateway are with an object.
func (t *Tracker) Progress(o Object, gateway string) Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	own, g := ownGroup(gateway), t.groupOf(gateway)
	w, waits := g.waiting[o]
	p := Progress{
		Delivery: g.delivery, Waiting: waits, Late: w.late, DeliveryError: g.deliveryError,
		FleetError: cmp.Or(t.fleetErrors[own], t.fleetErrors[t.sharing[own]]),
	}
	if g.serviceNotSwitched[gateway] {
		p.Service = g.services[gateway]
	}
	if w.late {
		pods := t.pods(g)
		p.Pods = len(pods)
		p.Behind = slices.DeleteFunc(pods, func(pod string) bool { return t.ackedBy(g, pod) >= w.number })
	}
	return p
}

// ReportDeliveryError sets why a Gateway's proxies cannot be configured, empty if they can.
func (t *Tracker) ReportDeliveryError(gateway ir.Name, problem string) {
	t.update(func() {
		g := t.groupOf(gateway.String())
		g.deliveryError = problem
		for o := range g.waiting {
			t.notify = append(t.notify, o)
		}
	})
}

// ReportFleetError sets why the objects of a fleet, of a Gateway or shared, cannot be applied to the cluster, nil if they can.
func (t *Tracker) ReportFleetError(fleet ir.Name, err error) {
	id, text := xds.GroupID(fleet), ""
	if err != nil {
		text = err.Error()
		text = strings.ToValidUTF8(text[:min(len(text), maxError)], "")
	}
	t.update(func() {
		if t.fleetErrors[id] == text {
			return
		}
		if t.fleetErrors[id] = text; text == "" {
			delete(t.fleetErrors, id)
		}
		t.notify = append(t.notify, Object{store.Gateway, id.String()})
		for own, shared := range t.sharing {
			if shared == id {
				t.notify = append(t.notify, Object{store.Gateway, own.String()})
			}
		}
	})
}
