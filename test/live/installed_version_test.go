package live

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestInstalledVersion(t *testing.T) {
	t.Parallel()
	deployment := func(name string, labels map[string]string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ControllerNamespace, Name: name, Labels: labels}}
	}
	for _, test := range []struct {
		name      string
		installed *appsv1.Deployment
		want      string
	}{
		{"that of the chart gets a v", deployment("gatewright", map[string]string{"app.kubernetes.io/version": "0.2.0-rc.1"}), "v0.2.0-rc.1"},
		{"a v that is there stays alone", deployment("gatewright", map[string]string{"app.kubernetes.io/version": "v0.2.0"}), "v0.2.0"},
		{"without a label it is an error", deployment("gatewright", nil), ""},
		{"without the Deployment it is an error", deployment("other", nil), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := fake.NewClientBuilder().WithObjects(test.installed).Build()
			got, err := InstalledVersion(t.Context(), c)
			if got != test.want || (err != nil) != (test.want == "") {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}
