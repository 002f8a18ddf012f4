package files

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gatewright/gatewright/internal/dataplane"
	"github.com/gatewright/gatewright/internal/files/layout"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

const (
	// assumeLoadedAfter is when a proxy that does not answer is assumed to have loaded what was written: a kubelet updates each pod
	// within 90 seconds by itself.
	assumeLoadedAfter = 2 * time.Minute
	// quiet is the time without writes after which unused files are deleted.
	quiet = 3 * time.Second
	// pollSoon is when a proxy is polled again after a write, and pollLater when there is no hurry.
	pollSoon  = 100 * time.Millisecond
	pollLater = 5 * time.Second
	// maxWritten is how many writes are remembered, to know what a proxy has that is behind.
	maxWritten = 64
)

// target is what proxies are to have, under the name of its state.
type target struct {
	content
	state string
}

// written is one write: what was written, and which target's listeners and route tables are in it.
type written struct {
	id   string
	have content
	uses target
}

// rollout is what is known of the files of one Gateway. A change goes to the proxies in order: first what it needs, which nothing uses
// yet; when every proxy has read that, what uses it; and when every proxy has read that in turn, what nothing uses any more goes.
type rollout struct {
	gateway ir.Gateway
	// leaving is true if the Gateway has another delivery, and proxies that still read files.
	leaving bool
	// pods are the proxies there are.
	pods []pod
	// problem is why files are not written.
	problem string

	// found is true once the files in the cluster were read.
	found bool
	// objects is what was last written into each object, and exist those that are there.
	objects map[layout.Object]string
	exist   map[layout.Object]bool

	// used is the newest target that proxies may have, and pending the one whose needs have been written, if any.
	used    target
	pending *target

	// writes are the newest, and the last of them is number last.
	writes []written
	last   int
	wrote  time.Time
	// loaded is the number of the newest write that each proxy has read, moved since when that is so, and reported what the observer knows.
	loaded   map[string]int
	moved    map[string]time.Time
	reported map[string]string
	touched  map[string]time.Time
	// reads is true if some proxy reads files at all.
	reads bool
}

func newRollout() *rollout {
	return &rollout{
		objects: map[layout.Object]string{}, exist: map[layout.Object]bool{},
		loaded: map[string]int{}, moved: map[string]time.Time{}, reported: map[string]string{}, touched: map[string]time.Time{},
	}
}

// group is that of the Gateway's proxies, which no other Gateway shares.
func (s *rollout) group() xds.GroupID { return xds.GroupID(s.gateway.Name) }

// step does the next step for a Gateway, and returns when to continue; zero means when something changes.
func (p *Plane) step(ctx context.Context, s *rollout) (time.Duration, error) {
	if !s.found {
		if err := p.find(ctx, s); err != nil {
			return 0, err
		}
	}
	s.dropLoadedWrites(p.now())
	snapshot := p.Source.Snapshot(s.group())
	newest, err := contentOf(Directory, snapshot)
	if s.leaving {
		newest, err = lastOf(Directory, snapshot, s.have())
	}
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	p.use(s.gateway.Name, names(snapshot))
	p.mu.Unlock()

	p.pollPods(ctx, s)
	next := s.advance(target{newest, snapshot.State}, p.now())
	if len(s.writes) == 0 || !next.equal(s.have()) {
		if wait := s.wrote.Add(pause).Sub(p.now()); wait > 0 {
			return wait, nil
		}
		if err := p.write(ctx, s, next); err != nil {
			return 0, err
		}
		s.note(next, p.now())
		p.touchPods(ctx, s)
	} else {
		s.writes[len(s.writes)-1].uses = s.used
	}
	s.report(p.Observer)
	return s.next(p.now()), nil
}

func names(snapshot xds.Snapshot) []string {
	all := make([]string, len(snapshot.Endpoints))
	for i, r := range snapshot.Endpoints {
		all[i] = r.GetName()
	}
	return all
}

// have is what was last written.
func (s *rollout) have() content {
	if len(s.writes) == 0 {
		return content{}
	}
	return s.writes[len(s.writes)-1].have
}

// advance goes as far towards the newest target as what proxies have read allows, and returns what is to be written. One that needs
// nothing new is used at once. Otherwise targets take turns, so that none waits for ever while others come.
func (s *rollout) advance(newest target, now time.Time) content {
	if len(s.writes) == 0 {
		// No proxy reads anything yet.
		s.used = newest
		return newest.content
	}
	read, common := s.read(now)
	switch {
	case common.provides(newest.content):
		s.used, s.pending = newest, nil
	case s.pending != nil && common.provides(s.pending.content):
		s.used, s.pending = *s.pending, &newest
	case s.pending == nil:
		s.pending = &newest
	}
	next := s.used.content
	if s.pending != nil {
		next = next.mergedOver(s.pending.content)
	}
	// A proxy that has not read the last write may use what those before it used. In haste nothing is cleaned up.
	if now.Sub(s.wrote) < quiet {
		read = 0
	}
	for _, w := range s.writes[read:] {
		next = next.mergedOver(w.uses.content)
	}
	return next.refreshed(newest.content)
}

// read is the index of the oldest write that a proxy has which may not have read more, and what all have since.
func (s *rollout) read(now time.Time) (int, content) {
	oldest := s.last
	for _, each := range s.behind() {
		if now.Sub(s.moved[each.name]) < assumeLoadedAfter {
			oldest = min(oldest, s.loaded[each.name])
		}
	}
	index := len(s.writes) - 1 - (s.last - oldest)
	if index < 0 {
		return 0, content{}
	}
	return index, s.writes[index].have
}

