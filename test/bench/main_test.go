//go:build bench

package bench

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/test/bench/figures"
	"github.com/gatewright/gatewright/test/live"
)

// What is measured, and how much of it.
var (
	class      = flag.String("class", live.GatewayClass, "GatewayClass of the implementation")
	sizes      = flag.String("routes", "100,1000,5000,10000", "numbers of routes, in order")
	gateways   = flag.Int("gateways", 1, "Gateways, in a namespace each, that the routes are spread over")
	samples    = flag.Int("samples", 100, "how often a time is taken")
	edits      = flag.Int("edits", 300, "edits of a live route under load, with -edits-at routes; a sixth elsewhere")
	editsAt    = flag.Int("edits-at", 5000, "the number of routes with which all edits are made")
	rounds     = flag.Int("rounds", 15, "how often the data plane is compared")
	out        = flag.String("out", "bench.json", "file for the figures, which is written after each step")
	resume     = flag.Bool("resume", false, "leave out what the file has")
	apart      = flag.Bool("apart", false, "compare the data plane anew, and keep what else the file has")
	version    = flag.String("version", "", "version of the implementation, for the file")
	proxyLabel = flag.String(
		"proxy-label", "gateway.networking.k8s.io/gateway-name", "label by which the pods of a Gateway's proxies are found",
	)
	proxiesIn = flag.String("proxies-in", "", "namespace of the proxies, if it is not that of their Gateway")
	control   = flag.String("controllers",
		live.ControllerNamespace+"/app.kubernetes.io/name=gatewright,app.kubernetes.io/component=controller",
		"namespace and labels of the controllers")
)

func TestMain(m *testing.M) {
	flag.Parse()
	leaveNothing()
	os.Exit(live.Run(m))
}

// opened are the figures of this run, of whichever test.
var opened *figures.Run

// open begins the figures of this run, or goes on with those there are.
func open(t *testing.T) *figures.Run {
	t.Helper()
	if opened != nil {
		return opened
	}
	run, err := figures.Load(*out)
	if err != nil {
		t.Fatal(err)
	}
	if run != nil && *apart {
		opened = run
		return run
	}
	if run == nil || !*resume {
		run = &figures.Run{}
	}
	run.Class, run.Version = *class, *version
	if run.Command == "" {
		run.Command = fmt.Sprintf("make bench CLASS=%s ROUTES=%s", *class, *sizes)
	}
	run.Machine = machine()
	if run.Load == "" {
		run.Load = loadAverage()
	}
	opened = run
	return run
}

func save(t *testing.T, run *figures.Run) {
	t.Helper()
	if err := run.Save(*out); err != nil {
		t.Fatal(err)
	}
}

func parseSizes(t *testing.T) []int {
	t.Helper()
	var all []int
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || (len(all) > 0 && n <= all[len(all)-1]) {
			t.Fatalf("-routes=%s: want numbers that grow, found %q", *sizes, text)
		}
		all = append(all, n)
	}
	return all
}

// show prints what is known so far.
func show(run *figures.Run, gateways int) {
	for _, table := range run.Tables(gateways) {
		fmt.Printf("\n%s\n\n%s", table.Title, table.Markdown())
	}
	for _, point := range run.Points {
		fmt.Printf("\nThe slowest probes among %d routes, idle and loaded:\n", point.Routes)
		for _, slow := range append(slices.Clone(point.Idle.Slowest), point.Loaded.Slowest...) {
			fmt.Println("  " + slow.String())
		}
	}
}
