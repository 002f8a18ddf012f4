package files

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gatewright/gatewright/internal/dataplane"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/xds"
)

const (
	// patience is when proxies that can not be asked are taken to have read what was written: a kubelet looks after each pod within 90 seconds by itself.
	patience = 2 * time.Minute
	// quiet is for how long nothing is written before what is not used any more goes.
	quiet = 3 * time.Second
	// lookSoon is when a proxy is asked again that has been told to look, and lookAgain when there is no hurry.
	lookSoon  = 100 * time.Millisecond
	lookAgain = 5 * time.Second
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

// supply is what is known of the files of one Gateway. A change goes to the proxies in order: first what it needs, which nothing uses yet; when every proxy has read
// that, what uses it; and when every proxy has read that in turn, what nothing uses any more goes.
type supply struct {
	gateway ir.Gateway
	// leaving says that the Gateway is to be supplied in another way, and has proxies that still read files.
	leaving bool
	// pods are the proxies there are.
	pods []pod
	// problem is why files are not written.
	problem string

	// found says that it is known what is in the cluster.
	found bool
	// objects is what was last written into each object, and exist those that are there.
	objects map[render.FileObject]string
	exist   map[render.FileObject]bool

	// used is the newest target that proxies may have, and pending the one whose needs have been written, if any.
	used    target
	pending *target

	// writes are the newest, and the last of them is number last.
	writes []written
	last   int
	wrote  time.Time
	// loaded is the number of the newest write that each proxy has read, moved since when that is so, and told what the observer knows.
	loaded map[string]int
	moved  map[string]time.Time
	told   map[string]string
	nudged map[string]time.Time
	// reads says that some proxy reads files at all.
	reads bool
}

func newSupply() *supply {
	return &supply{
		objects: map[render.FileObject]string{}, exist: map[render.FileObject]bool{},
		loaded: map[string]int{}, moved: map[string]time.Time{}, told: map[string]string{}, nudged: map[string]time.Time{},
	}
}

// supply does the next step for a Gateway, and says when to come back, zero for when something changes.
func (p *Plane) supply(ctx context.Context, s *supply) (time.Duration, error) {
	if !s.found {
		if err := p.find(ctx, s); err != nil {
			return 0, err
		}
	}
	s.settle(p.now())
	snapshot := p.Source.Snapshot(s.gateway.Name.String())
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

	p.look(ctx, s)
	next := s.advance(target{newest, snapshot.State}, p.now())
	if len(s.writes) == 0 || !next.equal(s.have()) {
		if wait := s.wrote.Add(pause).Sub(p.now()); wait > 0 {
			return wait, nil
		}
		if err := p.write(ctx, s, next); err != nil {
			return 0, err
		}
		s.note(next, p.now())
		p.nudge(ctx, s)
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
func (s *supply) have() content {
	if len(s.writes) == 0 {
		return content{}
	}
	return s.writes[len(s.writes)-1].have
}

// advance goes as far towards the newest target as what proxies have read allows, and returns what is to be written. One that needs nothing new is used at once. Otherwise
// targets take turns, so that none waits for ever while others come.
func (s *supply) advance(newest target, now time.Time) content {
	if len(s.writes) == 0 {
		// Nobody reads anything yet.
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
		next = next.beside(s.pending.content)
	}
	// A proxy that has not read the last write may use what those before it used. In haste nothing is cleaned up.
	if now.Sub(s.wrote) < quiet {
		read = 0
	}
	for _, w := range s.writes[read:] {
		next = next.beside(w.uses.content)
	}
	return next.refreshed(newest.content)
}

// read is the index of the oldest write that a proxy has which may not have read more, and what all have since.
func (s *supply) read(now time.Time) (int, content) {
	oldest := s.last
	for _, each := range s.behind() {
		if now.Sub(s.moved[each.name]) < patience {
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
func (s *supply) behind() []pod {
	return slices.DeleteFunc(slices.Clone(s.pods), func(each pod) bool {
		loaded, reads := s.loaded[each.name]
		return !each.ready || !reads || loaded >= s.last
	})
}

// note remembers a write, and those before it for as long as a proxy may have nothing newer.
func (s *supply) note(c content, now time.Time) {
	s.writes = append(s.writes, written{id: id(c.all()), have: c, uses: s.used})
	s.last++
	if len(s.writes) > maxWritten {
		s.writes = slices.Delete(s.writes, 0, 1)
	}
	s.wrote = now
	clear(s.nudged)
}

// settle forgets the writes that every proxy has behind it.
func (s *supply) settle(now time.Time) {
	if len(s.writes) > 0 && now.Sub(s.wrote) >= quiet {
		read, _ := s.read(now)
		s.writes = slices.Delete(s.writes, 0, read)
	}
}

// numberOf is the newest write of that id, -1 if none is remembered.
func (s *supply) numberOf(id string) int {
	for i := len(s.writes) - 1; i >= 0; i-- {
		if s.writes[i].id == id {
			return s.last - (len(s.writes) - 1 - i)
		}
	}
	return -1
}

// report tells the observer which states proxies have.
func (s *supply) report(observer dataplane.Observer) {
	for _, each := range s.pods {
		number, reads := s.loaded[each.name]
		if !reads {
			continue
		}
		identity := xds.Identity{Gateway: s.gateway.Name.String(), Pod: each.name}
		if _, known := s.told[each.name]; !known {
			observer.Connected(identity)
			s.told[each.name] = ""
		}
		if state := s.stateAt(number); state != "" && s.told[each.name] != state {
			observer.Holds(identity, state)
			s.told[each.name] = state
		}
	}
	for name := range s.told {
		if !slices.ContainsFunc(s.pods, func(each pod) bool { return each.name == name }) {
			observer.Disconnected(xds.Identity{Gateway: s.gateway.Name.String(), Pod: name})
			delete(s.told, name)
			delete(s.loaded, name)
		}
	}
}

// stateAt is the newest state of a proxy that has read a write.
func (s *supply) stateAt(number int) string {
	i := len(s.writes) - 1 - (s.last - number)
	if number < 0 || i < 0 || i >= len(s.writes) {
		return ""
	}
	return s.writes[i].uses.state
}

// forgetPods takes back what the observer was told.
func (s *supply) forgetPods(observer dataplane.Observer) {
	for name := range s.told {
		observer.Disconnected(xds.Identity{Gateway: s.gateway.Name.String(), Pod: name})
	}
	s.told = map[string]string{}
}

// next is when to come back.
func (s *supply) next(now time.Time) time.Duration {
	since := now.Sub(s.wrote)
	switch {
	case len(s.behind()) > 0 && since < lookAgain, s.pending != nil && since < lookAgain:
		return lookSoon
	case len(s.behind()) > 0:
		return lookAgain
	case len(s.writes) > 1:
		return max(quiet-since, lookSoon)
	case s.leaving:
		return lookAgain
	default:
		return 0
	}
}

// find reads what is in the cluster, which an earlier leader may have written.
func (p *Plane) find(ctx context.Context, s *supply) error {
	files, objects, err := p.read(ctx, s.gateway)
	if err != nil {
		return err
	}
	s.objects, s.exist = map[render.FileObject]string{}, map[render.FileObject]bool{}
	for object, content := range objects {
		s.objects[object], s.exist[object] = id(content), true
	}
	if _, complete := files[render.LoadedFile]; complete {
		have, err := readContent(files)
		if err != nil {
			p.Log.Warn("the files of a Gateway can not be read, so all are written anew", "gateway", s.gateway.Name.String(), "error", err)
		} else {
			s.used = target{content: have}
			s.writes = []written{{id: id(have.all()), have: have, uses: s.used}}
		}
	}
	s.found = true
	return nil
}

// write brings content to the cluster, object by object: what is looked into comes before what looks there, for a kubelet may come by at any time. What says which
// files these are is last.
func (p *Plane) write(ctx context.Context, s *supply, c content) error {
	files := c.all()
	files[render.LoadedFile] = loadedFile(id(files))
	objects, err := spread(s.gateway.Fleet.Name, files)
	if err != nil {
		return err
	}
	loaded := render.FileObjectOf(s.gateway.Fleet.Name, render.LoadedFile)
	all := slices.DeleteFunc(render.FileObjects(s.gateway.Fleet.Name), func(each render.FileObject) bool { return each == loaded })
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

func describe(object render.FileObject, gateway ir.Gateway) string {
	return fmt.Sprintf("%s %s/%s", kindOf(object), gateway.Name.Namespace, object.Name)
}
