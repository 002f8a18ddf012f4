//go:build charts

package charts

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What the chart has now, and versions around it.
const (
	older, current, newer = "v1.6.9", "v1.7.0", "v1.8.0"
	classes               = "gatewayclasses.gateway.networking.k8s.io"
)

// definition is the metadata of a CustomResourceDefinition.
type definition struct{ metav1.PartialObjectMetadata }

func (d definition) version() string {
	return d.Annotations["gateway.networking.k8s.io/bundle-version"]
}
func (d definition) channel() string { return d.Annotations["gateway.networking.k8s.io/channel"] }
func (d definition) owner() string   { return d.Annotations["meta.helm.sh/release-name"] }

// definitionKind is what a client of metadata reads and deletes.
func definitionKind(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: kind}
}

// clean makes the cluster one without definitions and releases. Tests that call it cannot run in parallel: definitions have no namespace.
func clean(t *testing.T) {
	t.Helper()
	definitions := &metav1.PartialObjectMetadata{TypeMeta: definitionKind("CustomResourceDefinition")}
	err := errors.Join(
		cluster.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace("default")),
		cluster.DeleteAllOf(t.Context(), definitions),
	)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); len(live(t)) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("definitions that are deleted do not go")
		}
	}
}

func kubectl(t *testing.T, stdin string, argv ...string) string {
	t.Helper()
	out, err := command(t.Context(), stdin, append([]string{"kubectl"}, argv...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// helm runs it and expects success.
func helm(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := command(t.Context(), "", append([]string{"helm"}, argv...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// refused runs helm and expects an error that says all of something, and a cluster that stays as it is.
func refused(t *testing.T, texts []string, argv ...string) {
	t.Helper()
	before := live(t)
	_, err := command(t.Context(), "", append([]string{"helm"}, argv...)...)
	if err == nil {
		t.Fatalf("helm %s succeeds", strings.Join(argv, " "))
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error does not say %q: %v", text, err)
		}
	}
	unchanged(t, before)
}

// live returns the definitions of the cluster by name.
func live(t *testing.T) map[string]definition {
	t.Helper()
	list := &metav1.PartialObjectMetadataList{TypeMeta: definitionKind("CustomResourceDefinitionList")}
	if err := cluster.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	found := map[string]definition{}
	for _, d := range list.Items {
		found[d.Name] = definition{d}
	}
	return found
}

// unchanged expects the same definitions as before, of the same versions.
func unchanged(t *testing.T, before map[string]definition) {
	t.Helper()
	after := live(t)
	for name, d := range before {
		switch now := after[name]; {
		case now.UID != d.UID, now.DeletionTimestamp != nil:
			t.Errorf("%s was deleted", name)
		case now.version() != d.version() || now.channel() != d.channel() || now.owner() != d.owner():
			t.Errorf("%s was replaced: %v, was %v", name, now.Annotations, d.Annotations)
		}
		delete(after, name)
	}
	for name := range after {
		t.Errorf("%s was created", name)
	}
}

// samples are small definitions that most tests do with: of Gatewright, of both channels, and of the experimental one.
var samples = []string{"extensions", "gatewayclasses", "referencegrants", "xmeshes"}

// chart is a copy of the chart of another version, with samples of definitions, and of another version of the Gateway API.
func chart(t *testing.T, version, gatewayAPI string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(dir, "Chart.yaml"), `(?m)^version: .*`, "version: "+version)
	for _, file := range definitionFiles(t, dir, "*") {
		if isSample(file) {
			edit(t, file, `"gateway.networking.k8s.io/bundle-version":"[^"]*"`, `"gateway.networking.k8s.io/bundle-version":"`+gatewayAPI+`"`)
		} else if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func isSample(file string) bool {
	_, kind, _ := strings.Cut(filepath.Base(file), "_")
	return slices.Contains(samples, strings.TrimSuffix(kind, filepath.Ext(kind)))
}

// definitionFiles are those of a folder of a chart.
func definitionFiles(t *testing.T, dir, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "files", folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the chart has no definitions in %s: %v", folder, err)
	}
	return files
}

// read reads the metadata of a definition in the chart.
func read(t *testing.T, file string) (d definition) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func edit(t *testing.T, file, pattern, replacement string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := regexp.MustCompile(pattern).ReplaceAllLiteral(text, []byte(replacement))
	if err := os.WriteFile(file, edited, 0o600); err != nil {
		t.Fatal(err)
	}
}

// upstream has definitions of the Gateway API as its project publishes them: they name no owner, and their descriptions are longer.
func upstream(t *testing.T, channel, version string) string {
	t.Helper()
	module, err := exec.Command("go", "list", "-m", "-f={{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatalf("find the module of the Gateway API: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(module)), "config", "crd", channel, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, file := range files {
		if !isSample(file) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.Replace(string(text), "bundle-version: "+current, "bundle-version: "+version, 1))
	}
	if len(texts) == 0 {
		t.Fatalf("there are no samples in the %s channel", channel)
	}
	return strings.Join(texts, "---\n")
}
