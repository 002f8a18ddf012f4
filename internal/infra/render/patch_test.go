package render

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

// inPod is a patch of what pods are like.
func inPod(spec string) ir.RawJSON {
	return ir.RawJSON(`{"spec":{"template":{"spec":` + spec + `}}}`)
}

// inEnvoy is a patch of the proxy's container.
func inEnvoy(fields string) ir.RawJSON {
	return inPod(`{"containers":[{"name":"envoy",` + fields + `}]}`)
}

const harmless = `"securityContext":{"allowPrivilegeEscalation":false,"runAsNonRoot":true,"capabilities":{"drop":["ALL"]}}`

func TestPatches(t *testing.T) {
	t.Parallel()
	for _, test := range patchTests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gateway := exampleGateway()
			gateway.Fleet.Proxies.Patches.Workload = test.patch
			if test.service {
				gateway.Fleet.Proxies.Patches = ir.Patches{Service: test.patch}
			}
			got := PatchError(gateway)
			if (got == "") != (test.problem == "") || !strings.Contains(got, test.problem) {
				t.Errorf("got %q, want %q", got, test.problem)
			}
			if len(got) > 600 || strings.Contains(got, "%!") || strings.Contains(got, "panic") || strings.Contains(got, "map[") {
				t.Errorf("it is not for people: %s", got)
			}
			if _, err := Fleet(gateway, exampleSettings(), exampleBundle); (err == nil) != (test.problem == "") {
				t.Errorf("rendering it: %v", err)
			}
		})
	}
}

