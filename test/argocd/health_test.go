package argocd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/status"
)

// The release of Argo CD whose scripts are run, and the checksum of its module.
const (
	release  = "github.com/argoproj/argo-cd/v3@v3.5.6"
	checksum = "h1:twzdsPiPufKLRtEqD1Jg3FqtuZmSHLTIxs7t6fSkjlk="
)

const (
	controller = "gatewright.dev/gateway-controller"
	generation = 7
)

// scripts is the folder of the scripts for the kinds of the Gateway API.
var scripts = sync.OnceValues(func() (string, error) {
	text, err := download(release)
	if err != nil {
		return "", err
	}
	var module struct{ Dir, Sum string }
	if err := json.Unmarshal(text, &module); err != nil {
		return "", fmt.Errorf("read where %s is: %w", release, err)
	}
	if module.Sum != checksum {
		return "", fmt.Errorf("%s has checksum %s, want %s", release, module.Sum, checksum)
	}
	return filepath.Join(module.Dir, "resource_customizations", gwv1.GroupName), nil
})

// download fetches a module, unless Go has it, and returns what Go prints about it. A network that fails once is no failure of the test.
func download(module string) ([]byte, error) {
	var failed error
	for _, wait := range []time.Duration{0, 5 * time.Second, 15 * time.Second} {
		time.Sleep(wait)
		text, err := exec.CommandContext(context.Background(), "go", "mod", "download", "-json", module).Output()
		if err == nil {
			return text, nil
		}
		// With -json, the reason is in the output.
		failed = fmt.Errorf("download %s: %w: %s", module, err, text)
		fmt.Fprintln(os.Stderr, "an attempt failed, of three:", failed)
	}
	return nil, failed
}

// TestHealthOfGoldenStatuses has Argo CD look at everything that the golden cases of the pipeline say of objects: what is refused
// is not healthy, and what is good is.
func TestHealthOfGoldenStatuses(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../internal/pipeline/testdata/*/status.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden statuses: %v", err)
	}
	evaluated := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var objects map[string]json.RawMessage
		if err := yaml.Unmarshal(text, &objects); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for name, raw := range objects {
			kind, _, _ := strings.Cut(name, "/")
			for what, stored := range statuses(t, kind, raw) {
				got, message := health(t, kind, stored.status)
				if (got == "Healthy") != stored.good {
					t.Errorf("%s: %s, %s: %s (%s), while it is good: %t", filepath.Base(filepath.Dir(file)), name, what, got, message, stored.good)
				}
				evaluated[fmt.Sprintf("%s good:%t", kind, stored.good)]++
			}
		}
	}
	for _, kind := range []string{"HTTPRoute", "GRPCRoute"} {
		for _, good := range []bool{true, false} {
			if key := fmt.Sprintf("%s good:%t", kind, good); evaluated[key] == 0 && key != "GRPCRoute good:false" {
				t.Errorf("there is no golden case of %s", key)
			}
		}
	}
	t.Logf("evaluated %v", evaluated)
}

// stored is a status, and whether nothing is wrong with it.
type stored struct {
	status any
	good   bool
}

// statuses are what is written of an object, by what its proxies do. There are none for kinds that Argo CD has no script for.
func statuses(t *testing.T, kind string, raw json.RawMessage) map[string]stored {
	t.Helper()
	read := func(into any) {
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatalf("read a %s: %v", kind, err)
		}
	}
	now := metav1.NewTime(time.Unix(1, 0))
	switch kind {
	case "HTTPRoute", "GRPCRoute":
		var o outcome.Route
		read(&o)
		o.Generation = generation
		all := map[string]stored{}
		for what, state := range map[string]outcome.State{
			"proxies took it": outcome.True, "proxies refuse it": outcome.False, "proxies have not answered": outcome.Unsettled,
		} {
			proved := withProof(o, state)
			good := len(o.Parents) > 0 && goodParents(proved.Parents)
			all[what] = stored{status.Route(gwv1.RouteStatus{}, proved, controller, now), good}
		}
		return all
	case "Gateway":
		var o outcome.Gateway
		read(&o)
		o.Generation = generation
		good := len(o.Conditions) > 0 && goodConditions(o.Conditions)
		for _, l := range o.Listeners {
			good = good && goodConditions(l.Conditions)
		}
		if len(o.Conditions) == 0 {
			return nil
		}
		return map[string]stored{"as it is": {status.Gateway(gwv1.GatewayStatus{}, o, now), good}}
	case "BackendTLSPolicy":
		var o outcome.Policy
		read(&o)
		o.Generation = generation
		good := len(o.Ancestors) > 0 && goodParents(o.Ancestors)
		return map[string]stored{"as it is": {status.Policy(gwv1.PolicyStatus{}, o, controller, now), good}}
	default:
		return nil
	}
}

// withProof adds what proxies say of a route where it is attached.
func withProof(o outcome.Route, state outcome.State) outcome.Route {
	o.Parents = slices.Clone(o.Parents)
	for i := range o.Parents {
		parent := &o.Parents[i]
		programmed := outcome.Condition{Type: outcome.RouteProgrammed, State: state, Reason: outcome.Refused, Message: "as proxies say"}
		if parent.Gateway == "" {
			programmed.State, programmed.Reason = outcome.False, outcome.NotAttached
		}
		parent.Conditions = append(slices.Clone(parent.Conditions), programmed)
	}
	return o
}

func goodParents(parents []outcome.Parent) bool {
	return !slices.ContainsFunc(parents, func(p outcome.Parent) bool { return !goodConditions(p.Conditions) })
}

// goodConditions says whether what should be True is.
func goodConditions(conditions []outcome.Condition) bool {
	return !slices.ContainsFunc(conditions, func(c outcome.Condition) bool {
		wanted := []string{"Accepted", "ResolvedRefs", outcome.Programmed, outcome.RouteProgrammed}
		return slices.Contains(wanted, c.Type) && c.State != outcome.True
	})
}

// health is what Argo CD says of an object with that status.
func health(t *testing.T, kind string, status any) (state, message string) {
	t.Helper()
	dir, err := scripts()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"kind": kind, "metadata": map[string]any{"generation": generation}, "status": status})
	if err != nil {
		t.Fatal(err)
	}
	var object any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	machine := lua.NewState()
	defer machine.Close()
	machine.SetGlobal("obj", value(machine, object))
	if err := machine.DoFile(filepath.Join(dir, kind, "health.lua")); err != nil {
		t.Fatalf("run the script for %s: %v", kind, err)
	}
	result, ok := machine.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script for %s returned %s", kind, machine.Get(-1).Type())
	}
	return result.RawGetString("status").String(), result.RawGetString("message").String()
}

// value turns decoded JSON into what a script works with.
func value(machine *lua.LState, decoded any) lua.LValue {
	switch v := decoded.(type) {
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	case []any:
		table := machine.NewTable()
		for _, item := range v {
			table.Append(value(machine, item))
		}
		return table
	case map[string]any:
		table := machine.NewTable()
		for key, item := range v {
			table.RawSetString(key, value(machine, item))
		}
		return table
	default:
		return lua.LNil
	}
}
