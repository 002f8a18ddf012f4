package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
)

// guard refuses to replace an object that is not this Gateway's.
func (a *Applier) guard(ctx context.Context, gateway ir.Gateway, object render.Object) error {
	existing := &metav1.PartialObjectMetadata{}
	existing.SetGroupVersionKind(schema.FromAPIVersionAndKind(*object.GetAPIVersion(), *object.GetKind()))
	key := client.ObjectKey{Namespace: *object.GetNamespace(), Name: *object.GetName()}
	err := a.Reader.Get(ctx, key, existing)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("getting %s %s: %w", *object.GetKind(), key, err)
	}
	return a.refusal(gateway, *object.GetKind(), existing)
}

// refusal says why an existing object can not be replaced: it is leaving, or it belongs to somebody else. One without a controller
// is ours if it carries our labels, as after a restore from a backup.
func (a *Applier) refusal(gateway ir.Gateway, kind string, existing *metav1.PartialObjectMetadata) error {
	name := existing.Namespace + "/" + existing.Name
	if existing.DeletionTimestamp != nil {
		return fmt.Errorf("%s %s is being deleted; it is made again when it is gone", kind, name)
	}
	owner, uid, owned := render.OwnerOf(existing, a.Settings.SystemNamespace)
	ours := existing.Labels[render.ManagedByLabel] == render.ManagedBy &&
		existing.Labels[render.GatewayNameLabel] == render.LabelValue(gateway.Name.Name)
	switch {
	case owned && uid == gateway.Fleet.UID, ours && !owned && gateway.Fleet.Abroad == "" && metav1.GetControllerOfNoCopy(existing) == nil:
		return nil
	case owned && ours && owner == gateway.Name:
		return fmt.Errorf("%s %s belongs to an earlier Gateway of this name; it is made again when Kubernetes has removed it", kind, name)
	}
	return fmt.Errorf("%s %s exists and is not Gatewright's; rename the Gateway or remove it", kind, name)
}