var patchTests = []struct {
	name    string
	patch   ir.RawJSON
	service bool
	// problem is a part of what is said, empty if the patch is good.
	problem string
}{
	{"an annotation and a label", `{"metadata":{"annotations":{"a":"b"},"labels":{"c":"d"}}}`, false, ""},
	{
		"a list that is ordered", inEnvoy(`"$setElementOrder/env":[{"name":"A"}],"env":[{"name":"A","value":"b"}]`), false,
		"$setElementOrder is not supported",
	},
	{
		"the same in escapes", inEnvoy(`"\u0024setElementOrder/env":[{"name":"A"}],"env":[{"name":"A","value":"b"}]`), false,
		"$setElementOrder is not supported",
	},
	{"too long a patch", ir.RawJSON(`{"metadata":{"annotations":{"a":"` + strings.Repeat("b", maxPatch) + `"}}}`), false, "make it shorter"},
	{"too long a list", inEnvoy(`"args":[` + strings.Repeat(`"a",`, maxPatchList) + `"a"]`), false, "a list of 257 entries"},
	{"labels that are no map", `{"metadata":{"labels":"x"}}`, false, "labels"},
	{"annotations that are a list", `{"metadata":{"annotations":["x"]}}`, false, "annotations"},
	{"a strategy", `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":"25%"}}}}`, false, ""},
	{"an environment variable", inEnvoy(`"env":[{"name":"A","value":"b"}]`), false, ""},
	{"an amount without end", inEnvoy(`"resources":{"limits":{"memory":"1e-1000000000"}}`), false, "is too long"},
	{"a size without end", inPod(`{"volumes":[{"name":"more","emptyDir":{"sizeLimit":"1e-1000000000"}}]}`), false, "is too long"},
	{"an overhead without end", inPod(`{"overhead":{"cpu":"1e-1000000000"}}`), false, "is too long"},
	{"an amount without end in capitals", inEnvoy(`"RESOURCES":{"LIMITS":{"memory":"1e-1000000000"}}`), false, "is too long"},
	{"a number without end", inPod(`{"overhead":{"cpu":1e-1000000000}}`), false, "is too long"},
	{"more digits than anything has", inPod(`{"overhead":{"cpu":"` + strings.Repeat("7", 1000) + `"}}`), false, "is too long"},
	{
		"text that begins like a number",
		`{"metadata":{"annotations":{"a":"2026-11-16","b":"1e4f","c":"` + ir.RawJSON(strings.Repeat("-", 100)) + `"}}}`, false, "",
	},
	{"a sidecar that is restricted", inPod(`{"containers":[{"name":"more","image":"x",` + harmless + `}]}`), false, ""},
	{"a volume of a ConfigMap", inPod(`{"volumes":[{"name":"more","configMap":{"name":"x"}}]}`), false, ""},
	{"a sidecar that may gain privileges", inPod(`{"containers":[{"name":"more","image":"x"}]}`), false, "allowPrivilegeEscalation"},
	{"a privileged proxy", inEnvoy(`"securityContext":{"privileged":true}`), false, "privileged"},
	{"an added capability", inEnvoy(`"securityContext":{"capabilities":{"add":["NET_ADMIN"]}}`), false, "unrestricted capabilities"},
	{"capabilities that are kept", inEnvoy(`"securityContext":{"capabilities":{"$patch":"replace"}}`), false, "unrestricted capabilities"},
	{"no security context at all", inEnvoy(`"securityContext":{"$patch":"replace"}`), false, "allowPrivilegeEscalation"},
	{"root", inPod(`{"securityContext":{"runAsUser":0}}`), false, "runAsUser=0"},
	{"perhaps root", inPod(`{"securityContext":{"runAsNonRoot":false}}`), false, "runAsNonRoot"},
	{"no seccomp profile", inPod(`{"securityContext":{"seccompProfile":{"type":"Unconfined"}}}`), false, "seccompProfile"},
	{"the host's network", inPod(`{"hostNetwork":true}`), false, "host namespaces"},
	{"the host's processes", inPod(`{"hostPID":true}`), false, "host namespaces"},
	{"the host's files", inPod(`{"volumes":[{"name":"host","hostPath":{"path":"/"}}]}`), false, "hostPath"},
	{"a port of the host", inEnvoy(`"ports":[{"containerPort":80,"hostPort":80}]`), false, "hostPort"},
	{"an unsafe sysctl", inPod(`{"securityContext":{"sysctls":[{"name":"kernel.msgmax","value":"1"}]}}`), false, "forbidden sysctls"},
	{
		"a privileged init container", inPod(`{"initContainers":[{"name":"i","image":"x","securityContext":{"privileged":true}}]}`), false,
		"privileged",
	},
	{"another ServiceAccount", inPod(`{"serviceAccountName":"admin"}`), false, "ServiceAccount"},
	{"another ServiceAccount by its old name", inPod(`{"serviceAccount":"admin"}`), false, "ServiceAccount"},
	{"a token for the API server", inPod(`{"automountServiceAccountToken":true}`), false, "automountServiceAccountToken"},
	{"a token for the API server by default", inPod(`{"automountServiceAccountToken":null}`), false, "automountServiceAccountToken"},
	{"one view of all processes", inPod(`{"shareProcessNamespace":true}`), false, "shareProcessNamespace"},
	{"a proxy that can write to its image", inEnvoy(`"securityContext":{"readOnlyRootFilesystem":false}`), false, "write to its image"},
	{
		"no proxy", inPod(`{"containers":[{"name":"envoy","$patch":"delete"},{"name":"x","image":"x",` + harmless + `}]}`), false,
		"envoy to be gone",
	},
	{
		"another system, whose containers need no security context",
		inPod(`{"os":{"name":"windows"},"containers":[{"name":"envoy","securityContext":null}]}`), false, "os",
	},
	{
		"another system, and the container replaced",
		inPod(`{"os":{"name":"windows"},"containers":[{"name":"envoy","image":"x"},{"$patch":"replace"}]}`), false, "os",
	},
	{"no security context", inEnvoy(`"securityContext":null`), false, "allowPrivilegeEscalation"},
	{"its own system", inPod(`{"os":{"name":"linux"}}`), false, ""},
	{"a container that is nothing", inPod(`{"containers":[null]}`), false, "has another type than the object's field; compare it"},
	{"a container without a name", inPod(`{"containers":[{"image":"x"}]}`), false, "patches.deployment cannot be applied: "},
	{
		"a container whose name is a list", inPod(`{"containers":[{"name":["envoy"],"image":"x"}]}`), false,
		"patches.deployment cannot be applied: ",
	},
	{"finalizers that are objects", `{"metadata":{"finalizers":[{"a":"b"}]}}`, false, "patches.deployment cannot be applied: "},
	{"another name", `{"metadata":{"name":"other"}}`, false, "metadata but labels"},
	{"another namespace", `{"metadata":{"namespace":"kube-system"}}`, false, "metadata but labels"},
	{
		"another owner", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"1"}]}}`, false,
		"metadata but labels",
	},
	{"another kind", `{"kind":"DaemonSet"}`, false, "kind"},
	{"a finalizer", `{"metadata":{"finalizers":["a/b"]}}`, false, "metadata but labels"},
	{"a label of ours", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"me"}}}`, false, "managed-by"},
	{"a label of ours on pods", `{"spec":{"template":{"metadata":{"labels":{"app.kubernetes.io/instance":"other"}}}}}`, false, "instance"},
	{"another selector", `{"spec":{"selector":{"matchLabels":{"a":"b"}}}}`, false, "spec.selector"},
	{"a number of proxies", `{"spec":{"replicas":5}}`, false, "spec.replicas"},
	{"a field that does not exist", `{"spec":{"nonsense":1}}`, false, "nonsense"},
	{"a value that does not fit", `{"spec":"x"}`, false, "patches.deployment"},
	{"a setting of the Service", `{"spec":{"sessionAffinity":"ClientIP"}}`, true, ""},
	{"traffic of others", `{"spec":{"externalIPs":["192.0.2.1"]}}`, true, "externalIPs"},
	{"other pods behind the Service", `{"spec":{"selector":{"app":"other"}}}`, true, "spec.selector"},
	{"another name for the Service", `{"metadata":{"name":"kubernetes"}}`, true, "metadata but labels"},
	{"another type of Service", `{"spec":{"type":"ExternalName","externalName":"x"}}`, true, "spec.type"},
}

