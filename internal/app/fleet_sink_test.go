package app

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/identity"
	"github.com/gatewright/gatewright/internal/infra/render"
	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/store"
)

const systemNamespace = "gatewright-system"

// anyToken reviews every token as that of a ServiceAccount.
type anyToken identity.ServiceAccount

func (a anyToken) Review(context.Context, string, string) (identity.Review, error) {
	return identity.Review{Account: identity.ServiceAccount(a), Pod: "pod"}, nil
}

// admits says for which Gateway a pod of the ServiceAccount is let in, empty for none.
func admits(t *testing.T, fleets *identity.Fleets, account identity.ServiceAccount) string {
	t.Helper()
	verifier := identity.New(identity.Config{
		Reviewer: anyToken(account), Audience: render.TokenAudience, Peers: identity.ServiceAccount{
			Namespace: systemNamespace, Name: "gatewright",
		},
		Fleets: fleets, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	claims := fmt.Sprintf(`{"aud":[%q],"exp":%d}`, render.TokenAudience, time.Now().Add(time.Hour).Unix())
	proof, err := verifier.Authenticate(t.Context(), "e30."+base64.RawURLEncoding.EncodeToString([]byte(claims))+".x")
	if err != nil {
		return ""
	}
	return proof.Group.String()
}

// TestAForgedWorkloadIsNoFleet makes a Deployment with our labels and an owner reference to a Gateway, as every client can in the Gateway's
// namespace, while the proxies of the Gateway are placed in Gatewright's.
func TestAForgedWorkloadIsNoFleet(t *testing.T) {
	t.Parallel()
	sink := newFleetSink(nil, identity.NewFleets(systemNamespace), systemNamespace)
	plane := xdsDelivery{identities: sink.identities}
	name := ir.Name{Namespace: "shop", Name: "edge"}
	placed := ir.Fleet{Name: ir.SystemFleetName(name, "c"), OtherNamespace: systemNamespace, Placed: systemNamespace, UID: "u", Class: "c"}
	forged := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "x", Labels: map[string]string{ir.ManagedByLabel: ir.ManagedBy},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "gateway.networking.k8s.io/v1", Kind: "Gateway", Name: "edge", UID: "u", Controller: new(true),
		}},
	}}
	genuine := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: systemNamespace, Name: placed.Name, Labels: map[string]string{ir.OwnerLabel: "u"}, Annotations: map[string]string{
			ir.OwnerAnnotation: name.String(),
		},
	}}
	sink.runs(store.Deployment, "shop/x", forged)
	plane.Serve(ir.Gateway{Name: name, Fleet: placed})
	sink.runs(store.Deployment, store.Key(systemNamespace, placed.Name), genuine)

	if got := admits(t, sink.identities, identity.ServiceAccount{Namespace: "shop", Name: "x"}); got != "" {
		t.Errorf("a pod of the forged Deployment is let in for %s", got)
	}
	if got := admits(t, sink.identities, identity.ServiceAccount{Namespace: systemNamespace, Name: placed.Name}); got != name.String() {
		t.Errorf("a pod of the Gateway's fleet is let in for %q", got)
	}
}

// TestAFleetIsLetInUntilAnotherPlaceHasReplacedIt moves a fleet between the Gateway's namespace and Gatewright's.
func TestAFleetIsLetInUntilAnotherPlaceHasReplacedIt(t *testing.T) {
	t.Parallel()
	sink := newFleetSink(nil, identity.NewFleets(systemNamespace), systemNamespace)
	plane := xdsDelivery{identities: sink.identities}
	name := ir.Name{Namespace: "shop", Name: "edge"}
	home := ir.Fleet{Name: "edge-c", Placed: "shop", UID: "u", Class: "c"}
	placed := ir.Fleet{Name: ir.SystemFleetName(name, "c"), OtherNamespace: systemNamespace, Placed: systemNamespace, UID: "u", Class: "c"}
	owner := []metav1.OwnerReference{{Kind: "Gateway", Name: "edge", UID: "u", Controller: new(true)}}
	account := identity.ServiceAccount{Namespace: "shop", Name: "edge-c"}

	plane.Serve(ir.Gateway{Name: name, Fleet: home})
	sink.runs(store.Deployment, "shop/edge-c", &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "edge-c", OwnerReferences: owner,
	}})
	plane.Serve(ir.Gateway{Name: name, Fleet: placed})
	if got := admits(t, sink.identities, account); got != name.String() {
		t.Errorf("while it is replaced, the former fleet is let in for %q", got)
	}
	sink.runs(store.DaemonSet, "shop/edge-c", &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "edge-c", OwnerReferences: owner,
	}})
	now := metav1.Now()
	sink.runs(store.Deployment, "shop/edge-c", &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge-c", OwnerReferences: owner, DeletionTimestamp: &now},
	})
	if got := admits(t, sink.identities, account); got != name.String() {
		t.Errorf("while one of its two workloads stays, the former fleet is let in for %q", got)
	}
	sink.runs(store.DaemonSet, "shop/edge-c", nil)
	if got := admits(t, sink.identities, account); got != "" {
		t.Errorf("when it is deleted, the former fleet is let in for %q", got)
	}
}
