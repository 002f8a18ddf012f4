package figures_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/bench/figures"
)

func TestTimes(t *testing.T) {
	t.Parallel()
	var times figures.Times
	if !math.IsNaN(times.P50()) {
		t.Errorf("the median of nothing is %v", times.P50())
	}
	for i := 100; i > 0; i-- {
		times.Add(time.Duration(i) * time.Millisecond)
	}
	if times.P50() != 50 || times.P99() != 99 {
		t.Errorf("of 1 to 100: p50 %v, p99 %v", times.P50(), times.P99())
	}
}

func TestExcess(t *testing.T) {
	t.Parallel()
	touching := func(values float64) map[string]float64 { return map[string]float64{"route": values} }
	for _, test := range []struct {
		name, kind string
		few, many  figures.Cost
		want       string
	}{
		{name: "the same among few and many is fine", few: figures.Cost{Computed: touching(1), Bytes: 300}, many: figures.Cost{
			Computed: touching(1), Bytes: 310,
		}},
		{name: "a stage that grows is found", few: figures.Cost{Computed: touching(1)}, many: figures.Cost{Computed: touching(2)}, want: "grows"},
		{
			name: "a stage that is always too busy is found", few: figures.Cost{Computed: touching(9)},
			many: figures.Cost{Computed: touching(9)}, want: "want at most",
		},
		{name: "bytes that grow are found", few: figures.Cost{Bytes: 300}, many: figures.Cost{Bytes: 3000}, want: "bytes sent"},
		{name: "resources that grow are found", many: figures.Cost{Sent: map[string]float64{"scope": 2}}, want: "resources sent"},
		{
			name: "an endpoint may cause no translation", kind: "endpoint moved", few: figures.Cost{Computed: touching(1)},
			many: figures.Cost{Computed: touching(1)}, want: "want none",
		},
		{
			name: "an endpoint may cause its load assignment", kind: "endpoint moved",
			few:  figures.Cost{Computed: map[string]float64{"endpoints": 1}, Sent: map[string]float64{"endpoints": 1}},
			many: figures.Cost{Computed: map[string]float64{"endpoints": 1}, Sent: map[string]float64{"endpoints": 1}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(figures.Excess(test.kind, test.few, test.many), "\n")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("want %q, got %q", test.want, got)
			}
		})
	}
}

// run has what the goals need, all of them reached.
func run() *figures.Run {
	point := func(routes, edits int) *figures.Point {
		return &figures.Point{
			Routes: routes, Gateways: 1,
			Idle: figures.Probe{Times: figures.Times{20, 20}, Requests: 10}, Loaded: figures.Probe{Times: figures.Times{22}, Requests: 10},
			Endpoint: figures.Probe{Times: figures.Times{8}, Requests: 10},
			Limits: figures.Limits{
				WatchRoute: figures.Times{9}, EngineRoute: figures.Times{3}, WatchEndpoint: figures.Times{4}, EngineEndpoint: figures.Times{2},
			},
			Edit:  figures.Edit{Edits: edits, Requests: 100},
			Costs: map[string]figures.Cost{"endpoint moved": {Changes: 10, Computed: map[string]float64{"endpoints": 1}}},
		}
	}
	speeds := func(n int, s figures.Speed) []figures.Speed {
		all := make([]figures.Speed, n)
		for i := range all {
			all[i] = s
		}
		return all
	}
	return &figures.Run{
		Points: []*figures.Point{point(1000, 50), point(5000, 300), point(10000, 50)},
		DataPlane: []*figures.Versus{{
			Protocol: "HTTP/1.1",
			Ours:     speeds(5, figures.Speed{RequestsPerSecond: 99, P99: 1}), Bare: speeds(5, figures.Speed{RequestsPerSecond: 100, P99: 1}),
		}},
	}
}

func TestGoals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*figures.Run)
		// unreached are the goals, by a part of their names, that are not reached.
		unreached []string
	}{
		{name: "all are reached", change: func(*figures.Run) {}},
		{
			name:      "a probe that takes long misses the limits, and grows",
			change:    func(r *figures.Run) { r.Points[2].Idle.Times = figures.Times{40} },
			unreached: []string{"2 × (watch + engine)", "that at 1,000"},
		},
		{
			name:      "one wrong answer is one too many",
			change:    func(r *figures.Run) { r.Points[0].Loaded.Wrong = map[string]int{"503": 1} },
			unreached: []string{"wrong answers"},
		},
		{
			name:      "a failed request during edits",
			change:    func(r *figures.Run) { r.Points[1].Edit.Failures = map[string]int{"503": 1} },
			unreached: []string{"edit:"},
		},
		{
			name: "an endpoint that causes a translation",
			change: func(r *figures.Run) {
				r.Points[1].Costs["endpoint moved"].Computed["virtual host"] = 0.1
			},
			unreached: []string{"endpoint: translations"},
		},
		{
			name:      "too few rounds are no measurement",
			change:    func(r *figures.Run) { r.DataPlane[0].Ours = r.DataPlane[0].Ours[:4] },
			unreached: []string{"requests/s", "p99 ≤ 1.05"},
		},
		{
			name:      "what was not measured is not reached",
			change:    func(r *figures.Run) { r.Points = r.Points[:1] },
			unreached: []string{"2 × (watch + engine)", "that at 1,000", "edit:"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := run()
			test.change(r)
			var got []string
			for _, goal := range r.Goals(1) {
				if goal.Result() != "reached" {
					got = append(got, goal.Name)
				}
			}
			if len(got) != len(test.unreached) {
				t.Fatalf("want %q unreached, got %q", test.unreached, got)
			}
			for i := range got {
				if !strings.Contains(got[i], test.unreached[i]) {
					t.Errorf("want %q unreached, got %q", test.unreached[i], got[i])
				}
			}
		})
	}
}

func TestSave(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "run.json")
	if r, err := figures.Load(path); r != nil || err != nil {
		t.Fatalf("what is not there: %v, %v", r, err)
	}
	want := run()
	if err := want.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := figures.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, table := range got.Tables(1) {
		if table.Markdown() != want.Tables(1)[i].Markdown() {
			t.Errorf("%s: got\n%s\nwant\n%s", table.Title, table.Markdown(), want.Tables(1)[i].Markdown())
		}
	}
}
