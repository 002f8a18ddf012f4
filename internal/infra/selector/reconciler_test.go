package selector_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gatewright/gatewright/internal/infra/selector"
	"github.com/gatewright/gatewright/internal/ir"
)

func shop() ir.Selector {
	return ir.Selector{
		Backend: ir.BackendTarget{Kind: ir.KindXBackend, Object: ir.Name{Namespace: "shop", Name: "pods"}},
		UID:     "1", Labels: map[string]string{"app": "shop"}, Ports: []int32{8080},
	}
}

// fixture is a reconciler that leads, and the cluster it writes to.
type fixture struct {
	client.Client
	*selector.ServiceReconciler
	broken atomic.Bool
}

// lead runs a test with a leading reconciler. Time passes when nothing else happens.
func lead(t *testing.T, before []client.Object, test func(t *testing.T, s *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &fixture{}
		s.Client = fake.NewClientBuilder().WithObjects(before...).WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
				if s.broken.Load() {
					return errors.New("the API server is away")
				}
				return c.Create(ctx, object, options...)
			},
		}).Build()
		s.ServiceReconciler = selector.New(selector.Config{Client: s.Client, Reader: s.Client, Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Start(ctx) }()
		test(t, s)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// services are what the cluster has once the reconciler has nothing left to do.
func (s *fixture) services(t *testing.T) []corev1.Service {
	t.Helper()
	synctest.Wait()
	var list corev1.ServiceList
	if err := s.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func (s *fixture) only(t *testing.T) *corev1.Service {
	t.Helper()
	list := s.services(t)
	if len(list) != 1 {
		t.Fatalf("there are %d Services: %+v", len(list), list)
	}
	return &list[0]
}

func TestServiceReconciler(t *testing.T) {
	t.Parallel()
	t.Run("a headless Service is made with a random name, and the XBackend owns it", func(t *testing.T) {
		t.Parallel()
		lead(t, nil, func(t *testing.T, s *fixture) {
			s.Set(shop())
			got := s.only(t)
			if got.Namespace != "shop" || got.Name == "" || got.GenerateName == "" || got.Spec.ClusterIP != corev1.ClusterIPNone ||
				!maps.Equal(got.Spec.Selector, shop().Labels) || got.Spec.Ports[0].TargetPort.IntVal != 8080 ||
				got.OwnerReferences[0].UID != "1" || got.OwnerReferences[0].Name != "pods" {
				t.Errorf("Service: %+v", got)
			}
		})
	})
	t.Run("what is said twice is made once", func(t *testing.T) {
		t.Parallel()
		lead(t, nil, func(t *testing.T, s *fixture) {
			s.Set(shop())
			s.only(t)
			s.Set(shop())
			s.only(t)
		})
	})
	t.Run("another choice changes the Service", func(t *testing.T) {
		t.Parallel()
		lead(t, nil, func(t *testing.T, s *fixture) {
			s.Set(shop())
			name := s.only(t).Name
			other := shop()
			other.Labels, other.Ports = map[string]string{"tier": "web"}, []int32{9090}
			s.Set(other)
			if got := s.only(t); got.Name != name || !maps.Equal(got.Spec.Selector, other.Labels) || got.Spec.Ports[0].Port != 9090 {
				t.Errorf("Service: %+v", got)
			}
		})
	})
	t.Run("it goes when it is not needed", func(t *testing.T) {
		t.Parallel()
		lead(t, nil, func(t *testing.T, s *fixture) {
			s.Set(shop())
			s.only(t)
			s.Release(shop().Backend, "1")
			if left := s.services(t); len(left) != 0 {
				t.Errorf("left: %+v", left)
			}
		})
	})
	t.Run("one that was deleted is made again", func(t *testing.T) {
		t.Parallel()
		lead(t, nil, func(t *testing.T, s *fixture) {
			s.Set(shop())
			gone := s.only(t)
			if err := s.Client.Delete(t.Context(), gone); err != nil {
				t.Fatal(err)
			}
			s.Observed(gone.Namespace, gone.Name, true)
			s.only(t)
		})
	})
	t.Run("a failure is not the end", func(t *testing.T) {
		t.Parallel()
		lead(t, nil, func(t *testing.T, s *fixture) {
			s.broken.Store(true)
			s.Set(shop())
			if made := s.services(t); len(made) != 0 {
				t.Fatalf("made: %+v", made)
			}
			s.broken.Store(false)
			time.Sleep(time.Minute)
			s.only(t)
		})
	})
}

// TestServiceShowsAllEndpoints: what someone sets on a Service does not hide endpoints from proxies. The rest is theirs.
func TestServiceShowsAllEndpoints(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(*corev1.Service){
		"internalTrafficPolicy": func(s *corev1.Service) {
			s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
		},
		"trafficDistribution": func(s *corev1.Service) {
			s.Spec.TrafficDistribution = new(corev1.ServiceTrafficDistributionPreferSameNode)
		},
		"topology mode":        func(s *corev1.Service) { s.Annotations[corev1.AnnotationTopologyMode] = "Auto" },
		"topology aware hints": func(s *corev1.Service) { s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints] = "auto" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lead(t, nil, func(t *testing.T, s *fixture) {
				s.Set(shop())
				service := s.only(t)
				service.Annotations = map[string]string{"example.com/note": "keep"}
				hide(service)
				if err := s.Update(t.Context(), service); err != nil {
					t.Fatal(err)
				}
				s.Observed(service.Namespace, service.Name, false)
				got := s.only(t)
				if policy := got.Spec.InternalTrafficPolicy; policy != nil && *policy != corev1.ServiceInternalTrafficPolicyCluster ||
					got.Spec.TrafficDistribution != nil || !maps.Equal(got.Annotations, map[string]string{"example.com/note": "keep"}) {
					t.Errorf("Service: %+v", got)
				}
				version := got.ResourceVersion
				s.Observed(service.Namespace, service.Name, false)
				if again := s.only(t); again.ResourceVersion != version {
					t.Errorf("it is written again: %+v", again)
				}
			})
		})
	}
}

