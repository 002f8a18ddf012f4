package figures

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Run is all that one benchmark of one implementation found out. It is written after each step, so it may have holes.
type Run struct {
	// Class is the GatewayClass of the implementation.
	Class string `json:"class"`
	// Version is that of the implementation, as named on the command line.
	Version string    `json:"version,omitempty"`
	Command string    `json:"command,omitempty"`
	Date    time.Time `json:"date"`
	Machine string    `json:"machine,omitempty"`
	// Load is the machine's load average before anything was done: what else it was busy with.
	Load string `json:"load,omitempty"`
	// Envoy is the image of the proxies, which the limits are measured with too.
	Envoy string `json:"envoy,omitempty"`
	// Controllers is how many replicas of the controller there are. What they take is added up.
	Controllers int       `json:"controllers,omitempty"`
	Points      []*Point  `json:"points"`
	DataPlane   []*Versus `json:"dataPlane,omitempty"`
	// Apart is when the data plane was compared, where that was not with everything else.
	Apart *Apart `json:"dataPlaneApart,omitempty"`
}

// Apart is what differs between a part that was measured by itself and the rest.
type Apart struct {
	Version string    `json:"version,omitempty"`
	Command string    `json:"command,omitempty"`
	Date    time.Time `json:"date"`
	Load    string    `json:"load,omitempty"`
}

// Point is what was measured with a number of routes in place.
type Point struct {
	Routes   int  `json:"routes"`
	Gateways int  `json:"gateways"`
	Complete bool `json:"complete"`

	Fill   Fill   `json:"fill"`
	Memory Memory `json:"memory"`
	// Idle and Loaded are probes: one more route, from its creation to the first answer.
	Idle     Probe           `json:"idle"`
	Loaded   Probe           `json:"loaded"`
	Endpoint Probe           `json:"endpoint"`
	Limits   Limits          `json:"limits"`
	Edit     Edit            `json:"edit"`
	Costs    map[string]Cost `json:"costs,omitempty"`
}

// Fill is how the routes came: Added of them, on top of those of the point before.
type Fill struct {
	From  int `json:"from"`
	Added int `json:"added"`
	// Seconds from the first write: to the end of the last one, to the last route that serves, to attachedRoutes being right, to the last
	// route having a status.
	Written  float64 `json:"written"`
	Serving  float64 `json:"serving"`
	Settled  float64 `json:"settled"`
	Answered float64 `json:"answered"`
	// Writes of status, by kind, as a watch saw them.
	RouteStatusWrites   int            `json:"routeStatusWrites"`
	GatewayStatusWrites int            `json:"gatewayStatusWrites"`
	ControllerCPU       float64        `json:"controllerCPU"`
	Wrong               map[string]int `json:"wrong,omitempty"`
}

// Memory is in bytes, resident.
type Memory struct {
	Controllers int64 `json:"controllers"`
	Proxies     int64 `json:"proxies"`
	// ProxiesEmpty is what the proxies had before there were any routes.
	ProxiesEmpty int64 `json:"proxiesEmpty"`
}

// Probe is a change, made again and again, and how long it took each time until it was seen in an answer.
type Probe struct {
	Times    Times `json:"times"`
	Requests int   `json:"requests"`
	// Slowest are the slowest probes, slowest first.
	Slowest []Slow `json:"slowest,omitempty"`
	// Longest is the longest that one request took since it was set to zero.
	Longest time.Duration `json:"-"`
	// Wrong counts the answers that are neither that of before nor that of after.
	Wrong map[string]int `json:"wrong,omitempty"`
}

// Limits are the lower bounds on this machine: the API server's own way to a watcher, and Envoy's from a pushed resource
// to an answer.
type Limits struct {
	WatchRoute     Times `json:"watchRoute"`
	EngineRoute    Times `json:"engineRoute"`
	WatchEndpoint  Times `json:"watchEndpoint"`
	EngineEndpoint Times `json:"engineEndpoint"`
}

// Edit is a live route that was changed again and again under load.
type Edit struct {
	Edits    int            `json:"edits"`
	Requests int            `json:"requests"`
	Failures map[string]int `json:"failures,omitempty"`
}

// Cost is what one kind of change costs, for each change on average.
type Cost struct {
	Changes int `json:"changes"`
	// CPU is in seconds, of all controllers together.
	CPU float64 `json:"cpu"`
	// Pipeline is how many seconds passed in one replica from taking changes to having handed out what follows from them.
	Pipeline float64 `json:"pipeline"`
	// Computed is how many values each stage of a controller computed, of one replica.
	Computed map[string]float64 `json:"computed,omitempty"`
	// Sent is how many resources of each type were sent to proxies; Bytes is what they weighed.
	Sent         map[string]float64 `json:"sent,omitempty"`
	Bytes        float64            `json:"bytes"`
	StatusWrites map[string]float64 `json:"statusWrites,omitempty"`
}

// Versus is one protocol's way through the implementation's proxy against the same Envoy with a configuration written by hand,
// a pair for each round.
type Versus struct {
	Protocol string  `json:"protocol"`
	Ours     []Speed `json:"ours"`
	Bare     []Speed `json:"bare"`
}

// Speed is what one run of a load generator found.
type Speed struct {
	RequestsPerSecond float64 `json:"requestsPerSecond"`
	P50               float64 `json:"p50"`
	P99               float64 `json:"p99"`
	// CPU is what the proxy took for each request, in microseconds.
	CPU    float64 `json:"cpu"`
	Failed int     `json:"failed"`
}

// Load reads a run; there is none if there is no such file.
func Load(path string) (*Run, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // nothing was run yet, which is not a mistake
	}
	if err != nil {
		return nil, fmt.Errorf("read the figures: %w", err)
	}
	r := &Run{}
	if err := json.Unmarshal(content, r); err != nil {
		return nil, fmt.Errorf("read the figures in %s: %w", path, err)
	}
	return r, nil
}

// Save writes the run, whole or not at all.
func (r *Run) Save(path string) error {
	content, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("encode the figures: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	temporary := path + ".writing"
	if err := errors.Join(os.WriteFile(temporary, append(content, '\n'), 0o644), os.Rename(temporary, path)); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	return nil
}

// Point finds what was measured with so many routes and Gateways, or adds an empty one.
func (r *Run) Point(routes, gateways int) *Point {
	for _, p := range r.Points {
		if p.Routes == routes && p.Gateways == gateways {
			return p
		}
	}
	p := &Point{Routes: routes, Gateways: gateways}
	r.Points = append(r.Points, p)
	return p
}

// at finds a point, if it was measured.
func (r *Run) at(routes, gateways int) *Point {
	for _, p := range r.Points {
		if p.Routes == routes && p.Gateways == gateways && len(p.Idle.Times) > 0 {
			return p
		}
	}
	return nil
}
