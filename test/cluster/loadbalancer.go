package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

// loadBalancerDaemon runs this program, copied so that it outlives `go run`.
func loadBalancerDaemon(l layout) (daemon, error) {
	self, err := os.Executable()
	if err != nil {
		return daemon{}, fmt.Errorf("find this program: %w", err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		return daemon{}, fmt.Errorf("read this program: %w", err)
	}
	program := l.path("bin", "gatewright-loadbalancer")
	if err := writeFile(program+".new", string(content)); err != nil {
		return daemon{}, err
	}
	if err := errors.Join(os.Chmod(program+".new", 0o700), os.Rename(program+".new", program)); err != nil {
		return daemon{}, fmt.Errorf("copy this program: %w", err)
	}
	return daemon{
		name: "loadbalancer",
		argv: []string{program, "lb", "--kubeconfig=" + l.kubeconfig("loadbalancer")},
	}, nil
}

func loadBalancerCommand() *cobra.Command {
	var kubeconfig string
	cmd := &cobra.Command{
		Use:    "lb",
		Short:  "Give every Service of type LoadBalancer an address of each of its families, from " + loadBalancers + " and " + loadBalancers6,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := clientcmd.BuildConfigFromFlags("", filepath.Clean(kubeconfig))
			if err != nil {
				return fmt.Errorf("read %s: %w", kubeconfig, err)
			}
			config.QPS = -1
			c, err := kubernetes.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("make a client: %w", err)
			}
			return serveLoadBalancers(cmd.Context(), slog.New(slog.NewTextHandler(os.Stderr, nil)), c)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "the allocator's kubeconfig")
	return cmd
}

// serveLoadBalancers writes an address into the status of each Service; kube-proxy does the rest.
func serveLoadBalancers(ctx context.Context, log *slog.Logger, c kubernetes.Interface) error {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	services := informers.NewSharedInformerFactory(c, 0).Core().V1().Services()
	enqueue := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			queue.Add(key)
		}
	}
	_, err := services.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, object any) { enqueue(object) },
		DeleteFunc: enqueue,
	})
	if err != nil {
		return fmt.Errorf("watch Services: %w", err)
	}
	go services.Informer().Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), services.Informer().HasSynced) {
		return fmt.Errorf("read Services: %w", context.Cause(ctx))
	}
	pools := newAddressPools()
	for _, object := range services.Informer().GetStore().List() {
		if service, ok := object.(*corev1.Service); ok {
			pools.adopt(cache.MetaObjectToName(service).String(), assignedAddresses(service))
		}
	}
	go func() {
		<-ctx.Done()
		queue.ShutDown()
	}()
	log.Info("serving", "ranges", []string{loadBalancers, loadBalancers6})
	for {
		key, stopped := queue.Get()
		if stopped {
			return nil
		}
		addresses, err := assign(ctx, c, services.Informer().GetStore(), pools, key)
		switch {
		case err != nil:
			log.Error("assign address", "service", key, "error", err)
			queue.AddRateLimited(key)
		case len(addresses) > 0:
			log.Info("assigned", "service", key, "addresses", addresses)
			fallthrough
		default:
			queue.Forget(key)
		}
		queue.Done(key)
	}
}

// assign brings one Service up to date and returns the addresses that it newly gave.
func assign(ctx context.Context, c kubernetes.Interface, store cache.Store, pools addressPools, key string) ([]netip.Addr, error) {
	object, found, err := store.GetByKey(key)
	if err != nil {
		return nil, fmt.Errorf("look up: %w", err)
	}
	service, ok := object.(*corev1.Service)
	if !found || !ok || service.Spec.Type != corev1.ServiceTypeLoadBalancer || service.DeletionTimestamp != nil {
		pools.release(key)
		return nil, nil
	}
	addresses, err := pools.allocate(key, service.Spec.LoadBalancerIP, service.Spec.IPFamilies)
	if err != nil || slices.Equal(assignedAddresses(service), addresses) {
		return nil, err
	}
	service = service.DeepCopy()
	service.Status.LoadBalancer.Ingress = nil
	for _, address := range addresses {
		service.Status.LoadBalancer.Ingress = append(service.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: address.String()})
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err = c.CoreV1().Services(service.Namespace).UpdateStatus(ctx, service, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("write the status: %w", err)
	}
	return addresses, nil
}

func assignedAddresses(service *corev1.Service) []netip.Addr {
	var all []netip.Addr
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if address, err := netip.ParseAddr(ingress.IP); err == nil {
			all = append(all, address)
		}
	}
	return all
}
