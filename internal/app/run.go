package app

import (
	"context"
	"fmt"
	"log/slog"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/gatewright/gatewright/internal/store"
	"github.com/gatewright/gatewright/internal/version"
	"github.com/gatewright/gatewright/internal/watch"
)

// Run runs the control plane until the context is done.
func Run(ctx context.Context, o Options, log *slog.Logger) error {
	redirectLogs(log)
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	build := version.Current()
	prepare(config, build, log)
	measureBuild(metrics.Registry, build)
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
	log.Info(
		"gatewright starts", "version", build.Version, "revision", build.Revision, "goVersion", build.Go, "namespace", o.Namespace,
		"clusterDomain", o.ClusterDomain, "ipFamilies", o.families, "proxyImage", o.ProxyImage,
	)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

// prepare is how all clients of the API server connect, and who they say they are.
func prepare(config *rest.Config, build version.Info, log *slog.Logger) {
	// The API server's own priority and fairness limits clients better than a client can.
	config.QPS = -1
	config.Dial = (&apiConnection{log: log}).dial
	config.UserAgent = build.UserAgent(component)
}

// newScheme knows the kinds that are watched, and those that are only written.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		store.AddToScheme, policyv1.AddToScheme, autoscalingv2.AddToScheme, authenticationv1.AddToScheme, eventsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	return scheme, nil
}
