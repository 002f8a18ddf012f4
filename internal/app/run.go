package app

import (
	"context"
	"fmt"
	"log/slog"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatewright/gatewright/api/v1alpha1"
	"github.com/gatewright/gatewright/internal/watch"
)

// Run runs the control plane until the context is done.
func Run(ctx context.Context, o Options, log *slog.Logger) error {
	redirectLogs(log)
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	// The API server's own priority and fairness limits clients better than a client can.
	config.QPS = -1
	config.Dial = (&apiConnection{log: log}).dial
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	guard := watch.NewGuard(scheme, log, metrics.Registry)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Cache:  watch.CacheOptions(o.scope()),
		NewCache: func(config *rest.Config, options cache.Options) (cache.Cache, error) {
			options.HTTPClient = guard.Client(options.HTTPClient)
			return cache.New(config, options)
		},
		Metrics:                metricsserver.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress: o.HealthAddress,
	})
	if err != nil {
		return fmt.Errorf("set up the manager: %w", err)
	}
	if err := assemble(mgr, o, log); err != nil {
		return err
	}
	log.Info("gatewright starts", "namespace", o.Namespace, "clusterDomain", o.ClusterDomain, "ipFamilies", o.families, "proxyImage", o.ProxyImage)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, autoscalingv2.AddToScheme, authenticationv1.AddToScheme, certificatesv1.AddToScheme, discoveryv1.AddToScheme, eventsv1.AddToScheme, apiextensionsv1.AddToScheme, gwv1.Install,
		gwxv1alpha1.Install, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	return scheme, nil
}
