package apply

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/leaderqueue"
	"github.com/gatewright/gatewright/internal/pki"
)

// ScaleOwner is the name under which Gatewright owns the number of proxies. It owns a number, or no field at all.
const ScaleOwner = render.FieldOwner + "-scale"

// workers is how many fleets are applied at once.
const workers = 4

// Config is what an [Applier] works with. All fields but Report are needed.
type Config struct {
	Client client.Client
	// Reader must not be a cache: it reads objects that may belong to others, before ours replace them.
	Reader    client.Reader
	Settings  render.Settings
	Authority pki.Source
	Log       *slog.Logger
	// Report gets the error for which a Gateway's fleet cannot be applied, and nil once it is applied; once for each change.
	Report func(gateway ir.Name, problem error)
}

// Applier applies fleets. Its methods may be called at any time and on every replica; the work is done while Start runs.
type Applier struct {
	Config
	queue *leaderqueue.Queue[ir.Name]

	mu     sync.Mutex
	wanted map[ir.Name]ir.Gateway
	// released are Gateways that exist and need no fleet. The fleet that is named is left as it is.
	released map[ir.Name]ir.Fleet
	// fleets is what is known of each fleet in the cluster. One worker at a time uses a fleet.
	fleets    map[ir.Name]*fleet
	inventory inventory
	// synced is true once every existing Gateway was set, held or released.
	synced bool
}

// New returns an applier without any fleets.
func New(config Config) *Applier {
	if config.Report == nil {
		config.Report = func(ir.Name, error) {}
	}
	return &Applier{
		Config:    config,
		queue:     leaderqueue.New[ir.Name]("fleets", workers, config.Log),
		wanted:    map[ir.Name]ir.Gateway{},
		released:  map[ir.Name]ir.Fleet{},
		inventory: inventory{},
	}
}

// Set sets the desired fleet of a Gateway. It returns at once; a fleet that does not change costs nothing. A fleet that the Gateway had
// under another name is deleted when this one serves.
func (a *Applier) Set(gateway ir.Gateway) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.released, gateway.Name)
	a.wanted[gateway.Name] = gateway
	a.queue.Add(gateway.Name)
}

// Freeze is for a Gateway that needs a fleet whose parameters are not known. A fleet stays as it was last wanted,
// or found; there is no new one.
func (a *Applier) Freeze(gateway ir.Gateway) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last, ok := a.wanted[gateway.Name]; ok && identityOf(last) == identityOf(gateway) {
		return
	}
	delete(a.wanted, gateway.Name)
	a.released[gateway.Name] = gateway.Fleet
	a.queue.Add(gateway.Name)
}

// Release is for a Gateway that exists and needs no fleet. The fleet of that name stays as it is, with its address, because the Gateway
// may need it again. Its other fleets are deleted; an empty name leaves none.
func (a *Applier) Release(gateway ir.Name, fleet ir.Fleet) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.wanted, gateway)
	a.released[gateway] = fleet
	a.queue.Add(gateway)
}

// Delete forgets a Gateway that is gone. Its objects leave with it where it owns them; others are removed.
func (a *Applier) Delete(gateway ir.Name) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.wanted, gateway)
	delete(a.released, gateway)
	for fleet := range a.inventory[gateway] {
		if fleet.namespace == gateway.Namespace {
			delete(a.inventory[gateway], fleet)
		}
	}
	if len(a.inventory[gateway]) == 0 {
		delete(a.inventory, gateway)
	}
	a.queue.Add(gateway)
}

// Synced is called once every existing Gateway was set, held or released. From then on, fleets of other Gateways are deleted unless
// a Gateway owns them.
func (a *Applier) Synced() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.synced = true
	for gateway := range a.inventory {
		a.queue.Add(gateway)
	}
}

// Refresh queues every fleet again; it is for a change of the certificate authority.
func (a *Applier) Refresh() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name := range a.wanted {
		a.queue.Add(name)
	}
}

// Start works until the context ends. It can be started again. It then forgets what it knew, because another leader may have changed it.
func (a *Applier) Start(ctx context.Context) error {
	var listing sync.WaitGroup
	a.queue.Run(ctx, func() {
		a.reset()
		listing.Go(func() { a.listExisting(ctx) })
	}, a.reconcile)
	listing.Wait()
	return nil
}

func (a *Applier) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fleets, a.inventory = map[ir.Name]*fleet{}, inventory{}
	for name := range a.wanted {
		a.queue.Add(name)
	}
}

// reconcile applies one fleet, or deletes what is left of the fleets of a Gateway that should have none.
func (a *Applier) reconcile(ctx context.Context, name ir.Name) error {
	gateway, fleet := a.acquire(name)
	if fleet == nil {
		err := a.deleteStale(ctx, name)
		if err != nil && ctx.Err() == nil {
			a.Log.Error("fleet not removed, trying again", "gateway", name.String(), "error", err)
		}
		return err
	}
	defer a.finish(name, fleet)
	done, err := a.applyFleet(ctx, gateway, fleet)
	switch {
	case err == nil && done:
		err = a.prune(ctx, gateway, fleet)
	case err == nil:
		a.queue.AddAfter(name, successorPause)
	}
	if err == nil && done {
		err = a.deleteStale(ctx, name)
	}
	if ctx.Err() == nil {
		a.reportOnce(name, fleet, cmp.Or(err, a.contention(name, fleet)))
	}
	return err
}

// acquire returns the desired and the known state of a fleet. The latter is nil if no fleet is wanted.
func (a *Applier) acquire(name ir.Name) (ir.Gateway, *fleet) {
	a.mu.Lock()
	defer a.mu.Unlock()
	gateway, ok := a.wanted[name]
	if !ok {
		delete(a.fleets, name)
		return ir.Gateway{}, nil
	}
	a.inventory.add(name, identityOf(gateway), "")
	known := a.fleets[name]
	if known == nil || known.identity != identityOf(gateway) {
		known = newFleet(gateway)
	}
	for _, key := range known.drift.acquire(time.Now()) {
		again := known.applied[key]
		again.sum = digest{}
		known.applied[key] = again
	}
	known.busy = true
	a.fleets[name] = known
	return gateway, known
}

// finish ends what acquire began. It compares what was seen meanwhile with what was applied.
func (a *Applier) finish(name ir.Name, fleet *fleet) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fleet.busy = false
	if a.fleets[name] == fleet {
		a.compare(name, fleet)
	}
}

// contention returns an error while another client changes a fleet again and again. The fleet is queued for when that may be over.
func (a *Applier) contention(name ir.Name, fleet *fleet) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	problem := fleet.drift.problem(time.Now())
	if problem != nil {
		a.queue.AddAfter(name, healReset+time.Second)
	}
	return problem
}

// reportOnce logs and reports a problem, or its end, once for each change.
func (a *Applier) reportOnce(name ir.Name, fleet *fleet, err error) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	if fleet.reported && fleet.problem == problem {
		return
	}
	fleet.reported, fleet.problem = true, problem
	if err != nil {
		a.Log.Error("fleet not applied, trying again", "gateway", name.String(), "error", err)
	} else {
		a.Log.Info("fleet applied", "gateway", name.String())
	}
	a.Report(name, err)
}
