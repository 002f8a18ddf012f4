package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
)

const (
	// What another client changed is restored at once, and again after a pause that doubles from the first of these to the second. It begins
	// anew after a time without a change.
	firstHeal, lastHeal = time.Second, 20 * time.Second
	healReset           = time.Minute
	// conflictPause is the pause from which on a fleet reports that another client changes it again and again.
	conflictPause = 8 * time.Second
)

// record is an object as it was last applied. Its digest is empty if it must be applied again.
type record struct {
	sum digest
	uid types.UID
	// version is the resource version, and fields which fields are ours.
	version, fields string
}

// sighting is an object as it was last seen.
type sighting struct {
	object *metav1.PartialObjectMetadata
	gone   bool
}

// recordOf is what must stay true of an object that an owner applied.
func recordOf(sum digest, object *metav1.PartialObjectMetadata, owner string) record {
	return record{sum: sum, uid: object.UID, version: object.ResourceVersion, fields: fieldsOf(object, owner)}
}

// fieldsOf returns the fields of an object that an owner has, and since when. A client that changes or removes one takes it away from the
// owner. Status has entries of its own, and so has everything that others added.
func fieldsOf(object *metav1.PartialObjectMetadata, owner string) string {
	var all strings.Builder
	for _, entry := range object.ManagedFields {
		if entry.Manager != owner || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		// An apply in our name that changes values only changes nothing but the time.
		if entry.Time != nil {
			fmt.Fprintln(&all, entry.Time.Unix())
		}
		all.WriteString(entry.FieldsV1.GetRawString())
	}
	return all.String()
}

// holds reports whether an object that was seen is the one that was applied. One that was seen before does not count as changed.
func (r record) holds(seen sighting, owner string) bool {
	if seen.gone {
		return seen.object.UID != r.uid
	}
	order, err := resourceversion.CompareResourceVersion(seen.object.ResourceVersion, r.version)
	return err == nil && order <= 0 || seen.object.UID == r.uid && fieldsOf(seen.object, owner) == r.fields
}

// changedBy is the last other field manager that changed an object; empty if it is not known.
func (s sighting) changedBy() string {
	var last metav1.ManagedFieldsEntry
	for _, entry := range s.object.ManagedFields {
		if entry.Manager != render.FieldOwner && entry.Manager != ScaleOwner && entry.Subresource == "" && (last.Time == nil ||
			last.Time.Before(entry.Time)) {
			last = entry
		}
	}
	return last.Manager
}

// drift is what must be applied again because another client changed it, and the time from which that may be done.
type drift struct {
	keys []string
	due  time.Time
	// pause is the least time between two of them, and last when the last one was due.
	pause time.Duration
	last  time.Time
	// what names the last object that was changed.
	what string
}

// note adds an object. The time at which it is due is not put off by more of them.
func (d *drift) note(key string, now time.Time) {
	if len(d.keys) == 0 {
		if now.Sub(d.last) > healReset {
			d.pause = 0
		}
		d.due = now
		if next := d.last.Add(d.pause); next.After(now) {
			d.due = next
		}
		d.last, d.pause = d.due, min(max(2*d.pause, firstHeal), lastHeal)
	}
	if !slices.Contains(d.keys, key) {
		d.keys = append(d.keys, key)
	}
}

// acquire returns the keys that are due.
func (d *drift) acquire(now time.Time) []string {
	if now.Before(d.due) {
		return nil
	}
	keys := d.keys
	d.keys = nil
	return keys
}

var errChangedAgain = errors.New("another client changes it again and again")

// problem returns an error while another client changes the fleet again and again.
func (d *drift) problem(now time.Time) error {
	if d.pause < conflictPause || now.Sub(d.last) > healReset {
		return nil
	}
	return fmt.Errorf("%s: %w; Gatewright restores it at most every %s", d.what, errChangedAgain, lastHeal)
}

// Observed is called when an object of the Gateway's fleet was seen, or is gone. If it is not as it was applied, it is applied again.
func (a *Applier) Observed(gateway ir.Name, kind string, object *metav1.PartialObjectMetadata, gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, wanted := a.wanted[gateway]; !wanted || !a.queue.Running() {
		return
	}
	fleet := a.fleets[gateway]
	blocking := true
	if fleet != nil && fleet.identity.namespace == object.Namespace && fleet.identity.name == object.Name {
		fleet.seen[kind] = sighting{object: object, gone: gone}
		if !fleet.busy {
			_, applied := fleet.applied[kind]
			blocking = !applied
			a.compare(gateway, fleet)
		}
	}
	if gone && blocking {
		a.queue.Add(gateway)
	}
}

// compare finds what is not as it was applied, and queues it. No worker may use the fleet.
func (a *Applier) compare(gateway ir.Name, fleet *fleet) {
	now := time.Now()
	for key, record := range fleet.applied {
		kind, owner := key, render.FieldOwner
		if key == scaleKey {
			kind, owner = deploymentKind, ScaleOwner
		}
		seen, ok := fleet.seen[kind]
		if !ok || slices.Contains(fleet.drift.keys, key) || record.holds(seen, owner) {
			continue
		}
		fleet.drift.note(key, now)
		fleet.drift.what = fmt.Sprintf("%s %s/%s", kind, seen.object.Namespace, seen.object.Name)
		a.Log.Info("an object of a fleet was changed or deleted by another client, it is restored", "gateway", gateway.String(),
			"kind", kind, "gone", seen.gone, "manager", seen.changedBy(), "pause", fleet.drift.due.Sub(now).String())
	}
	clear(fleet.seen)
	if len(fleet.drift.keys) > 0 {
		a.queue.AddAfter(gateway, fleet.drift.due.Sub(now))
	}
}
