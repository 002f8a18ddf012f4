//go:build conformance

package conformance

import (
	"context"
	"flag"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatewright/gatewright/api/v1alpha1"
)

var delivery = flag.String("delivery", "", "files: run what GATEWAY-HTTP has in its core with proxies that are supplied by files; it writes no report")

// filesNamespace is where the parameters of the class lie.
const filesNamespace = "gatewright-system"

// byFiles has the suite run with a class of its own, whose proxies are supplied by files. Files can do everything that xDS can, later: what is core is
// enough to show it.
func byFiles(t *testing.T, options *suite.ConformanceOptions) {
	t.Helper()
	options.GatewayClassName = gatewayClass + "-files"
	options.ConformanceProfiles = []suite.ConformanceProfileName{suite.GatewayHTTPConformanceProfileName}
	options.SupportedFeatures = []features.FeatureName{features.SupportGateway, features.SupportReferenceGrant, features.SupportHTTPRoute}
	c := conformance.DefaultOptions(t).Client
	if err := v1alpha1.AddToScheme(c.Scheme()); err != nil {
		t.Fatal(err)
	}
	objects := []client.Object{
		&v1alpha1.ProxyConfig{
			ObjectMeta: metav1.ObjectMeta{Namespace: filesNamespace, Name: options.GatewayClassName},
			Spec:       v1alpha1.ProxyConfigSpec{Delivery: new(v1alpha1.DeliveryFiles)},
		},
		&gwv1.GatewayClass{
			ObjectMeta: metav1.ObjectMeta{Name: options.GatewayClassName},
			Spec: gwv1.GatewayClassSpec{
				ControllerName: "gatewright.dev/gateway-controller",
				ParametersRef: &gwv1.ParametersReference{
					Group: v1alpha1.GroupName, Kind: "ProxyConfig", Name: options.GatewayClassName, Namespace: new(gwv1.Namespace(filesNamespace)),
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
