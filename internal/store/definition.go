package store

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// trimDefinition keeps what says which kind is served in which version, and what the Gateway API says about its bundle. The schemas,
// nearly all of a definition, go.
func trimDefinition(d *apiextensionsv1.CustomResourceDefinition) {
	annotations := map[string]string{}
	for name, value := range d.Annotations {
		if strings.HasPrefix(name, gwv1.GroupName+"/") {
			annotations[name] = value
		}
	}
	if len(annotations) != len(d.Annotations) {
		d.Annotations = annotations
	}
	spec := apiextensionsv1.CustomResourceDefinitionSpec{
		Group: d.Spec.Group,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: d.Spec.Names.Kind, Plural: d.Spec.Names.Plural},
	}
	for _, v := range d.Spec.Versions {
		spec.Versions = append(spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served})
	}
	if !equality.Semantic.DeepEqual(spec, d.Spec) {
		d.Spec = spec
	}
	var status apiextensionsv1.CustomResourceDefinitionStatus
	for _, c := range d.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			status.Conditions = append(status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{Type: c.Type, Status: c.Status})
		}
	}
	if !equality.Semantic.DeepEqual(status, d.Status) {
		d.Status = status
	}
}
