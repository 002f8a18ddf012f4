//go:build fault

package fault

import (
	"fmt"
	"testing"
	"time"

	"github.com/gatewright/gatewright/test/clock"
	"github.com/gatewright/gatewright/test/live"
)

// programmed is the condition on a route's parent that says whether proxies serve it.
const programmed = "gatewright.dev/Programmed"

// waitProgrammed is how a person waits for a route with kubectl.
const waitProgrammed = `jsonpath={.status.parents[?(@.controllerName=="` + live.ControllerName + `")].conditions[?(@.type=="` +
	programmed + `")].status}=True`

// TestWaitForProgrammed creates a route, waits with kubectl until it is programmed, and asks for it at once: the first answer is 200,
// each time.
func TestWaitForProgrammed(t *testing.T) {
	t.Parallel()
	c := begin(t, "WaitForProgrammed", "a route that kubectl waited for is asked for at once")
	w := newFixture(t)
	routes := amount(200, 40)
	served := 0
	var waited time.Duration
	for i := range routes {
		name := fmt.Sprintf("waited-%d", i)
		host := name + ".example.com"
		start := clock.Now()
		w.Route(t, name, gatewayName, host, serviceName)
		command(t, "", "kubectl", "wait", "--namespace="+w.Namespace, "httproute/"+name, "--for="+waitProgrammed, "--timeout=30s")
		waited += clock.Since(start)
		if _, err := w.Request(t.Context(), w.address, host); err != nil {
			t.Errorf("route %d is programmed, and not served: %v", i, err)
			continue
		}
		served++
	}
	c.note("waited for %s on average", rounded(waited/time.Duration(routes)))
	c.exactly(served, "answered 200 at once", routes)
}
