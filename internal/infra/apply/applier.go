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
	"github.com/gatewright/gatewright/internal/pki"
	"github.com/gatewright/gatewright/internal/tasks"
)

// ScaleOwner is the name under which Gatewright owns the number of proxies. It says a number, or nothing at all.
const ScaleOwner = render.FieldOwner + "-scale"

// workers is how many fleets are brought to the cluster at once.
const workers = 4

// Config is what an [Applier] works with. All fields but Report are needed.
type Config struct {
	Client client.Client
	// Reader must not be a cache: it is asked for objects that are nobody's business but their owner's, before ours replace them.
	Reader    client.Reader
	Settings  render.Settings
	Authority pki.Source
	Log       *slog.Logger
	// Report is told why a Gateway's fleet can not be brought to the cluster, and nil once it has been; once for each change.
	Report func(gateway ir.Name, problem error)
}

// Applier brings fleets to the cluster. What is wanted may be said at any time and on every replica; it is done while Start runs.
type Applier struct {
	Config
	tasks *tasks.Tasks[ir.Name]

	mu     sync.Mutex
	wanted map[ir.Name]ir.Gateway
	// released is Gateways that exist and should have no fleet but the one named, which is left as it is.
	released map[ir.Name]ir.Fleet
	// fleets is what is known of each fleet in the cluster. One worker at a time has a fleet.
	fleets map[ir.Name]*fleet
	stock  stock
	// synced says that of every Gateway there is something has been said.
	synced bool
}

// New makes an applier to which nothing has been said yet.
func New(config Config) *Applier {
	if config.Report == nil {
		config.Report = func(ir.Name, error) {}
	}
	return &Applier{
		Config:   config,
		tasks:    tasks.New[ir.Name]("fleets", workers, config.Log),
		wanted:   map[ir.Name]ir.Gateway{},
		released: map[ir.Name]ir.Fleet{},
		stock:    stock{},
	}
}

// Set says how a Gateway's fleet should be. It returns at once; a fleet that is already so costs nothing. A fleet that the Gateway had
// under another name goes when this one serves.
func (a *Applier) Set(gateway ir.Gateway) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.released, gateway.Name)
	a.wanted[gateway.Name] = gateway
	a.tasks.Add(gateway.Name)
}

// Hold says that a Gateway has something for a fleet to do, and that nobody knows how it is to be run. A fleet stays as it was last wanted,
// or found; there is no new one.
func (a *Applier) Hold(gateway ir.Gateway) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last, ok := a.wanted[gateway.Name]; ok && identityOf(last) == identityOf(gateway) {
		return
	}
	delete(a.wanted, gateway.Name)
	a.released[gateway.Name] = gateway.Fleet
	a.tasks.Add(gateway.Name)
}

// Release says that a Gateway exists and has nothing for a fleet to do. The fleet of that name stays as it is, with its address, for the
// Gateway may come to its senses; any other that the Gateway has goes, and an empty name leaves none.
func (a *Applier) Release(gateway ir.Name, fleet ir.Fleet) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.wanted, gateway)
	a.released[gateway] = fleet
	a.tasks.Add(gateway)
}

// Delete forgets a Gateway that is gone. Its objects leave with it where it owns them; others are removed.
func (a *Applier) Delete(gateway ir.Name) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.wanted, gateway)
	delete(a.released, gateway)
	for fleet := range a.stock[gateway] {
		if fleet.namespace == gateway.Namespace {
			delete(a.stock[gateway], fleet)
		}
	}
	if len(a.stock[gateway]) == 0 {
		delete(a.stock, gateway)
	}
	a.tasks.Add(gateway)
}

// Synced says that something has been said of every Gateway there is. Fleets of others that no Gateway can own are removed from then on.
func (a *Applier) Synced() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.synced = true
	for gateway := range a.stock {
		a.tasks.Add(gateway)
	}
}

// Refresh looks at every fleet again; it is for a change of the certificate authority.
func (a *Applier) Refresh() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name := range a.wanted {
		a.tasks.Add(name)
	}
}

// Start works until the context ends. It can be started again, and then trusts nothing that it knew: another leader may have been at work.
func (a *Applier) Start(ctx context.Context) error {
	var stocktaking sync.WaitGroup
	a.tasks.Run(ctx, func() {
		a.begin()
		stocktaking.Go(func() { a.takeStock(ctx) })
	}, a.serve)
	stocktaking.Wait()
	return nil
}

func (a *Applier) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fleets, a.stock = map[ir.Name]*fleet{}, stock{}
	for name := range a.wanted {
		a.tasks.Add(name)
	}
}

// serve brings one fleet to the cluster, or looks after a Gateway that should have none.
func (a *Applier) serve(ctx context.Context, name ir.Name) error {
	gateway, fleet := a.take(name)
	if fleet == nil {
		err := a.retire(ctx, name)
		if err != nil && ctx.Err() == nil {
			a.Log.Error("fleet not removed, trying again", "gateway", name.String(), "error", err)
		}
		return err
	}
	defer a.leave(name, fleet)
	done, err := a.bring(ctx, gateway, fleet)
	switch {
	case err == nil && done:
		err = a.prune(ctx, gateway, fleet)
	case err == nil:
		a.tasks.AddAfter(name, successorPause)
	}
	if err == nil && done {
		err = a.retire(ctx, name)
	}
	if ctx.Err() == nil {
		a.tell(name, fleet, cmp.Or(err, a.contest(name, fleet)))
	}
	return err
}

// take gives what is wanted and what is known of a fleet, which is nil if none is wanted.
func (a *Applier) take(name ir.Name) (ir.Gateway, *fleet) {
	a.mu.Lock()
	defer a.mu.Unlock()
	gateway, ok := a.wanted[name]
	if !ok {
		delete(a.fleets, name)
		return ir.Gateway{}, nil
	}
	a.stock.add(name, identityOf(gateway), "")
	known := a.fleets[name]
	if known == nil || known.identity != identityOf(gateway) {
		known = newFleet(gateway)
	}
	for _, key := range known.drift.take(time.Now()) {
		again := known.applied[key]
		again.sum = digest{}
		known.applied[key] = again
	}
	known.busy = true
	a.fleets[name] = known
	return gateway, known
}

// leave ends what take began. What was seen meanwhile is compared with what was applied.
func (a *Applier) leave(name ir.Name, fleet *fleet) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fleet.busy = false
	if a.fleets[name] == fleet {
		a.compare(name, fleet)
	}
}

// contest is not nil while somebody else changes a fleet again and again. It is looked at again when that may be over.
func (a *Applier) contest(name ir.Name, fleet *fleet) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	problem := fleet.drift.problem(time.Now())
	if problem != nil {
		a.tasks.AddAfter(name, healQuiet+time.Second)
	}
	return problem
}

// tell logs and reports a problem, or its end, once for each change.
func (a *Applier) tell(name ir.Name, fleet *fleet, err error) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	if fleet.told && fleet.problem == problem {
		return
	}
	fleet.told, fleet.problem = true, problem
	if err != nil {
		a.Log.Error("fleet not applied, trying again", "gateway", name.String(), "error", err)
	} else {
		a.Log.Info("fleet applied", "gateway", name.String())
	}
	a.Report(name, err)
}
