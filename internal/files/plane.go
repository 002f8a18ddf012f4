package files

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/dataplane"
	"github.com/gatewright/gatewright/internal/files/layout"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/leaderqueue"
	"github.com/gatewright/gatewright/internal/xds"
)

const (
	// workers is how many Gateways are brought up to date at once.
	workers = 4
	// batchDelay is how long changes are waited for after the first one, and pause the least time between two writes for one Gateway.
	batchDelay = 50 * time.Millisecond
	pause      = 200 * time.Millisecond
)

// Config is what a [Plane] works with. All fields but Ask and Installation are needed.
type Config struct {
	Client client.Client
	// Reader must not be a cache: objects with files are read once, and are of no interest after.
	Reader client.Reader
	// Source has the resources of all Gateways. It gets changes before the plane does.
	Source interface {
		Snapshot(group xds.GroupID) xds.Snapshot
	}
	// Observer gets the states that proxies have loaded.
	Observer dataplane.Observer
	// Report gets the reason for which the files of a Gateway cannot be written, and the empty string once they are; once for each change.
	Report func(gateway ir.Name, problem string)
	Log    *slog.Logger
	// Installation is which of several installations this is, see [ir.Installation].
	Installation string
	// Ask returns what a proxy at an address answers at [layout.LoadedPath]; nil asks over HTTP.
	Ask func(ctx context.Context, address string) (string, error)
}

// Plane supplies proxies by files. What is wanted may be said at any time and on every replica; it is done while Start runs.
type Plane struct {
	Config
	now   func() time.Time
	queue *leaderqueue.Queue[ir.Name]

	mu sync.Mutex
	// wanted are the Gateways whose proxies are to be supplied by files, and known all that exist and have proxies.
	wanted map[ir.Name]ir.Gateway
	known  map[ir.Name]ir.Gateway
	// rollouts are those of Gateways with files. One worker at a time uses a rollout.
	rollouts map[ir.Name]*rollout
	// staleFleets are fleets that have files and should not.
	staleFleets map[ir.Name]map[string]bool
	// users are the Gateways that use each load assignment.
	users map[string]map[ir.Name]bool
	pods  pods
	// byService are the Gateways whose proxies a Service leads to, or led to as long as there are files left.
	byService map[types.NamespacedName]map[ir.Name]bool
}

var _ dataplane.Plane = (*Plane)(nil)

// New returns a plane without any Gateways.
func New(config Config) *Plane {
	if config.Ask == nil {
		config.Ask = ask
	}
	return &Plane{
		Config: config, now: time.Now, queue: leaderqueue.New[ir.Name]("files", workers, config.Log),
		wanted: map[ir.Name]ir.Gateway{}, known: map[ir.Name]ir.Gateway{}, rollouts: map[ir.Name]*rollout{},
		staleFleets: map[ir.Name]map[string]bool{},
		users:       map[string]map[ir.Name]bool{}, pods: newPods(), byService: map[types.NamespacedName]map[ir.Name]bool{},
	}
}

// Serve sets the delivery of a Gateway. Files of one that used them before are kept up to date until none of its proxies reads them.
func (p *Plane) Serve(gateway ir.Gateway) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if before, ok := p.known[gateway.Name]; ok && before.Fleet.Name != gateway.Fleet.Name {
		p.markStale(gateway.Name, before.Fleet.Name)
	}
	p.known[gateway.Name] = gateway
	p.indexService(gateway.Name, gateway.Fleet.Name)
	if gateway.Fleet.Delivery == ir.Files {
		p.wanted[gateway.Name] = gateway
		delete(p.staleFleets[gateway.Name], gateway.Fleet.Name)
	} else if _, before := p.wanted[gateway.Name]; before {
		delete(p.wanted, gateway.Name)
		p.markStale(gateway.Name, gateway.Fleet.Name)
	}
	p.queue.Add(gateway.Name)
}

func (p *Plane) markStale(gateway ir.Name, fleet string) {
	if p.staleFleets[gateway] == nil {
		p.staleFleets[gateway] = map[string]bool{}
	}
	p.staleFleets[gateway][fleet] = true
	p.indexService(gateway, fleet)
}

// Leave forgets a Gateway that is gone. Its objects leave with it, for it owns them.
func (p *Plane) Leave(gateway ir.Name) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(gateway)
}

// Own forgets an earlier Gateway of the name, so that its files stay as they are.
func (p *Plane) Own(group xds.GroupID, uid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := ir.Name(group)
	if before, ok := p.known[name]; ok && before.Fleet.UID != uid {
		p.forget(name)
	}
}

func (p *Plane) forget(gateway ir.Name) {
	p.unindexServices(gateway)
	delete(p.wanted, gateway)
	delete(p.known, gateway)
	delete(p.staleFleets, gateway)
	p.queue.Add(gateway)
}

// Apply queues the Gateways that changed. The changes are read from the source, which also names the states.
func (p *Plane) Apply(changes []xds.Change) map[xds.GroupID]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, change := range changes {
		p.touch(ir.Name(change.Group))
	}
	return nil
}

// ApplyEndpoints does so for the Gateways that use the load assignments.
func (p *Plane) ApplyEndpoints(changes map[string]*xds.Resource) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range changes {
		for gateway := range p.users[name] {
			p.touch(gateway)
		}
	}
}

