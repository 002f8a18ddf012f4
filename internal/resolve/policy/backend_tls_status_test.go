package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/policy"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

const services = `
kind: Service
metadata: {namespace: app, name: one}
spec: {ports: [{name: http, port: 80}, {name: https, port: 443}, {name: dns, port: 53, protocol: UDP}]}
---
kind: Service
metadata: {namespace: app, name: two}
spec: {ports: [{port: 80}]}
---
kind: ServiceImport
metadata: {namespace: app, name: one}
spec: {type: ClusterSetIP, ports: [{name: http, port: 80}, {name: https, port: 443}]}
---
`

// inputs resolves every policy of a text.
func inputs(t *testing.T, text string) policy.Inputs {
	t.Helper()
	objects := resolvetest.Objects(t, services+text)
	in := policy.Inputs{Objects: objects, Policies: store.NewTable[policy.ResolvedBackendTLS](store.New(), "policy")}
	for _, key := range objects.BackendTLSPolicies.Keys(nil) {
		in.Policies.Set(key, policy.BackendTLS(nil, objects, key))
	}
	return in
}

// trusting is a policy that trusts the system's authorities.
func trusting(name, created, targets string) string {
	return `
kind: BackendTLSPolicy
metadata: {namespace: app, name: ` + name + `, creationTimestamp: "2026-01-0` + created + `T00:00:00Z"}
spec:
  targetRefs: ` + targets + `
  validation: {hostname: ` + name + `.example.com, wellKnownCACertificates: System}
---
`
}

func TestPortTLS(t *testing.T) {
	t.Parallel()
	const (
		whole   = `[{group: "", kind: Service, name: one}]`
		https   = `[{group: "", kind: Service, name: one, sectionName: https}]`
		nothing = ""
	)
	for _, c := range []struct {
		name, text  string
		http, https string
	}{
		{"without a policy nothing is secured", "", nothing, nothing},
		{"a policy for the Service covers each port", trusting("a", "1", whole), "a", "a"},
		{"a policy for a port covers no other", trusting("a", "1", https), nothing, "a"},
		{"a policy for a port wins over an older one for the Service", trusting("a", "1", whole) + trusting("b", "2", https), "a", "b"},
		{"the older of two wins", trusting("a", "2", whole) + trusting("b", "1", whole), "b", "b"},
		{"of two of the same age the first by name wins", trusting("b", "1", https) + trusting("a", "1", https), nothing, "a"},
		{
			"a policy of another namespace has no say", strings.Replace(trusting("a", "1", whole), "namespace: app", "namespace: web", 1),
			nothing, nothing,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := inputs(t, c.text)
			for port, want := range map[int32]string{80: c.http, 443: c.https} {
				tls := in.PortTLS(nil, ir.BackendTarget{Object: ir.Name{Namespace: "app", Name: "one"}}, port)
				switch {
				case want == nothing && tls != nil:
					t.Errorf("port %d is secured: %+v", port, tls)
				case want != nothing && (tls == nil || tls.ServerName != want+".example.com"):
					t.Errorf("port %d is secured by %+v, want policy %s", port, tls, want)
				}
			}
		})
	}
}

// TestPortTLSOfAServiceImport: a Service and a ServiceImport of the same name have policies of their own.
func TestPortTLSOfAServiceImport(t *testing.T) {
	t.Parallel()
	in := inputs(t, trusting("service", "1", `[{group: "", kind: Service, name: one}]`)+
		trusting("import", "2", `[{group: multicluster.x-k8s.io, kind: ServiceImport, name: one, sectionName: https}]`))
	one := ir.Name{Namespace: "app", Name: "one"}
	for _, c := range []struct {
		kind ir.BackendKind
		port int32
		want string
	}{
		{ir.KindService, 443, "service.example.com"}, {ir.KindServiceImport, 443, "import.example.com"}, {ir.KindServiceImport, 80, ""},
	} {
		got := ""
		if tls := in.PortTLS(nil, ir.BackendTarget{Kind: c.kind, Object: one}, c.port); tls != nil {
			got = tls.ServerName
		}
		if got != c.want {
			t.Errorf("port %d of the %s is secured by %q, want %q", c.port, c.kind, got, c.want)
		}
	}
}

func TestBackendTLSStatus(t *testing.T) {
	t.Parallel()
	missing := func(service string) []string {
		return map[string][]string{"app/gone": {"infra/a"}, "ServiceImport/app/gone": {"infra/b"}}[service]
	}
	users := func(service ir.BackendTarget, port int32) []string {
		return map[string][]string{
			"app/one/80":  {"infra/a"},
			"app/one/443": {"infra/b", "infra/a"},
			"app/two/80":  {"infra/c"},

			"ServiceImport/app/one/443": {"infra/c"},
		}[ir.Endpoints{Kind: service.Kind, Object: service.Object, Port: port}.String()]
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing uses the target", trusting("p", "1", `[{group: "", kind: Service, name: none}]`), nil},
		{
			"a Service that does not exist is reported to Gateways whose routes refer to it", trusting("p", "1", `[{group: "", kind: Service, name: gone}]`),
			[]string{"infra/a TargetNotFound"},
		},
		{
			"a ServiceImport that does not exist", trusting("p", "1", `[{group: multicluster.x-k8s.io, kind: ServiceImport, name: gone}]`),
			[]string{"infra/b TargetNotFound"},
		},
		{
			"a port of a ServiceImport",
			trusting("p", "2", `[{group: multicluster.x-k8s.io, kind: ServiceImport, name: one, sectionName: https}]`) +
				trusting("older", "1", `[{group: "", kind: Service, name: one}]`),
			[]string{"infra/c Accepted"},
		},
		{"a target that is no Service belongs to nothing", trusting("p", "1", `[{group: example.com, kind: Thing, name: one}]`), nil},
		{
			"each Gateway that uses a port of the target", trusting("p", "1", `[{group: "", kind: Service, name: one}]`),
			[]string{"infra/a Accepted", "infra/b Accepted"},
		},
		{
			"only those that use the port in question", trusting("p", "1", `[{group: "", kind: Service, name: one, sectionName: http}]`),
			[]string{"infra/a Accepted"},
		},
		{
			"a port that does not exist is reported to all", trusting("p", "1", `[{group: "", kind: Service, name: one, sectionName: grpc}]`),
			[]string{"infra/a TargetNotFound", "infra/b TargetNotFound"},
		},
		{
			"a port that is not TCP cannot be secured", trusting("p", "1", `[{group: "", kind: Service, name: one, sectionName: dns}]`),
			[]string{"infra/a TargetNotFound", "infra/b TargetNotFound"},
		},
		{
			"a conflict is reported where it is",
			trusting("p", "2", `[{group: "", kind: Service, name: one}, {group: "", kind: Service, name: two}]`) +
				trusting("older", "1", `[{group: "", kind: Service, name: one}]`),
			[]string{"infra/a Conflicted", "infra/b Conflicted", "infra/c Accepted"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, a := range inputs(t, c.text).BackendTLSStatus(nil, policy.Users{OfPort: users, OfMissing: missing}, "app/p").Ancestors {
				accepted := a.Conditions[0]
				if (accepted.State == outcome.True) != (accepted.Reason == "Accepted") {
					t.Errorf("state %s goes with reason %s", accepted.State, accepted.Reason)
				}
				got = append(got, *a.Ref.Namespace+"/"+a.Ref.Name+" "+accepted.Reason)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
