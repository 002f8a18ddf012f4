package render

import (
	"slices"
	"strings"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
)

func TestAFleetThatIsSuppliedByFiles(t *testing.T) {
	t.Parallel()
	gateway := exampleGateway()
	overXDS := render(t, gateway, exampleSettings(), exampleBundle)
	gateway.Fleet.Delivery = ir.Files
	byFiles := render(t, gateway, exampleSettings(), exampleBundle)
	bootstrap := &bootstrapv3.Bootstrap{}
	parse(t, byFiles.configMap.Data, bootstrapFile, bootstrap)
	ready := &hcmv3.HttpConnectionManager{}
	if err := bootstrap.GetStaticResources().GetListeners()[0].GetFilterChains()[0].GetFilters()[0].GetTypedConfig().UnmarshalTo(ready); err != nil {
		t.Fatal(err)
	}
	pod := byFiles.deployment.Spec.Template
	volume := func(name string) *corev1.Volume {
		i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
		if i < 0 {
			return nil
		}
		return &pod.Spec.Volumes[i]
	}
	var required, optional []string
	for _, source := range volume("files").Projected.Sources {
		name, may := "", false
		switch {
		case source.ConfigMap != nil:
			name, may = source.ConfigMap.Name, *source.ConfigMap.Optional
		case source.Secret != nil:
			name, may = source.Secret.Name, *source.Secret.Optional
		}
		if may {
			optional = append(optional, name)
		} else {
			required = append(required, name)
		}
	}
	listeners := bootstrap.GetDynamicResources().GetLdsConfig().GetPathConfigSource()
	tests := []struct {
		name string
		ok   bool
	}{
		{"no proxy connects to the control plane", bootstrap.GetDynamicResources().GetAdsConfig() == nil && len(bootstrap.GetStaticResources().GetClusters()) == 0},
		{"no proxy has a token or authorities", volume("token") == nil && len(byFiles.configMap.Data) == 1},
		{"listeners are read through the link that a kubelet renames", listeners.GetPath() == FilesDirectory+"/..data/"+ListenersFile},
		{"the directory of that link is watched", listeners.GetWatchedDirectory().GetPath() == FilesDirectory},
		{"what was read is said on the port for readiness", strings.HasSuffix(ready.GetRds().GetConfigSource().GetPathConfigSource().GetPath(), LoadedFile)},
		{"no proxy starts without what all need", len(required) == 3},
		{"all objects are in the volume", len(required)+len(optional) == len(FileObjects(gateway.Fleet.Name))},
		{"another delivery rolls the pods", pod.Annotations[bootstrapHash] != overXDS.deployment.Spec.Template.Annotations[bootstrapHash]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if !test.ok {
				t.Error("it is not so")
			}
		})
	}
}

func TestEveryFileHasAPlace(t *testing.T) {
	t.Parallel()
	all := FileObjects("edge")
	seen := map[string]bool{}
	for _, object := range all {
		if seen[object.Name] {
			t.Errorf("%s is there twice", object.Name)
		}
		seen[object.Name] = true
	}
	for _, file := range []string{
		ListenersFile, ClustersFile, LoadedFile, FileName(RouteTableFiles, "a/b/80"), FileName(EndpointFiles, "a/b/80"), FileName(SecretFiles, "a/b"),
		FileName(SecretFiles, strings.Repeat("long/", 100)),
	} {
		object := FileObjectOf("edge", file)
		if !slices.Contains(all, object) {
			t.Errorf("%s is in %s, which no proxy mounts", file, object.Name)
		}
		if object.Secret != strings.HasPrefix(file, string(SecretFiles)) {
			t.Errorf("%s is in %+v", file, object)
		}
	}
	if FileName(RouteTableFiles, "a/b") == FileName(RouteTableFiles, "a_b") {
		t.Error("two resources share a file")
	}
}
