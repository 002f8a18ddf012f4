package apply

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
)

// precondition is what must be true of the object in the cluster when ours is applied, so that one that another client makes after the
// check is not replaced.
type precondition struct {
	// uid is that of the object that is replaced; none is true if there is none.
	uid  types.UID
	none bool
}

// noVersion is a resource version that no object has. The API server ignores it when it creates an object.
const noVersion = "1"

// patch is an encoded object as it is applied under the precondition.
func (p precondition) patch(encoded []byte) (client.Patch, error) {
	field, value := "uid", string(p.uid)
	if p.none {
		field, value = "resourceVersion", noVersion
	}
	if value == "" {
		return client.RawPatch(types.ApplyPatchType, encoded), nil
	}
	var object, metadata map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &object); err != nil {
		return nil, fmt.Errorf("reading an object: %w", err)
	}
	if err := json.Unmarshal(object["metadata"], &metadata); err != nil {
		return nil, fmt.Errorf("reading metadata: %w", err)
	}
	metadata[field] = fmt.Appendf(nil, "%q", value)
	var err error
	if object["metadata"], err = json.Marshal(metadata); err != nil {
		return nil, fmt.Errorf("writing metadata: %w", err)
	}
	if encoded, err = json.Marshal(object); err != nil {
		return nil, fmt.Errorf("writing an object: %w", err)
	}
	return client.RawPatch(types.ApplyPatchType, encoded), nil
}

// checkOwnership returns an error for an object that is not this Gateway's. An object that was applied before stays this Gateway's,
// whatever another client did to its metadata.
func (a *Applier) checkOwnership(ctx context.Context, gateway ir.Gateway, object render.Object, applied types.UID) (precondition, error) {
	existing := &metav1.PartialObjectMetadata{}
	existing.SetGroupVersionKind(schema.FromAPIVersionAndKind(*object.GetAPIVersion(), *object.GetKind()))
	key := client.ObjectKey{Namespace: *object.GetNamespace(), Name: *object.GetName()}
	err := a.Reader.Get(ctx, key, existing)
	if apierrors.IsNotFound(err) {
		return precondition{none: true}, nil
	}
	if err != nil {
		return precondition{}, fmt.Errorf("getting %s %s: %w", *object.GetKind(), key, err)
	}
	if applied != "" && existing.UID == applied && existing.DeletionTimestamp == nil {
		return precondition{uid: applied}, nil
	}
	return precondition{uid: existing.UID}, a.ownershipError(gateway, *object.GetKind(), existing)
}

// ownershipError is why an existing object cannot be replaced: it is being deleted, or it has another owner. One without a controller
// is ours if it carries our labels, as after a restore from a backup.
func (a *Applier) ownershipError(gateway ir.Gateway, kind string, existing *metav1.PartialObjectMetadata) error {
	name := existing.Namespace + "/" + existing.Name
	if existing.DeletionTimestamp != nil {
		return fmt.Errorf("%s %s is being deleted; it is made again when it is gone", kind, name)
	}
	owner, uid, owned := render.OwnerOf(existing, a.Settings.SystemNamespace)
	ours := a.ours().Matches(labels.Set(existing.Labels)) &&
		existing.Labels[render.GatewayNameLabel] == render.LabelValue(gateway.Name.Name)
	switch {
	case owned && uid == gateway.Fleet.UID,
		ours && !owned && gateway.Fleet.OtherNamespace == "" && metav1.GetControllerOfNoCopy(existing) == nil:
		return nil
	case owned && ours && owner == gateway.Name:
		return fmt.Errorf("%s %s belongs to an earlier Gateway of this name; it is made again when Kubernetes has removed it", kind, name)
	}
	return fmt.Errorf("%s %s exists and is not Gatewright's; rename the Gateway or remove it", kind, name)
}
