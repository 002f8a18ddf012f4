package status

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/outcome"
)

const (
	ours    = gwv1.GatewayController("gatewright.dev/gateway-controller")
	another = gwv1.GatewayController("example.com/other")
)

var (
	early = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	late  = metav1.NewTime(time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC))
)

// stored is a condition as it is read back from the API.
func stored(kind string, status metav1.ConditionStatus, generation int64) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: kind, ObservedGeneration: generation, LastTransitionTime: early}
}

func wanted(kind string, state outcome.State) outcome.Condition {
	return outcome.Condition{Type: kind, State: state, Reason: kind}
}

// spell writes conditions as `type=status@generation`, with `!` where the transition is new.
func spell(conditions []metav1.Condition) string {
	words := make([]string, len(conditions))
	for i, c := range conditions {
		words[i] = fmt.Sprintf("%s=%s@%d", c.Type, c.Status, c.ObservedGeneration)
		if c.LastTransitionTime.Equal(&late) {
			words[i] += "!"
		}
	}
	return strings.Join(words, " ")
}

func TestConditions(t *testing.T) {
	t.Parallel()
	foreign := stored("example.com/Checked", metav1.ConditionTrue, 1)
	checkConditions(t, []conditionCase{
		{
			name:   "a new condition changed now",
			wanted: []outcome.Condition{wanted("Accepted", outcome.True)},
			want:   "Accepted=True@2!",
		},
		{
			name:   "an unchanged status keeps its transition time and takes the new generation",
			stored: []metav1.Condition{stored("Accepted", metav1.ConditionTrue, 1)},
			wanted: []outcome.Condition{wanted("Accepted", outcome.True)},
			want:   "Accepted=True@2",
		},
		{
			name:   "a changed status changed now",
			stored: []metav1.Condition{stored("Accepted", metav1.ConditionFalse, 1)},
			wanted: []outcome.Condition{wanted("Accepted", outcome.True)},
			want:   "Accepted=True@2!",
		},
		{
			name:   "the API's default condition has no transition time worth keeping",
			stored: []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionUnknown, LastTransitionTime: metav1.Unix(0, 0)}},
			wanted: []outcome.Condition{wanted("Accepted", outcome.Unknown)},
			want:   "Accepted=Unknown@2!",
		},
		{
			name:   "a foreign type stays what and where it is",
			stored: []metav1.Condition{foreign, stored("Accepted", metav1.ConditionTrue, 1)},
			wanted: []outcome.Condition{wanted("Programmed", outcome.True), wanted("Accepted", outcome.True)},
			want:   "example.com/Checked=True@1 Accepted=True@2 Programmed=True@2!",
		},
		{
			name:   "a type of ours that is no longer in the outcome goes",
			stored: []metav1.Condition{stored("ResolvedRefs", metav1.ConditionFalse, 1), foreign},
			wanted: []outcome.Condition{wanted("Accepted", outcome.True)},
			want:   "example.com/Checked=True@1 Accepted=True@2!",
		},
		{
			name:   "a condition of a newer generation is left alone",
			stored: []metav1.Condition{stored("Accepted", metav1.ConditionFalse, 3)},
			wanted: []outcome.Condition{wanted("Accepted", outcome.True)},
			want:   "Accepted=False@3",
		},
		{
			name:   "a type that is wanted twice is written once",
			wanted: []outcome.Condition{wanted("Accepted", outcome.True), wanted("Accepted", outcome.False)},
			want:   "Accepted=True@2!",
		},
	})
}

func TestConditionsStayWithinTheLimitOfTheAPI(t *testing.T) {
	t.Parallel()
	checkConditions(t, []conditionCase{
		{
			name:   "with little room left, ours go in by their order",
			stored: append(foreigners(7), stored("Programmed", metav1.ConditionTrue, 1)),
			wanted: []outcome.Condition{wanted("Accepted", outcome.True), wanted("Programmed", outcome.True)},
			want:   spell(foreigners(7)) + " Accepted=True@2!",
		},
		{
			name:   "with no room left, what others wrote stays",
			stored: foreigners(8),
			wanted: []outcome.Condition{wanted("Accepted", outcome.True)},
			want:   spell(foreigners(8)),
		},
	})
}