// FuzzPatches looks for a patch that makes us panic, or that lets pods out of what checkWorkload promises.
func FuzzPatches(f *testing.F) {
	for _, test := range patchTests {
		f.Add(string(test.patch), test.service)
	}
	f.Fuzz(func(t *testing.T, patch string, ofService bool) {
		gateway := exampleGateway()
		gateway.Fleet.Proxies.Patches.Workload = ir.RawJSON(patch)
		if ofService {
			gateway.Fleet.Proxies.Patches = ir.Patches{Service: ir.RawJSON(patch)}
		}
		if PatchError(gateway) != "" {
			return
		}
		before, after := render(t, exampleGateway(), exampleSettings(), exampleBundle), render(t, gateway, exampleSettings(), exampleBundle)
		if got := after.service.Spec; len(got.ExternalIPs) > 0 || got.ExternalName != "" || !maps.Equal(
			got.Selector, before.service.Spec.Selector,
		) {
			t.Errorf("the Service takes traffic of others: %+v", got)
		}
		checkPlace(t, before.deployment.Spec.Template, after.deployment.Spec.Template)
		for _, c := range slices.Concat(after.deployment.Spec.Template.Spec.InitContainers, after.deployment.Spec.Template.Spec.Containers) {
			checkPrivileges(t, c)
		}
	})
}

// checkPlace says in other words than the code that a pod is where it was, and who it was.
func checkPlace(t *testing.T, before, after corev1.PodTemplateSpec) {
	t.Helper()
	pod := after.Spec
	if pod.HostNetwork || pod.HostPID || pod.HostIPC || pod.NodeName != "" || pod.ServiceAccountName != before.Spec.ServiceAccountName ||
		pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Errorf("the pod leaves its place: %+v", pod)
	}
	if slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil }) {
		t.Errorf("the pod has files of the node: %+v", pod.Volumes)
	}
	for _, label := range identity {
		if before.Labels[label] != after.Labels[label] {
			t.Errorf("label %s is %q, was %q", label, after.Labels[label], before.Labels[label])
		}
	}
}

// checkPrivileges says in other words than the code that a container has none.
func checkPrivileges(t *testing.T, c corev1.Container) {
	t.Helper()
	s := c.SecurityContext
	if s == nil || s.AllowPrivilegeEscalation == nil || s.Capabilities == nil {
		t.Fatalf("container %s may have privileges: %+v", c.Name, s)
	}
	if *s.AllowPrivilegeEscalation || s.Privileged != nil && *s.Privileged || !slices.Contains(
		s.Capabilities.Drop, "ALL",
	) || s.RunAsUser != nil && *s.RunAsUser == 0 {
		t.Errorf("container %s has privileges: %+v", c.Name, s)
	}
}

