package live

import (
	"context"
	"slices"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcscrd "sigs.k8s.io/mcs-api/config/crd"
	"sigs.k8s.io/yaml"
)

// InstallServiceImports installs the definition of ServiceImports, if the cluster has none, until the test ends. So all other tests show
// that a cluster without it is not affected.
func InstallServiceImports(t *testing.T, c client.Client) {
	t.Helper()
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(mcscrd.ServiceImportCRD, &definition); err != nil {
		t.Fatalf("read the definition of ServiceImports: %v", err)
	}
	switch err := c.Create(t.Context(), &definition); {
	case apierrors.IsAlreadyExists(err):
	case err != nil:
		t.Fatalf("create the definition of ServiceImports: %v", err)
	default:
		t.Cleanup(func() {
			// The test's own context is over by now.
			if err := c.Delete(context.Background(), &definition); err != nil {
				t.Errorf("delete the definition of ServiceImports: %v", err)
			}
		})
	}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(&definition), &definition)
		return slices.ContainsFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		}), err
	})
	if err != nil {
		t.Fatalf("the definition of ServiceImports is not served: %v", err)
	}
}