// behind are the proxies that have not read the last write.
func (s *rollout) behind() []pod {
	return slices.DeleteFunc(slices.Clone(s.pods), func(each pod) bool {
		loaded, reads := s.loaded[each.name]
		return !each.ready || !reads || loaded >= s.last
	})
}

// note remembers a write, and those before it for as long as a proxy may have nothing newer.
func (s *rollout) note(c content, now time.Time) {
	s.writes = append(s.writes, written{id: id(c.all()), have: c, uses: s.used})
	s.last++
	if len(s.writes) > maxWritten {
		s.writes = slices.Delete(s.writes, 0, 1)
	}
	s.wrote = now
	clear(s.touched)
}

// dropLoadedWrites forgets the writes that every proxy has passed.
func (s *rollout) dropLoadedWrites(now time.Time) {
	if len(s.writes) > 0 && now.Sub(s.wrote) >= quiet {
		read, _ := s.read(now)
		s.writes = slices.Delete(s.writes, 0, read)
	}
}

// numberOf is the newest write of that id, -1 if none is remembered.
func (s *rollout) numberOf(id string) int {
	for i := len(s.writes) - 1; i >= 0; i-- {
		if s.writes[i].id == id {
			return s.last - (len(s.writes) - 1 - i)
		}
	}
	return -1
}

// report reports to the observer which states proxies have.
func (s *rollout) report(observer dataplane.Observer) {
	for _, each := range s.pods {
		number, reads := s.loaded[each.name]
		if !reads {
			continue
		}
		identity := xds.Identity{Group: s.group(), Pod: each.name}
		if _, known := s.reported[each.name]; !known {
			observer.Connected(identity)
			s.reported[each.name] = ""
		}
		if state := s.stateAt(number); state != "" && s.reported[each.name] != state {
			observer.Holds(identity, state)
			s.reported[each.name] = state
		}
	}
	for name := range s.reported {
		if !slices.ContainsFunc(s.pods, func(each pod) bool { return each.name == name }) {
			observer.Disconnected(xds.Identity{Group: s.group(), Pod: name})
			delete(s.reported, name)
			delete(s.loaded, name)
		}
	}
}

// stateAt is the newest state of a proxy that has read a write.
func (s *rollout) stateAt(number int) string {
	i := len(s.writes) - 1 - (s.last - number)
	if number < 0 || i < 0 || i >= len(s.writes) {
		return ""
	}
	return s.writes[i].uses.state
}

// forgetPods reports all proxies as disconnected.
func (s *rollout) forgetPods(observer dataplane.Observer) {
	for name := range s.reported {
		observer.Disconnected(xds.Identity{Group: s.group(), Pod: name})
	}
	s.reported = map[string]string{}
}

// next is when to continue.
func (s *rollout) next(now time.Time) time.Duration {
	since := now.Sub(s.wrote)
	switch {
	case len(s.behind()) > 0 && since < pollLater, s.pending != nil && since < pollLater:
		return pollSoon
	case len(s.behind()) > 0:
		return pollLater
	case len(s.writes) > 1:
		return max(quiet-since, pollSoon)
	case s.leaving:
		return pollLater
	default:
		return 0
	}
}

// find reads what is in the cluster, which an earlier leader may have written.
func (p *Plane) find(ctx context.Context, s *rollout) error {
	files, objects, err := p.read(ctx, s.gateway)
	if err != nil {
		return err
	}
	s.objects, s.exist = map[layout.Object]string{}, map[layout.Object]bool{}
	for object, each := range objects {
		s.objects[object], s.exist[object] = id(each.files), true
	}
	if _, complete := files[layout.Loaded]; complete {
		have, err := readContent(files)
		if err != nil {
			p.Log.Warn("the files of a Gateway cannot be read, so all are written anew", "gateway", s.gateway.Name.String(), "error", err)
		} else {
			s.used = target{content: have}
			s.writes = []written{{id: id(have.all()), have: have, uses: s.used}}
		}
	}
	s.found = true
	return nil
}

// write brings content to the cluster, object by object: what is looked into comes before what looks there, for a kubelet may come by
// at any time. What says which files these are is last.
func (p *Plane) write(ctx context.Context, s *rollout, c content) error {
	files := c.all()
	files[layout.Loaded] = loadedFile(id(files))
	objects, err := spread(s.gateway.Fleet.Name, files)
	if err != nil {
		return err
	}
	loaded := layout.ObjectOf(s.gateway.Fleet.Name, layout.Loaded)
	all := slices.DeleteFunc(layout.Objects(s.gateway.Fleet.Name), func(each layout.Object) bool { return each == loaded })
	slices.Reverse(all)
	for _, object := range append(all, loaded) {
		sum := id(objects[object])
		if s.objects[object] == sum || len(objects[object]) == 0 && !s.exist[object] {
			continue
		}
		if !s.exist[object] {
			if err := p.create(ctx, s.gateway, object); err != nil {
				return err
			}
			s.exist[object] = true
		}
		if err := p.apply(ctx, s.gateway, object, objects[object]); err != nil {
			return err
		}
		s.objects[object] = sum
	}
	return nil
}

func describe(object layout.Object, gateway ir.Gateway) string {
	return fmt.Sprintf("%s %s/%s", kindOf(object), gateway.Name.Namespace, object.Name)
}
