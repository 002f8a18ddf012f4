//go:build conformance

package conformance

import (
	"context"
	"flag"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

// The suite can run with a class of its own, whose proxies are run in another way. Such a run writes no report.
var (
	delivery  = flag.String("delivery", "", "files: run what GATEWAY-HTTP has in its core with proxies that are supplied by files")
	placement = flag.String("placement", "", "shared: run everything with one set of proxies for all Gateways")
	family    = flag.String("family", "",
		"dual: run everything on a cluster of both IP families; ipv6: run what GATEWAY-HTTP has in its core on one of IPv6 alone")
)

// notShared is what Gateways cannot have that share their proxies: a certificate of their own for backends, and labels of their own on
// anything but a Service, which is not in their namespace, where the suite looks for it.
var notShared = []features.FeatureName{features.SupportGatewayBackendClientCertificate, features.SupportGatewayInfrastructure}

// choose has the suite run with the class that the flags ask for, and says whether it is the default one.
func choose(t *testing.T, options *suite.ConformanceOptions) bool {
	t.Helper()
	switch {
	case *delivery == "files":
		// Files can do everything that xDS can, later: what is core is enough to show it.
		coreOfHTTP(options)
		withClass(t, options, "files", v1alpha1.ProxyConfigSpec{Delivery: new(v1alpha1.DeliveryFiles)})
	case strings.EqualFold(*placement, string(v1alpha1.PlacementShared)):
		options.SupportedFeatures = slices.DeleteFunc(
			options.SupportedFeatures, func(f features.FeatureName) bool { return slices.Contains(notShared, f) },
		)
		withClass(t, options, "shared", v1alpha1.ProxyConfigSpec{Placement: new(v1alpha1.PlacementShared)})
	case *family == "ipv6":
		coreOfHTTP(options)
		options.UsableNetworkAddresses = []gwv1.GatewaySpecAddress{usableAddress6}
		options.UnusableNetworkAddresses = []gwv1.GatewaySpecAddress{unusableAddress6}
	case *family == "dual":
	default:
		return true
	}
	return false
}

// coreOfHTTP has the suite run what GATEWAY-HTTP has in its core.
func coreOfHTTP(options *suite.ConformanceOptions) {
	options.ConformanceProfiles = []suite.ConformanceProfileName{suite.GatewayHTTPConformanceProfileName}
	options.SupportedFeatures = []features.FeatureName{features.SupportGateway, features.SupportReferenceGrant, features.SupportHTTPRoute}
}

// parametersNamespace is where the parameters of a class lie.
const parametersNamespace = "gatewright-system"

// withClass makes a class for the suite.
func withClass(t *testing.T, options *suite.ConformanceOptions, name string, spec v1alpha1.ProxyConfigSpec) {
	t.Helper()
	options.GatewayClassName = gatewayClass + "-" + name
	c := conformance.DefaultOptions(t).Client
	if err := v1alpha1.AddToScheme(c.Scheme()); err != nil {
		t.Fatal(err)
	}
	objects := []client.Object{
		&v1alpha1.ProxyConfig{ObjectMeta: metav1.ObjectMeta{Namespace: parametersNamespace, Name: options.GatewayClassName}, Spec: spec},
		&gwv1.GatewayClass{
			ObjectMeta: metav1.ObjectMeta{Name: options.GatewayClassName},
			Spec: gwv1.GatewayClassSpec{
				ControllerName: "gatewright.dev/gateway-controller",
				ParametersRef: &gwv1.ParametersReference{
					Group: v1alpha1.GroupName, Kind: "ProxyConfig", Name: options.GatewayClassName, Namespace: new(gwv1.Namespace(parametersNamespace)),
				},
			},
		},
	}
	for _, object := range objects {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T %s: %v", object, object.GetName(), err)
		}
		t.Cleanup(func() {
			if err := c.Delete(context.Background(), object); err != nil {
				t.Errorf("delete %T %s: %v", object, object.GetName(), err)
			}
		})
	}
}
