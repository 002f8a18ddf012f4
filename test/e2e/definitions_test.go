//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/consts"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/test/live"
)

const (
	olderBundle = "v1.4.1"
	// kubectl owns the definitions that were installed, so what changes them must do it in its name.
	installer    = client.FieldOwner("kubectl")
	safeUpgrades = "safe-upgrades.gateway.networking.k8s.io"
)

// readBundle reads the definitions of a version of the Gateway API, and the policies that guard them.
func readBundle(t *testing.T, version, channel string) (definitions, policies []*unstructured.Unstructured) {
	t.Helper()
	variable := "GATEWAY_API_" + strings.ReplaceAll(strings.ToUpper(version), ".", "_")
	files, err := filepath.Glob(filepath.Join(os.Getenv(variable), "config", "crd", channel, "gateway.*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions of %s: %s must be the directory of that version", version, variable)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				t.Fatalf("read %s: %v", file, err)
			}
			switch object.GetKind() {
			case "CustomResourceDefinition":
				definitions = append(definitions, object)
			case "":
			default:
				policies = append(policies, object)
			}
		}
	}
	return definitions, policies
}

// install makes the cluster have exactly the definitions of a bundle, without those left out. A test that changes
// them calls restoreDefinitions first.
func (w *fixture) install(t *testing.T, version, channel string, without ...string) {
	t.Helper()
	definitions, policies := readBundle(t, version, channel)
	if err := w.forgetPolicies(t.Context()); err != nil {
		t.Fatal(err)
	}
	definitions = slices.DeleteFunc(definitions, func(d *unstructured.Unstructured) bool { return slices.Contains(without, d.GetName()) })
	for _, definition := range definitions {
		// The policies are remembered for a moment after they are gone.
		live.Eventually(t, time.Minute, 500*time.Millisecond, func(ctx context.Context) error { return w.serverSideApply(ctx, definition) })
	}
	if err := w.removeOthers(t.Context(), definitions); err != nil {
		t.Fatal(err)
	}
	for _, definition := range definitions {
		w.waitEstablished(t, definition.GetName())
	}
	if version == consts.BundleVersion {
		for _, policy := range policies {
			if err := w.serverSideApply(t.Context(), policy); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// needExperimental ends a test early whose fields a cluster with the standard channel would drop without a word.
func (w *fixture) needExperimental(t *testing.T) {
	t.Helper()
	var routes apiextensionsv1.CustomResourceDefinition
	if err := w.Get(t.Context(), client.ObjectKey{Name: "httproutes." + gwv1.GroupName}, &routes); err != nil {
		t.Fatal(err)
	}
	if channel := routes.Annotations[consts.ChannelAnnotation]; channel != "experimental" {
		t.Fatalf("the cluster has the %s channel; make install CHANNEL=experimental", channel)
	}
}

// restoreDefinitions brings back at the end of a test the bundle that is there now.
func (w *fixture) restoreDefinitions(t *testing.T) {
	t.Helper()
	var gateways apiextensionsv1.CustomResourceDefinition
	if err := w.Get(t.Context(), client.ObjectKey{Name: "gateways." + gwv1.GroupName}, &gateways); err != nil {
		t.Fatal(err)
	}
	version, channel := gateways.Annotations[consts.BundleVersionAnnotation], gateways.Annotations[consts.ChannelAnnotation]
	t.Cleanup(func() {
		// The test's own context is over by now.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		definitions, policies := readBundle(t, version, channel)
		if err := errors.Join(w.forgetPolicies(ctx), w.removeOthers(ctx, definitions)); err != nil {
			t.Error(err)
		}
		for _, object := range append(definitions, policies...) {
			for err := w.serverSideApply(ctx, object); err != nil; err = w.serverSideApply(ctx, object) {
				if ctx.Err() != nil {
					t.Fatalf("not restored: %v", err)
				}
				time.Sleep(500 * time.Millisecond)
			}
		}
	})
}

// removeOthers deletes the definitions of the Gateway API that are not among those given.
func (w *fixture) removeOthers(ctx context.Context, definitions []*unstructured.Unstructured) error {
	var there apiextensionsv1.CustomResourceDefinitionList
	if err := w.List(ctx, &there); err != nil {
		return fmt.Errorf("list the definitions: %w", err)
	}
	for i := range there.Items {
		name := there.Items[i].Name
		wanted := slices.ContainsFunc(definitions, func(d *unstructured.Unstructured) bool { return d.GetName() == name })
		if wanted || !strings.HasPrefix(there.Items[i].Spec.Group, "gateway.networking.") {
			continue
		}
		if err := w.Delete(ctx, &there.Items[i]); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s: %w", name, err)
		}
		for !apierrors.IsNotFound(w.Get(ctx, client.ObjectKey{Name: name}, &there.Items[i])) {
			if ctx.Err() != nil {
				return fmt.Errorf("%s is still there: %w", name, ctx.Err())
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}

func (w *fixture) serverSideApply(ctx context.Context, object *unstructured.Unstructured) error {
	err := w.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), installer, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply %s: %w", object.GetName(), err)
	}
	return nil
}

// forgetPolicies removes what forbids to go back to an older bundle, or from one channel to the other.
func (w *fixture) forgetPolicies(ctx context.Context) error {
	for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
		policy := &unstructured.Unstructured{}
		policy.SetAPIVersion("admissionregistration.k8s.io/v1")
		policy.SetKind(kind)
		policy.SetName(safeUpgrades)
		if err := w.Delete(ctx, policy); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s: %w", kind, err)
		}
	}
	return nil
}

func (w *fixture) waitEstablished(t *testing.T, name string) {
	t.Helper()
	live.Eventually(t, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		var d apiextensionsv1.CustomResourceDefinition
		if err := w.Get(ctx, client.ObjectKey{Name: name}, &d); err != nil {
			return fmt.Errorf("get %s: %w", name, err)
		}
		for _, c := range d.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("%s is not established", name)
	})
}

