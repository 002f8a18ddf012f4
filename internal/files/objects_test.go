package files

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
)

// TestAnObjectOfAnotherOwnerIsNotRemoved has an object of a user by the name of one with files when the files are to be removed.
func TestAnObjectOfAnotherOwnerIsNotRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fleetName + "-clusters"}}
		if err := c.Create(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
		gateway := exampleGateway()
		c.plane.Serve(gateway)
		c.start(t)
		time.Sleep(time.Minute)
		gateway.Fleet.Delivery = ir.XDS
		c.plane.Serve(gateway)
		time.Sleep(time.Minute)
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil {
			t.Error(err)
		}
	})
}

// TestAnObjectThatIsReplacedIsNotRemoved has each object replaced by one of a user between the moments in which it is read and deleted.
func TestAnObjectThatIsReplacedIsNotRemoved(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	gateway := exampleGateway()
	labels, _ := render.FilesMetadata(gateway)
	ours := metav1.ObjectMeta{
		Namespace: "team", UID: "ours", Labels: labels,
		OwnerReferences: []metav1.OwnerReference{{Kind: render.OwnerKind, Name: "edge", UID: "uid", Controller: new(true)}},
	}
	clusters, listeners, secrets := ours, ours, ours
	clusters.Name, listeners.Name, secrets.Name = fleetName+"-clusters", fleetName+"-listeners", fleetName+"-secrets"
	for _, object := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: clusters}, &corev1.ConfigMap{ObjectMeta: listeners}, &corev1.Secret{ObjectMeta: secrets},
	} {
		theirs, _ := object.DeepCopyObject().(client.Object)
		theirs.SetUID("theirs")
		theirs.SetOwnerReferences(nil)
		theirs.SetLabels(map[string]string{"app": "theirs"})
		cluster := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(object).Build(), interceptor.Funcs{
			Delete: func(ctx context.Context, w client.WithWatch, o client.Object, options ...client.DeleteOption) error {
				only := (&client.DeleteOptions{}).ApplyOptions(options).Preconditions
				if only == nil || only.UID == nil || *only.UID != "ours" {
					t.Errorf("%s is deleted with preconditions %v", o.GetName(), only)
				}
				if err := w.Delete(ctx, object); err != nil {
					return err
				}
				if err := w.Create(ctx, theirs); err != nil {
					return err
				}
				return w.Delete(ctx, o, options...)
			},
		})
		p := New(Config{Client: cluster, Reader: cluster, Log: slog.New(slog.DiscardHandler)})
		if err := p.remove(t.Context(), gateway); err == nil {
			t.Errorf("%s: no error, so it is not tried again", object.GetName())
		}
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil {
			t.Errorf("%s: %v", object.GetName(), err)
		}
	}
}