func TestAPatchChangesWhatIsRendered(t *testing.T) {
	t.Parallel()
	gateway := exampleGateway()
	gateway.Fleet.Proxies.Patches = ir.Patches{
		Workload: inEnvoy(`"env":[{"name":"A","value":"b"}]`), Service: `{"spec":{"sessionAffinity":"ClientIP"}}`,
	}
	fleet := render(t, gateway, exampleSettings(), exampleBundle)
	env := envoy(fleet).Env
	if len(env) != 2 || env[0].Name+env[1].Name != "APOD_NAME" || fleet.service.Spec.SessionAffinity != "ClientIP" {
		t.Errorf("got %s", fleet.raw)
	}
	gateway.Fleet.Proxies.DaemonSet = true
	if fleet := render(t, gateway, exampleSettings(), exampleBundle); len(fleet.daemonSet.Spec.Template.Spec.Containers[0].Env) != 2 {
		t.Errorf("got %s", fleet.raw)
	}
	if strings.Contains(string(render(t, gateway, exampleSettings(), exampleBundle).raw["DaemonSet"]), "creationTimestamp") {
		t.Error("the patched object owns fields that are not set")
	}
}

// TestNoPatchTakesLong merges the longest lists that fit into a patch. The time to merge a list grows with more than the square of its
// length, so that longer ones would take hundreds of times as long as a list with one entry.
func TestNoPatchTakesLong(t *testing.T) {
	t.Parallel()
	type entry func(int) string
	list := func(length int, e entry) string {
		var entries []string
		for i := range length {
			entries = append(entries, e(i))
		}
		return "[" + strings.Join(entries, ",") + "]"
	}
	short := func(i int) string { return strconv.Quote(strconv.FormatInt(int64(i), 36)) }
	variable := func(i int) string { return `{"name":` + short(i) + `}` }
	removed := func(i int) string { return `{"$patch":"delete","name":` + short(i) + `}` }
	for name, patch := range map[string]func(length int) ir.RawJSON{
		"lists by name":   func(n int) ir.RawJSON { return inEnvoy(`"env":` + list(n, variable)) },
		"removed by name": func(n int) ir.RawJSON { return inEnvoy(`"env":` + list(n, removed)) },
		"plain lists":     func(n int) ir.RawJSON { return inEnvoy(`"args":` + list(n, short)) },
		"removed from a list": func(n int) ir.RawJSON {
			return inEnvoy(`"args":` + list(n, short) + `,"$deleteFromPrimitiveList/args":` + list(n, short))
		},
		"finalizers removed": func(n int) ir.RawJSON {
			return ir.RawJSON(`{"metadata":{"finalizers":` + list(n, short) + `,"$deleteFromPrimitiveList/finalizers":` + list(n, short) + `}}`)
		},
		"keys that are kept": func(n int) ir.RawJSON { return inEnvoy(`"lifecycle":{"$retainKeys":` + list(n, short) + `}`) },
		"volumes with keys": func(n int) ir.RawJSON {
			return ir.RawJSON(`{"spec":{"template":{"spec":{"volumes":` + list(
				n, func(i int) string { return `{"name":` + short(i) + `,"$retainKeys":["a"]}` },
			) + `}}}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// What other work on the machine adds to the one, it adds to the other, except by chance.
			const factor, rounds = 50, 10
			var longest, short time.Duration
			for range rounds {
				longest, short = mergeTime(patch(maxPatchList)), 0
				for range factor {
					if short += mergeTime(patch(1)); short >= longest {
						return
					}
				}
			}
			t.Errorf("a list of %d entries takes %s, and %d lists of one entry %s", maxPatchList, longest, factor, short)
		})
	}
}

// mergeTime returns how long it takes to merge a patch.
func mergeTime(patch ir.RawJSON) time.Duration {
	gateway := exampleGateway()
	gateway.Fleet.Proxies.Patches.Workload = patch
	began := time.Now()
	_ = PatchError(gateway)
	return time.Since(began)
}

// A volume with databases is mounted where they are copied.
func TestAPatchMountsDatabases(t *testing.T) {
	t.Parallel()
	gateway := exampleGateway()
	gateway.Fleet.Proxies.GeoIP = ir.GeoDatabases{City: "/geo/city.mmdb"}
	gateway.Fleet.Proxies.Patches.Workload = `{"spec":{"template":{"spec":{
		"volumes":[{"name":"geo","configMap":{"name":"geo"}}],
		"initContainers":[{"name":"install-drain","volumeMounts":[{"name":"geo","mountPath":"/geo","readOnly":true}]}]}}}}`
	if problem := PatchError(gateway); problem != "" {
		t.Error(problem)
	}
}