// classLacks says what the condition of the GatewayClass about the definitions does not say.
func (w *fixture) classLacks(ctx context.Context, status metav1.ConditionStatus, words []string) error {
	var class gwv1.GatewayClass
	if err := w.Get(ctx, client.ObjectKey{Name: live.GatewayClass}, &class); err != nil {
		return fmt.Errorf("get the class: %w", err)
	}
	condition := meta.FindStatusCondition(class.Status.Conditions, string(gwv1.GatewayClassConditionStatusSupportedVersion))
	if condition == nil || condition.Status != status || !hasAll(condition.Message, words) {
		return fmt.Errorf("SupportedVersion is %+v, want %s with %q", condition, status, words)
	}
	return nil
}

// classSays waits until the GatewayClass says something about the definitions, in its condition and in an event since a point in time.
func (w *fixture) classSays(t *testing.T, since time.Time, status metav1.ConditionStatus, words ...string) {
	t.Helper()
	live.Eventually(t, 30*time.Second, 200*time.Millisecond, func(ctx context.Context) error {
		if err := w.classLacks(ctx, status, words); err != nil {
			return err
		}
		var events eventsv1.EventList
		if err := w.List(ctx, &events, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			return fmt.Errorf("list events: %w", err)
		}
		for i := range events.Items {
			e := &events.Items[i]
			if e.Regarding.Kind == "GatewayClass" && e.Regarding.Name == live.GatewayClass && e.EventTime.After(since) && hasAll(e.Note, words) {
				return nil
			}
		}
		return fmt.Errorf("no event says %q", words)
	})
}

func hasAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// sameControllers checks that the control plane is the one it was, without a restart.
func (w *fixture) sameControllers(t *testing.T, want []string) {
	t.Helper()
	pods, err := w.Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range pods {
		names = append(names, pods[i].Name)
		for _, c := range pods[i].Status.ContainerStatuses {
			if c.RestartCount > 0 {
				t.Errorf("%s was restarted %d times", pods[i].Name, c.RestartCount)
			}
		}
	}
	slices.Sort(names)
	if want != nil && !slices.Equal(want, names) {
		t.Errorf("the controllers are %v, and were %v", names, want)
	}
}

func (w *fixture) controllerNames(t *testing.T) []string {
	t.Helper()
	pods, err := w.Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range pods {
		names = append(names, pods[i].Name)
	}
	slices.Sort(names)
	return names
}