type conditionCase struct {
	name   string
	stored []metav1.Condition
	wanted []outcome.Condition
	want   string
}

func checkConditions(t *testing.T, cases []conditionCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := slices.Clone(c.stored)
			got := Gateway(gwv1.GatewayStatus{Conditions: c.stored}, outcome.Gateway{Generation: 2, Conditions: c.wanted}, late)
			if diff := cmp.Diff(c.want, spell(got.Conditions)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, c.stored); diff != "" {
				t.Errorf("the stored conditions were modified:\n%s", diff)
			}
		})
	}
}

func foreigners(n int) (conditions []metav1.Condition) {
	for i := range n {
		conditions = append(conditions, stored(fmt.Sprintf("example.com/%d", i), metav1.ConditionTrue, 1))
	}
	return conditions
}

func TestLongMessageIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	message := strings.Repeat("a", maxMessage-1) + "é"
	got := Class(gwv1.GatewayClassStatus{}, outcome.Class{Conditions: []outcome.Condition{{Type: "Accepted", Message: message}}}, late)
	if cut := got.Conditions[0].Message; len(cut) != maxMessage-1 || !utf8.ValidString(cut) {
		t.Errorf("got %d bytes, valid UTF-8: %t", len(cut), utf8.ValidString(cut))
	}
}

func TestClass(t *testing.T) {
	t.Parallel()
	o := outcome.Class{
		Generation: 1, Conditions: []outcome.Condition{wanted("Accepted", outcome.True)}, Features: []string{"HTTPRoute", "Gateway", "Gateway"},
	}
	got := Class(gwv1.GatewayClassStatus{}, o, early)
	want := []gwv1.SupportedFeature{{Name: "Gateway"}, {Name: "HTTPRoute"}}
	if diff := cmp.Diff(want, got.SupportedFeatures); diff != "" {
		t.Errorf("features are sorted and without doubles (-want +got):\n%s", diff)
	}
	if again := Class(got, o, late); !equality.Semantic.DeepEqual(got, again) {
		t.Errorf("the same outcome again gives another status:\n%s", cmp.Diff(got, again))
	}
	for i := range 2 * maxFeatures {
		o.Features = append(o.Features, fmt.Sprintf("Feature%d", i))
	}
	if got := Class(got, o, late); len(got.SupportedFeatures) != maxFeatures {
		t.Errorf("got %d features, the API takes %d", len(got.SupportedFeatures), maxFeatures)
	}
}

