package admission

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/internal/store"
)

// Rules are what an API server does to objects of custom kinds: it fills in defaults and rejects what the definitions do not allow.
type Rules map[store.Kind]definition

type definition struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// Read takes the definitions of watched kinds from the files of folders.
func Read(folders ...string) (Rules, error) {
	var files []string
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("no definitions in %q: %w", folder, err)
		}
		files = append(files, found...)
	}
	a := Rules{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		custom, watched := store.CustomOf(store.Kind(crd.Spec.Names.Kind))
		if !watched {
			continue
		}
		for i := range crd.Spec.Versions {
			if version := &crd.Spec.Versions[i]; version.Name == custom.Versions[0] {
				if a[custom.Kind], err = newDefinition(version); err != nil {
					return nil, fmt.Errorf("reading %s: %w", file, err)
				}
			}
		}
	}
	return a, nil
}

func newDefinition(version *apiextensionsv1.CustomResourceDefinitionVersion) (definition, error) {
	var internal apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(
		version.Schema, &internal, nil,
	); err != nil {
		return definition{}, err
	}
	structural, err := schema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return definition{}, err
	}
	if problems := schema.ValidateStructural(nil, structural); len(problems) > 0 {
		return definition{}, problems.ToAggregate()
	}
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		return definition{}, err
	}
	return definition{structural: structural, schema: validator, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// Check says why an API server would reject an object as it is written in YAML, with strict field validation. It takes every object whose
// kind has no definition here.
func (a Rules) Check(text string) error {
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return err
	}
	var object map[string]any
	if err := json.Unmarshal(content, &object); err != nil {
		return err
	}
	kind, _ := object["kind"].(string)
	d, checked := a[store.Kind(kind)]
	if !checked {
		return nil
	}
	options := schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	if unknown := pruning.PruneWithOptions(object, d.structural, true, options); len(unknown) > 0 {
		return fmt.Errorf("unknown fields %q", unknown)
	}
	return d.check(object)
}

// check fills in the defaults of an object, and says what the definition does not allow.
func (d definition) check(object map[string]any) error {
	delete(object, "status")
	defaulting.Default(object, d.structural)
	if problems := validation.ValidateCustomResource(nil, object, d.schema); len(problems) > 0 {
		return problems.ToAggregate()
	}
	if problems, _ := d.rules.Validate(
		context.Background(), nil, d.structural, object, nil, celconfig.RuntimeCELCostBudget,
	); len(problems) > 0 {
		return problems.ToAggregate()
	}
	return nil
}

// Admit returns the object as the API server would store it, or why it would not.
func (a Rules) Admit(c store.Change) (store.Change, error) {
	d, checked := a[c.Kind]
	if !checked {
		return c, nil
	}
	text, err := json.Marshal(c.Object)
	if err != nil {
		return c, err
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return c, err
	}
	if err := d.check(object); err != nil {
		return c, err
	}
	if text, err = json.Marshal(object); err != nil {
		return c, err
	}
	stored, ok := reflect.New(reflect.TypeOf(c.Object).Elem()).Interface().(metav1.Object)
	if !ok {
		return c, fmt.Errorf("%T is no object", c.Object)
	}
	if err := json.Unmarshal(text, stored); err != nil {
		return c, err
	}
	c.Object = stored
	return c, nil
}
