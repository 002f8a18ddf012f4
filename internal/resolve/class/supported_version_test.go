package class_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/resolve/class"
	"github.com/gatewright/gatewright/internal/resolve/resolvetest"
	"github.com/gatewright/gatewright/internal/store"
)

// installed is a cluster with the definitions of every kind of the Gateway API, changed as the test wants; one without a name is left out.
func installed(
	t *testing.T,
	version, channel string,
	change func(*store.Descriptor, *apiextensionsv1.CustomResourceDefinition),
) *store.Objects {
	t.Helper()
	objects := resolvetest.Objects(
		t,
		"kind: GatewayClass\nmetadata: {name: gatewright}\nspec: {controllerName: gatewright.dev/gateway-controller}\n",
	)
	for _, custom := range store.CRDKinds {
		if custom.Experimental && channel == "standard" || !custom.OfGatewayAPI() {
			continue
		}
		d := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: custom.Definition(), Annotations: map[string]string{
				"gateway.networking.k8s.io/bundle-version": version, "gateway.networking.k8s.io/channel": channel,
			}},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: custom.Group, Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: custom.Versions[0], Served: true}},
			},
			Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
			}},
		}
		if change(custom, d); d.Name != "" {
			objects.Apply(store.Change{Kind: store.CustomResourceDefinition, Key: d.Name, Object: d})
		}
	}
	return objects
}

var versionCases = []struct {
	name             string
	version, channel string
	change           func(*store.Descriptor, *apiextensionsv1.CustomResourceDefinition)
	state            outcome.State
	says             []string
}{
	{
		name: "the whole experimental channel is supported", version: "v1.7.0", channel: "experimental", change: asItIs,
		state: outcome.True, says: []string{"v1.7.0, experimental channel"},
	},
	{
		name: "so is the standard channel, and a patch release", version: "v1.7.3", channel: "standard", change: asItIs,
		state: outcome.True, says: []string{"v1.7.3, standard channel"},
	},
	{
		name: "an older minor is served as well as it can be", version: "v1.4.1", channel: "standard",
		change: func(custom *store.Descriptor, d *apiextensionsv1.CustomResourceDefinition) {
			d.Spec.Versions[0].Name = map[store.Kind]string{
				store.ReferenceGrant: "v1beta1", store.ListenerSet: "v7",
				store.TLSRoute: "v7",
			}[custom.Kind]
			if d.Spec.Versions[0].Name == "" {
				d.Spec.Versions[0].Name = "v1"
			}
		},
		state: outcome.False,
		says: []string{
			"v1.4.1, standard channel", "read in another version: ReferenceGrant as v1beta1", "not served by the cluster: ListenerSet, TLSRoute",
			"supports v1.7", "install the CRDs of v1.7.0",
		},
	},
	{
		name: "a newer minor is not recognised", version: "v1.8.0", channel: "standard", change: asItIs,
		state: outcome.False, says: []string{"v1.8.0", "supports v1.7"},
	},
	{
		name: "a missing kind is named", version: "v1.7.0", channel: "experimental",
		change: func(custom *store.Descriptor, d *apiextensionsv1.CustomResourceDefinition) {
			if custom.Kind == store.GRPCRoute {
				d.Name = ""
			}
		},
		state: outcome.False, says: []string{"not served by the cluster: GRPCRoute;"},
	},
	{
		name: "a definition that is not established serves nothing", version: "v1.7.0", channel: "experimental",
		change: func(custom *store.Descriptor, d *apiextensionsv1.CustomResourceDefinition) {
			if custom.Kind == store.HTTPRoute {
				d.Status.Conditions = nil
			}
		},
		state: outcome.False, says: []string{"not served by the cluster: HTTPRoute;"},
	},
	{
		name: "definitions of different versions are told apart", version: "v1.7.0", channel: "standard",
		change: func(custom *store.Descriptor, d *apiextensionsv1.CustomResourceDefinition) {
			if custom.Kind == store.UDPRoute {
				d.Annotations = nil
			}
		},
		state: outcome.False, says: []string{"of no known version (udproutes.gateway.networking.k8s.io) and v1.7.0 (backendtls"},
	},
}

func asItIs(*store.Descriptor, *apiextensionsv1.CustomResourceDefinition) {}

func TestSupportedVersion(t *testing.T) {
	t.Parallel()
	for _, c := range versionCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			class := class.Resolve(nil, installed(t, c.version, c.channel, c.change), "gatewright")
			if class.Outcome.Conditions[0].State != outcome.True {
				t.Error("the class is not accepted")
			}
			got := class.Outcome.Conditions[1]
			reason := map[outcome.State]string{outcome.True: "SupportedVersion", outcome.False: "UnsupportedVersion"}[c.state]
			if diff := cmp.Diff(outcome.Condition{Type: "SupportedVersion", State: c.state, Reason: reason, Message: got.Message}, got); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
			for _, text := range c.says {
				if !strings.Contains(got.Message, text) {
					t.Errorf("the message does not say %q: %s", text, got.Message)
				}
			}
		})
	}
}