func TestGateway(t *testing.T) {
	t.Parallel()
	foreign := stored("example.com/Checked", metav1.ConditionTrue, 1)
	existing := gwv1.GatewayStatus{
		AttachedListenerSets: new(int32(4)),
		Listeners: []gwv1.ListenerStatus{
			{Name: "gone", Conditions: []metav1.Condition{foreign}},
			{Name: "web", AttachedRoutes: 1, Conditions: []metav1.Condition{foreign, stored("Accepted", metav1.ConditionTrue, 1)}},
		},
	}
	o := outcome.Gateway{
		Generation: 2,
		Conditions: []outcome.Condition{wanted("Accepted", outcome.True)},
		Addresses:  []outcome.Address{{Value: "192.0.2.1"}, {Hostname: true, Value: "gw.example.com"}},

		AttachedListenerSets: 3,
		Listeners: []outcome.Listener{
			{Name: "new", Conditions: []outcome.Condition{wanted("Accepted", outcome.False)}},
			{
				Name: "web", AttachedRoutes: 7, Conditions: []outcome.Condition{wanted("Accepted", outcome.True)},
				SupportedKinds: []outcome.RouteKind{{Group: gwv1.GroupName, Kind: "HTTPRoute"}},
			},
		},
	}
	got := Gateway(existing, o, late)

	want := gwv1.GatewayStatus{
		AttachedListenerSets: new(int32(3)),
		Addresses: []gwv1.GatewayStatusAddress{
			{Type: new(gwv1.IPAddressType), Value: "192.0.2.1"},
			{Type: new(gwv1.HostnameAddressType), Value: "gw.example.com"},
		},
		Conditions: []metav1.Condition{{Type: "Accepted", Status: "True", Reason: "Accepted", ObservedGeneration: 2, LastTransitionTime: late}},
		Listeners: []gwv1.ListenerStatus{
			{
				Name: "new", SupportedKinds: []gwv1.RouteGroupKind{},
				Conditions: []metav1.Condition{
					{Type: "Accepted", Status: "False", Reason: "Accepted", ObservedGeneration: 2, LastTransitionTime: late},
				},
			},
			{
				Name: "web", AttachedRoutes: 7,
				SupportedKinds: []gwv1.RouteGroupKind{{Group: new(gwv1.Group(gwv1.GroupName)), Kind: "HTTPRoute"}},
				Conditions:     []metav1.Condition{foreign, stored("Accepted", metav1.ConditionTrue, 2)},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if again := Gateway(got, o, late); !equality.Semantic.DeepEqual(got, again) {
		t.Errorf("the same outcome again gives another status:\n%s", cmp.Diff(got, again))
	}
	if existing.Listeners[1].AttachedRoutes != 1 {
		t.Error("the existing status was modified")
	}
}

func TestGatewayStaysWithinTheLimitsOfTheAPI(t *testing.T) {
	t.Parallel()
	o := outcome.Gateway{Addresses: make([]outcome.Address, 40)}
	for i := range 100 {
		o.Listeners = append(o.Listeners, outcome.Listener{Name: fmt.Sprint(i), SupportedKinds: make([]outcome.RouteKind, 20)})
	}
	got := Gateway(gwv1.GatewayStatus{}, o, late)
	if len(got.Addresses) != 16 || len(got.Listeners) != 64 || len(got.Listeners[0].SupportedKinds) != 8 {
		t.Errorf("got %d addresses, %d listeners, %d kinds", len(got.Addresses), len(got.Listeners), len(got.Listeners[0].SupportedKinds))
	}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	parent := func(controller gwv1.GatewayController, name string, conditions ...metav1.Condition) gwv1.RouteParentStatus {
		return gwv1.RouteParentStatus{
			ControllerName: controller, ParentRef: gwv1.ParentReference{Name: gwv1.ObjectName(name)}, Conditions: conditions,
		}
	}
	accepted := stored("Accepted", metav1.ConditionTrue, 1)
	want := func(refs ...outcome.ParentRef) (parents []outcome.Parent) {
		for _, ref := range refs {
			parents = append(parents, outcome.Parent{Ref: ref, Conditions: []outcome.Condition{wanted("Accepted", outcome.True)}})
		}
		return parents
	}
	cases := []struct {
		name   string
		stored []gwv1.RouteParentStatus
		wanted []outcome.Parent
		want   []string
	}{
		{
			name:   "a new parent is added after those of others",
			stored: []gwv1.RouteParentStatus{parent(another, "a", accepted)},
			wanted: want(outcome.ParentRef{Name: "b"}),
			want:   []string{"other a Accepted=True@1", "ours b Accepted=True@2!"},
		},
		{
			name:   "ours are updated in place",
			stored: []gwv1.RouteParentStatus{parent(ours, "b", accepted), parent(another, "b", accepted)},
			wanted: want(outcome.ParentRef{Name: "c"}, outcome.ParentRef{Name: "b"}),
			want:   []string{"ours b Accepted=True@2", "other b Accepted=True@1", "ours c Accepted=True@2!"},
		},
		{
			name:   "ours that are no longer named go, those of others stay",
			stored: []gwv1.RouteParentStatus{parent(ours, "a", accepted), parent(another, "a", accepted), parent(ours, "b", accepted)},
			want:   []string{"other a Accepted=True@1"},
		},
		{
			name:   "an entry of ours that is there twice is kept once",
			stored: []gwv1.RouteParentStatus{parent(ours, "a", accepted), parent(ours, "a", accepted)},
			wanted: want(outcome.ParentRef{Name: "a"}),
			want:   []string{"ours a Accepted=True@2"},
		},
		{
			name: "a section of a parent is another parent",
			stored: []gwv1.RouteParentStatus{
				{
					ControllerName: ours, ParentRef: gwv1.ParentReference{Name: "a", SectionName: new(gwv1.SectionName("web"))},
					Conditions: []metav1.Condition{accepted},
				},
			},
			wanted: want(outcome.ParentRef{Name: "a"}, outcome.ParentRef{Name: "a", Port: new(int32(80))}),
			want:   []string{"ours a Accepted=True@2!", "ours a:80 Accepted=True@2!"},
		},
		{
			name: "the API's defaults make no other parent",
			stored: []gwv1.RouteParentStatus{
				{
					ControllerName: ours,
					ParentRef:      gwv1.ParentReference{Group: new(gwv1.Group(gwv1.GroupName)), Kind: new(gwv1.Kind("Gateway")), Name: "a"},
					Conditions:     []metav1.Condition{accepted},
				},
			},
			wanted: want(outcome.ParentRef{Name: "a"}),
			want:   []string{"ours a Accepted=True@2"},
		},
		{
			name: "a foreign condition in an entry of ours stays",
			stored: []gwv1.RouteParentStatus{
				parent(ours, "a", stored("example.com/Checked", metav1.ConditionTrue, 1), stored("ResolvedRefs", metav1.ConditionTrue, 1)),
			},
			wanted: want(outcome.ParentRef{Name: "a"}),
			want:   []string{"ours a example.com/Checked=True@1 Accepted=True@2!"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := outcome.Route{Generation: 2, Parents: c.wanted}
			got := Route(gwv1.RouteStatus{Parents: c.stored}, o, ours, late)
			if diff := cmp.Diff(c.want, spellParents(got.Parents)); diff != "" {
				t.Errorf("parents (-want +got):\n%s", diff)
			}
			if again := Route(got, o, ours, late); !equality.Semantic.DeepEqual(got, again) {
				t.Errorf("the same outcome again gives another status:\n%s", cmp.Diff(got, again))
			}
		})
	}
}

func spellParents(parents []gwv1.RouteParentStatus) []string {
	var words []string
	for _, p := range parents {
		word := map[gwv1.GatewayController]string{ours: "ours ", another: "other "}[p.ControllerName] + string(p.ParentRef.Name)
		if p.ParentRef.Port != nil {
			word += fmt.Sprintf(":%d", *p.ParentRef.Port)
		}
		words = append(words, word+" "+spell(p.Conditions))
	}
	return words
}

func TestRouteRepeatsTheReferenceAsWritten(t *testing.T) {
	t.Parallel()
	ref := outcome.ParentRef{Name: "gw", Namespace: new("infra"), SectionName: new("web"), Port: new(int32(443))}
	got := Route(gwv1.RouteStatus{}, outcome.Route{Parents: []outcome.Parent{{Ref: ref}}}, ours, late)
	want := gwv1.ParentReference{
		Name: "gw", Namespace: new(gwv1.Namespace("infra")), SectionName: new(gwv1.SectionName("web")), Port: new(gwv1.PortNumber(443)),
	}
	if diff := cmp.Diff(want, got.Parents[0].ParentRef); diff != "" {
		t.Errorf("reference (-want +got):\n%s", diff)
	}
}

func TestRouteStaysWithinTheLimitOfTheAPI(t *testing.T) {
	t.Parallel()
	var existing gwv1.RouteStatus
	var o outcome.Route
	for i := range 30 {
		existing.Parents = append(
			existing.Parents,
			gwv1.RouteParentStatus{ControllerName: another, ParentRef: gwv1.ParentReference{Name: gwv1.ObjectName(fmt.Sprint(i))}},
		)
		o.Parents = append(o.Parents, outcome.Parent{Ref: outcome.ParentRef{Name: fmt.Sprint(i)}})
	}
	got := Route(existing, o, ours, late)
	if len(got.Parents) != 32 || got.Parents[29].ControllerName != another || got.Parents[31].ParentRef.Name != "1" {
		t.Errorf("got %d parents: %v", len(got.Parents), got.Parents)
	}
}

func TestRouteWithoutParentsHasAnEmptyListAndNotNone(t *testing.T) {
	t.Parallel()
	if got := Route(gwv1.RouteStatus{}, outcome.Route{}, ours, late); got.Parents == nil {
		t.Error("got nil, which the API refuses")
	}
}
