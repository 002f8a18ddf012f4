package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/limits"
)

// PatchError says what is wrong with the patches of a Gateway's parameters, nothing if nothing is.
func PatchError(gateway ir.Gateway) string {
	wanted := gateway.Fleet.Proxies.Patches
	if wanted == (ir.Patches{}) {
		return ""
	}
	// The pod has all its containers, so that patches of each are checked. Which image they run does not matter.
	if _, err := workload(gateway, Settings{Helper: "gatewright"}, ""); err != nil {
		return err.Error()
	}
	if _, err := service(gateway, nil); err != nil {
		return err.Error()
	}
	return ""
}

// patchWorkload changes the Deployment or DaemonSet as the parameters say.
func patchWorkload(gateway ir.Gateway, object Object) (Object, error) {
	patch := gateway.Fleet.Proxies.Patches.Workload
	if patch == "" {
		return object, nil
	}
	if gateway.Fleet.Proxies.DaemonSet {
		before, after, result := &appsv1.DaemonSet{}, &appsv1.DaemonSet{}, &applyappsv1.DaemonSetApplyConfiguration{}
		if err := patched("patches.daemonSet", patch, object, before, after, result); err != nil {
			return nil, err
		}
		return result, checkWorkload("patches.daemonSet", guarded{before.ObjectMeta, before.Spec.Selector, before.Spec.Template},
			guarded{after.ObjectMeta, after.Spec.Selector, after.Spec.Template})
	}
	before, after, result := &appsv1.Deployment{}, &appsv1.Deployment{}, &applyappsv1.DeploymentApplyConfiguration{}
	if err := patched("patches.deployment", patch, object, before, after, result); err != nil {
		return nil, err
	}
	if after.Spec.Replicas != nil {
		return nil, refused("patches.deployment", "spec.replicas; use replicas or autoscaling of the ProxyConfig")
	}
	return result, checkWorkload("patches.deployment", guarded{before.ObjectMeta, before.Spec.Selector, before.Spec.Template},
		guarded{after.ObjectMeta, after.Spec.Selector, after.Spec.Template})
}

// patchService changes the Service as the parameters say.
func patchService(gateway ir.Gateway, object Object) (Object, error) {
	patch := gateway.Fleet.Proxies.Patches.Service
	if patch == "" {
		return object, nil
	}
	before, after, result := &corev1.Service{}, &corev1.Service{}, &applycorev1.ServiceApplyConfiguration{}
	if err := patched("patches.service", patch, object, before, after, result); err != nil {
		return nil, err
	}
	return result, checkService("patches.service", before, after)
}

// The time to merge a list grows with more than the square of its length, and with its third power if $setElementOrder is used: 12 s for
// 5,000 entries. The configuration of all Gateways waits meanwhile.
const (
	// maxPatch is how long a patch may be, in bytes of JSON, and maxPatchList how long a list in it.
	maxPatch     = 64 << 10
	maxPatchList = 256
	// orderDirective begins the name of a directive that orders a list.
	orderDirective = `$setElementOrder/`
)

// checkPatch refuses what would take long to merge, before it is merged.
func checkPatch(patch ir.RawJSON) error {
	if len(patch) > maxPatch {
		return fmt.Errorf("it has %d bytes, and at most %d are merged; make it shorter", len(patch), maxPatch)
	}
	var content any
	if err := json.Unmarshal([]byte(patch), &content); err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	return checkLists(content)
}

func checkLists(value any) error {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if strings.HasPrefix(key, orderDirective) {
				return errors.New("the directive $setElementOrder is not supported; leave it out: what a patch adds to a list comes first")
			}
			if err := checkLists(v[key]); err != nil {
				return err
			}
		}
	case []any:
		if len(v) > maxPatchList {
			return fmt.Errorf("it has a list of %d entries, and at most %d are merged; make it shorter", len(v), maxPatchList)
		}
		for _, inner := range v {
			if err := checkLists(inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// merge is a strategic merge patch. Kubernetes' own code is given here what the API server would have refused, so a panic is an error too.
func merge(original []byte, patch ir.RawJSON, schema any) (changed []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errUnreadable
		}
	}()
	return strategicpatch.StrategicMergePatch(original, []byte(patch), schema)
}

// patched applies a strategic merge patch to an object and reads it before, after, and after as what is to be applied. A field that the
// object does not have is a mistake.
func patched(field string, patch ir.RawJSON, object Object, before, after any, result Object) error {
	original, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encoding the object for %s: %w", field, err)
	}
	if err := limits.CheckNumbers([]byte(patch)); err != nil {
		return fmt.Errorf("%s cannot be read: %w", field, err)
	}
	if err := checkPatch(patch); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	changed, err := merge(original, patch, before)
	if err != nil {
		return unfit(field, err)
	}
	if err := json.Unmarshal(original, before); err != nil {
		return fmt.Errorf("reading the object for %s: %w", field, err)
	}
	strict := json.NewDecoder(bytes.NewReader(changed))
	strict.DisallowUnknownFields()
	if err := strict.Decode(after); err != nil {
		return unfit(field, err)
	}
	if err := json.Unmarshal(changed, result); err != nil {
		return unfit(field, err)
	}
	if kind, version := result.GetKind(), result.GetAPIVersion(); kind == nil || *kind != *object.GetKind() || version == nil ||
		*version != *object.GetAPIVersion() {
		return refused(field, "apiVersion or kind")
	}
	return nil
}