// TestServiceOfAnInferencePool has a named port for each port of the pool. An XBackend of the same name has its own.
func TestServiceOfAnInferencePool(t *testing.T) {
	t.Parallel()
	lead(t, nil, func(t *testing.T, s *fixture) {
		pool := shop()
		pool.Backend.Kind, pool.Ports = ir.KindInferencePool, []int32{8000, 8001}
		s.Set(pool)
		s.Set(shop())
		list := s.services(t)
		if len(list) != 2 {
			t.Fatalf("there are %d Services", len(list))
		}
		for _, got := range list {
			owner := got.OwnerReferences[0]
			if owner.Kind == "InferencePool" && (owner.APIVersion != "inference.networking.k8s.io/v1" || len(got.Spec.Ports) != 2 ||
				got.Spec.Ports[1].Name != "p8001" || got.Spec.Ports[1].TargetPort.IntVal != 8001) {
				t.Errorf("Service: %+v", got)
			}
		}
		s.Release(pool.Backend, "1")
		if left := s.only(t); left.OwnerReferences[0].Kind != "XBackend" {
			t.Errorf("left: %+v", left)
		}
	})
}

func TestServiceReconcilerAfterAnotherLeader(t *testing.T) {
	t.Parallel()
	made := func(name, uid string) *corev1.Service {
		service := selector.Render(ir.Selector{Backend: shop().Backend, UID: uid, Labels: map[string]string{"app": "shop"}, Ports: []int32{8080}})
		service.Name = name
		return service
	}
	t.Run("what was made before is kept, and once", func(t *testing.T) {
		t.Parallel()
		lead(t, []client.Object{made("a", "1"), made("b", "1")}, func(t *testing.T, s *fixture) {
			s.Set(shop())
			if got := s.only(t); got.Name != "a" {
				t.Errorf("kept: %s", got.Name)
			}
		})
	})
	t.Run("what is no longer needed goes", func(t *testing.T) {
		t.Parallel()
		lead(t, []client.Object{made("a", "1")}, func(t *testing.T, s *fixture) {
			s.Release(shop().Backend, "1")
			if left := s.services(t); len(left) != 0 {
				t.Errorf("left: %+v", left)
			}
		})
	})
	t.Run("what another installation made stays, and is not used", func(t *testing.T) {
		t.Parallel()
		theirs := made("a", "1")
		theirs.Labels[ir.InstallationLabel] = "blue"
		lead(t, []client.Object{theirs}, func(t *testing.T, s *fixture) {
			s.Release(shop().Backend, "1")
			s.only(t)
			s.Set(shop())
			if list := s.services(t); len(list) != 2 {
				t.Errorf("there are %d Services", len(list))
			}
			s.Release(shop().Backend, "1")
			if got := s.only(t); got.Name != "a" {
				t.Errorf("left: %s", got.Name)
			}
		})
	})
	t.Run("what was not mentioned stays", func(t *testing.T) {
		t.Parallel()
		lead(t, []client.Object{made("a", "1")}, func(t *testing.T, s *fixture) { s.only(t) })
	})
	t.Run("what belongs to an XBackend that was there before is the garbage collector's", func(t *testing.T) {
		t.Parallel()
		lead(t, []client.Object{made("a", "0")}, func(t *testing.T, s *fixture) {
			s.Set(shop())
			if list := s.services(t); len(list) != 2 {
				t.Errorf("there are %d Services", len(list))
			}
		})
	})
}