func (p *Plane) touch(gateway ir.Name) {
	if p.rollouts[gateway] != nil {
		p.queue.AddAfter(gateway, batchDelay)
	}
}

// Start works until the context ends. It can be started again, and then trusts nothing that it knew: another leader may have been at work.
func (p *Plane) Start(ctx context.Context) error {
	var finding sync.WaitGroup
	p.queue.Run(ctx, func() {
		p.begin()
		finding.Go(func() { p.findStale(ctx) })
	}, p.reconcile)
	finding.Wait()
	p.end()
	return nil
}

func (p *Plane) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range p.known {
		p.queue.Add(name)
	}
}

func (p *Plane) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.rollouts {
		s.forgetPods(p.Observer)
	}
	p.rollouts, p.users = map[ir.Name]*rollout{}, map[string]map[ir.Name]bool{}
}

// reconcile does what there is to do for one Gateway.
func (p *Plane) reconcile(ctx context.Context, name ir.Name) error {
	s := p.acquire(name)
	if s == nil {
		return p.clean(ctx, name)
	}
	again, err := p.step(ctx, s)
	if ctx.Err() == nil {
		p.reportProblem(s, err)
	}
	if err != nil {
		return err
	}
	if again > 0 {
		p.queue.AddAfter(name, again)
	}
	return p.clean(ctx, name)
}

// acquire gives what is known of a Gateway that is supplied by files, and nil if it should not be.
func (p *Plane) acquire(name ir.Name) *rollout {
	p.mu.Lock()
	defer p.mu.Unlock()
	gateway, wanted := p.wanted[name]
	s := p.rollouts[name]
	if !wanted {
		// Files go on being written for proxies that still read them.
		if s != nil && p.staleFleets[name][s.gateway.Fleet.Name] && s.reads {
			s.leaving, s.pods = true, p.pods.of(s.gateway)
			return s
		}
		if s != nil {
			s.forgetPods(p.Observer)
			p.use(name, nil)
			delete(p.rollouts, name)
		}
		return nil
	}
	if s == nil || s.gateway.Fleet.Name != gateway.Fleet.Name || s.gateway.Fleet.UID != gateway.Fleet.UID {
		if s != nil {
			s.forgetPods(p.Observer)
		}
		s = newRollout()
		p.rollouts[name] = s
	}
	s.gateway, s.leaving, s.pods = gateway, false, p.pods.of(gateway)
	return s
}

// use notes which load assignments a Gateway uses.
func (p *Plane) use(gateway ir.Name, assignments []string) {
	for name, users := range p.users {
		if users[gateway] && !slices.Contains(assignments, name) {
			delete(users, gateway)
		}
		if len(users) == 0 {
			delete(p.users, name)
		}
	}
	for _, name := range assignments {
		if p.users[name] == nil {
			p.users[name] = map[ir.Name]bool{}
		}
		p.users[name][gateway] = true
	}
}

// reportProblem logs and reports a problem, or its end, once for each change.
func (p *Plane) reportProblem(s *rollout, err error) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	if s.problem == problem {
		return
	}
	s.problem = problem
	if err != nil {
		p.Log.Error("files not written, trying again", "gateway", s.gateway.Name.String(), "error", err)
	} else {
		p.Log.Info("files written", "gateway", s.gateway.Name.String())
	}
	p.Report(s.gateway.Name, problem)
}

// clean removes the files of fleets that should have none, once no proxy reads them.
func (p *Plane) clean(ctx context.Context, name ir.Name) error {
	p.mu.Lock()
	gateway, exists := p.known[name]
	fleets := slices.Sorted(maps.Keys(p.staleFleets[name]))
	served := p.rollouts[name]
	p.mu.Unlock()
	for _, fleet := range fleets {
		if !exists || served != nil && served.gateway.Fleet.Name == fleet {
			continue
		}
		old := gateway
		old.Fleet.Name = fleet
		if p.anyReads(ctx, old) {
			p.queue.AddAfter(name, pollLater)
			continue
		}
		if err := p.remove(ctx, old); err != nil {
			if ctx.Err() == nil {
				p.Log.Error("files not removed, trying again", "gateway", name.String(), "fleet", fleet, "error", err)
			}
			return err
		}
		p.Log.Info("files removed", "gateway", name.String(), "fleet", fleet)
		p.mu.Lock()
		delete(p.staleFleets[name], fleet)
		if p.known[name].Fleet.Name != fleet {
			p.unindexService(name, fleet)
		}
		p.mu.Unlock()
	}
	return nil
}

// findStale finds what an earlier leader left. It retries until it succeeds.
func (p *Plane) findStale(ctx context.Context) {
	leaderqueue.RetryUntilSuccess(ctx, func() error {
		found, err := p.list(ctx)
		if err == nil {
			p.markFound(found)
		}
		return err
	}, func(err error) {
		p.Log.Error("files that are no longer wanted cannot be found, trying again", "error", err)
	})
}

// markFound notes which fleets have files and should not.
func (p *Plane) markFound(found map[ir.Name]map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for gateway, fleets := range found {
		for fleet := range fleets {
			if p.wanted[gateway].Fleet.Name != fleet {
				p.markStale(gateway, fleet)
				p.queue.Add(gateway)
			}
		}
	}
}

// Directory is where proxies find the files.
const Directory = layout.Directory
