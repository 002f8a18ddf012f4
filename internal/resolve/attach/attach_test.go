package attach_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/resolve/attach"
)

func TestAttach(t *testing.T) {
	t.Parallel()
	const gatewayGroup, experimental, system = "gateway.networking.k8s.io", "gateway.networking.x-k8s.io", "gatewright-system"
	for _, c := range []struct {
		name, namespace string
		ref             attach.Reference
		want            string
		cause           attach.ExclusionCause
	}{
		{"a Gateway", "infra", attach.Reference{Group: gatewayGroup, Kind: "Gateway", Name: "a"}, "Gateway infra/a", ""},
		{
			"a listener", "infra",
			attach.Reference{Group: gatewayGroup, Kind: "Gateway", Name: "a", Section: "https"},
			"listener https of Gateway infra/a", "",
		},
		{"a ListenerSet", "app", attach.Reference{Group: gatewayGroup, Kind: "ListenerSet", Name: "s"}, "ListenerSet app/s", ""},
		{
			"a listener of a ListenerSet", "app",
			attach.Reference{Group: gatewayGroup, Kind: "ListenerSet", Name: "s", Section: "https"},
			"listener https of ListenerSet app/s", "",
		},
		{
			"a rule", "app",
			attach.Reference{Group: gatewayGroup, Kind: "GRPCRoute", Name: "r", Section: "list"},
			"rule list of GRPCRoute app/r", "",
		},
		{"a port", "app", attach.Reference{Kind: "Service", Name: "one", Section: "https"}, "port https of Service app/one", ""},
		{"an XBackend", "app", attach.Reference{Group: experimental, Kind: "XBackend", Name: "x"}, "XBackend app/x", ""},
		{
			"an XBackend has one port only", "app",
			attach.Reference{Group: experimental, Kind: "XBackend", Name: "x", Section: "p"},
			"", attach.SectionNotSupported,
		},
		{
			"a GatewayClass, from the system namespace", system,
			attach.Reference{Group: gatewayGroup, Kind: "GatewayClass", Name: "c"},
			"GatewayClass c", "",
		},
		{
			"a GatewayClass, from elsewhere", "app",
			attach.Reference{Group: gatewayGroup, Kind: "GatewayClass", Name: "c"},
			"", attach.NamespaceNotAllowed,
		},
		{"another kind", "app", attach.Reference{Kind: "ConfigMap", Name: "m"}, "", attach.KindNotSupported},
		{"a kind of another group", "app", attach.Reference{Group: "example.com", Kind: "Service", Name: "m"}, "", attach.KindNotSupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			targets, excluded := kind.Attach(c.namespace, system, []attach.Reference{c.ref})
			switch {
			case c.cause == "":
				if len(targets) != 1 || len(excluded) != 0 || targets[0].String() != c.want || targets[0].Level() == attach.LevelNone {
					t.Errorf("got %v, excluded %v, want %s", targets, excluded, c.want)
				}
			case len(targets) != 0 || len(excluded) != 1 || excluded[0].Cause != c.cause:
				t.Errorf("got %v, excluded %v, want %s", targets, excluded, c.cause)
			default:
				if notes := kind.Notes(excluded, system); len(notes) != 1 {
					t.Errorf("notes are %q", notes)
				}
			}
		})
	}
	t.Run("nothing can target a GatewayClass where the system namespace is not known", func(t *testing.T) {
		t.Parallel()
		if targets, _ := kind.Attach("", "", []attach.Reference{{Group: gatewayGroup, Kind: "GatewayClass", Name: "c"}}); len(targets) != 0 {
			t.Errorf("got %v", targets)
		}
	})
	t.Run("notes name the kinds that can be targets", func(t *testing.T) {
		t.Parallel()
		k := attach.Kind[spec]{Targets: []attach.TargetKind{attach.Services, attach.XBackends}}
		_, excluded := k.Attach("app", system, []attach.Reference{{Group: "example.com", Kind: "Thing", Name: "t"}, {Kind: "Pod", Name: "p"}})
		want := []string{"targets of these kinds are left out, only a Service or an XBackend can be one: example.com/Thing, Pod"}
		if notes := k.Notes(excluded, system); !slices.Equal(notes, want) {
			t.Errorf("got %q, want %q", notes, want)
		}
	})
}

func TestSelect(t *testing.T) {
	t.Parallel()
	web, other := attach.HTTPRoutes.Target("app", "web", ""), attach.HTTPRoutes.Target("app", "other", "")
	allowed, private := attach.HTTPRoutes.Target("allowed", "web", ""), attach.HTTPRoutes.Target("private", "web", "")
	candidates := []attach.Candidate{
		{Target: private, Labels: map[string]string{"tier": "web"}},
		{Target: allowed, Labels: map[string]string{"tier": "web"}},
		{Target: web, Labels: map[string]string{"tier": "web"}},
		{Target: other, Labels: map[string]string{"tier": "other"}},
		{Target: attach.Gateways.Target("app", "web", ""), Labels: map[string]string{"tier": "web"}},
	}
	granted := func(t attach.Target) bool { return t.Namespace == "allowed" }
	labelled := metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}
	route := attach.Selector{Group: attach.HTTPRoutes.Group, Kind: attach.HTTPRoutes.Kind}
	with := func(s attach.Selector, labels metav1.LabelSelector, all bool) attach.Selector {
		s.Labels, s.AllNamespaces = labels, all
		return s
	}
	for _, c := range []struct {
		name     string
		selector attach.Selector
		want     []attach.Target
	}{
		{"by label, in the namespace of the policy", with(route, labelled, false), []attach.Target{web}},
		{"an empty selector selects all of the kind", with(route, metav1.LabelSelector{}, false), []attach.Target{other, web}},
		{"other namespaces need a ReferenceGrant", with(route, labelled, true), []attach.Target{allowed, web}},
		{"a kind that is no target", attach.Selector{Kind: "Pod"}, nil},
		{"a cluster-wide kind", attach.Selector{Group: attach.GatewayClasses.Group, Kind: attach.GatewayClasses.Kind, AllNamespaces: true}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// Two selectors that select the same select it once.
			got, _, problem := kind.Select("app", []attach.Selector{c.selector, c.selector}, candidates, granted)
			if problem != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %v, %v, want %v", got, problem, c.want)
			}
		})
	}
	t.Run("a selector that cannot be read", func(t *testing.T) {
		t.Parallel()
		bad := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Near"}}}
		got, _, problem := kind.Select("app", []attach.Selector{with(route, bad, false)}, candidates, granted)
		if got != nil || problem == nil || problem.Reason != "Invalid" || !strings.Contains(problem.Message, "targetSelectors[0]") {
			t.Errorf("got %v, %v", got, problem)
		}
	})
}
