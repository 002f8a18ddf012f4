package files

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatewright/gatewright/internal/files/layout"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
)

// apply writes the files of one object, which exists.
func (p *Plane) apply(ctx context.Context, gateway ir.Gateway, object layout.Object, files map[string][]byte) error {
	labels, owners := render.FilesMetadata(gateway)
	var wanted runtime.ApplyConfiguration
	if object.Secret {
		wanted = applycorev1.Secret(object.Name, gateway.Name.Namespace).WithLabels(labels).WithOwnerReferences(owners...).WithData(files)
	} else {
		wanted = applycorev1.ConfigMap(
			object.Name, gateway.Name.Namespace,
		).WithLabels(labels).WithOwnerReferences(owners...).WithBinaryData(files)
	}
	if err := p.Client.Apply(ctx, wanted, client.FieldOwner(render.FieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s: %w", describe(object, gateway), explain(err))
	}
	return nil
}

// create makes an empty object. It fails if one of that name exists, which is not ours.
func (p *Plane) create(ctx context.Context, gateway ir.Gateway, object layout.Object) error {
	labels, _ := render.FilesMetadata(gateway)
	meta := metav1.ObjectMeta{
		Namespace: gateway.Name.Namespace, Name: object.Name, Labels: labels,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: render.OwnerAPIVersion, Kind: render.OwnerKind, Name: gateway.Name.Name, UID: types.UID(gateway.Fleet.UID),
			Controller: new(true),
		}},
	}
	var empty client.Object = &corev1.ConfigMap{ObjectMeta: meta}
	if object.Secret {
		empty = &corev1.Secret{ObjectMeta: meta}
	}
	err := p.Client.Create(ctx, empty, client.FieldOwner(render.FieldOwner))
	switch {
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%s exists and is not of Gateway %s; rename the Gateway or remove it", describe(object, gateway), gateway.Name)
	case err != nil:
		return fmt.Errorf("creating %s: %w", describe(object, gateway), explain(err))
	}
	return nil
}

var errForbidden = errors.New("install the chart with files.enabled=true, which gives the right to write files")

// explain adds what to do about a missing right.
func explain(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w; %w", err, errForbidden)
	}
	return err
}

// stored is an object of a fleet as it is in the cluster.
type stored struct {
	files map[string][]byte
	// only lets nothing but this version of the object be deleted: what is made under its name later may have another owner.
	only client.Preconditions
}

func storedAs(object metav1.Object, files map[string][]byte) stored {
	return stored{files, client.Preconditions{UID: new(object.GetUID()), ResourceVersion: new(object.GetResourceVersion())}}
}

// read gives the files of a fleet that are in the cluster, together and by object.
func (p *Plane) read(ctx context.Context, gateway ir.Gateway) (map[string][]byte, map[layout.Object]stored, error) {
	ours := []client.ListOption{client.InNamespace(gateway.Name.Namespace), client.MatchingLabels{
		ir.ManagedByLabel: ir.ManagedBy, render.FilesLabel: render.LabelValue(gateway.Fleet.Name),
	}}
	objects := map[layout.Object]stored{}
	maps := &corev1.ConfigMapList{}
	if err := p.Reader.List(ctx, maps, ours...); err != nil {
		return nil, nil, fmt.Errorf("listing the ConfigMaps of Gateway %s: %w", gateway.Name, err)
	}
	for i := range maps.Items {
		if owned(&maps.Items[i], gateway) {
			objects[layout.Object{Name: maps.Items[i].Name}] = storedAs(&maps.Items[i], maps.Items[i].BinaryData)
		}
	}
	secrets := &corev1.SecretList{}
	if err := p.Reader.List(ctx, secrets, ours...); err != nil {
		return nil, nil, fmt.Errorf("listing the Secrets of Gateway %s: %w", gateway.Name, err)
	}
	for i := range secrets.Items {
		if owned(&secrets.Items[i], gateway) {
			objects[layout.Object{Name: secrets.Items[i].Name, Secret: true}] = storedAs(&secrets.Items[i], secrets.Items[i].Data)
		}
	}
	files := map[string][]byte{}
	for _, each := range objects {
		for name, file := range each.files {
			files[name] = file
		}
	}
	return files, objects, nil
}

func owned(object metav1.Object, gateway ir.Gateway) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	return owner != nil && string(owner.UID) == gateway.Fleet.UID && object.GetDeletionTimestamp() == nil
}

// list finds the fleets that have files, by Gateway.
func (p *Plane) list(ctx context.Context) (map[ir.Name]map[string]bool, error) {
	// Every fleet has this one.
	found := map[ir.Name]map[string]bool{}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := p.Reader.List(
		ctx, list, client.MatchingLabelsSelector{Selector: render.Selector(p.Installation)}, client.HasLabels{render.FilesLabel},
	); err != nil {
		return nil, fmt.Errorf("listing ConfigMaps: %w", err)
	}
	for i := range list.Items {
		object := &list.Items[i]
		if owner := metav1.GetControllerOfNoCopy(object); owner != nil && owner.Kind == render.OwnerKind {
			name := ir.Name{Namespace: object.Namespace, Name: owner.Name}
			if found[name] == nil {
				found[name] = map[string]bool{}
			}
			if fleet := fleetOf(object.Name); fleet != "" {
				found[name][fleet] = true
			}
		}
	}
	return found, nil
}

// fleetOf is the fleet whose clusters an object holds, empty if it holds others.
func fleetOf(object string) string {
	suffix := layout.ObjectOf("", layout.Clusters).Name
	if len(object) > len(suffix) && object[len(object)-len(suffix):] == suffix {
		return object[:len(object)-len(suffix)]
	}
	return ""
}

// remove deletes the objects with the files of a fleet. The one by which the fleet is found is deleted last.
func (p *Plane) remove(ctx context.Context, gateway ir.Gateway) error {
	_, objects, err := p.read(ctx, gateway)
	if err != nil {
		return err
	}
	clusters := layout.ObjectOf(gateway.Fleet.Name, layout.Clusters)
	for object, each := range objects {
		if object != clusters {
			if err := p.delete(ctx, gateway, object, each.only); err != nil {
				return err
			}
		}
	}
	if last, ok := objects[clusters]; ok {
		return p.delete(ctx, gateway, clusters, last.only)
	}
	return nil
}

func (p *Plane) delete(ctx context.Context, gateway ir.Gateway, object layout.Object, only client.Preconditions) error {
	meta := metav1.ObjectMeta{Namespace: gateway.Name.Namespace, Name: object.Name}
	var gone client.Object = &corev1.ConfigMap{ObjectMeta: meta}
	if object.Secret {
		gone = &corev1.Secret{ObjectMeta: meta}
	}
	if err := client.IgnoreNotFound(p.Client.Delete(ctx, gone, only)); err != nil {
		return fmt.Errorf("deleting %s: %w", describe(object, gateway), explain(err))
	}
	return nil
}
