package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"math/big"
	"net"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/common"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/lwepp/datastore"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/lwepp/handlers"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/lwepp/server"
)

func main() {
	options := server.NewOptions()
	options.AddFlags(pflag.CommandLine)
	_ = pflag.String("zap-encoder", "json", "ignored: logs are in JSON")
	pflag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler(), options); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, options *server.Options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	pool := common.GKNN{
		NamespacedName: types.NamespacedName{Namespace: options.PoolNamespace, Name: options.PoolName},
		GroupKind:      schema.GroupKind{Group: options.PoolGroup, Kind: "InferencePool"},
	}
	metrics := metricsserver.Options{BindAddress: fmt.Sprintf(":%d", options.MetricsPort)}
	mgr, err := server.NewDefaultManager(server.NewControllerConfig(true), pool, config, metrics)
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	runner := &server.ExtProcServerRunner{
		GrpcPort: options.GRPCPort, GrpcHealthPort: options.GRPCHealthPort, GKNN: pool, Datastore: datastore.NewDatastore(ctx),
	}
	if err := runner.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("watch the pool and its pods: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return serve(ctx, runner, options.SecureServing) })); err != nil {
		return fmt.Errorf("add the server: %w", err)
	}
	// Probes are answered before the pool is known.
	go func() {
		if err := runner.HealthServerRunnable(ctrl.Log).Start(ctx); err != nil {
			log.Fatal(err)
		}
	}()
	return mgr.Start(ctx)
}

// serve answers proxies, with a certificate of its own.
func serve(ctx context.Context, runner *server.ExtProcServerRunner, secure bool) error {
	var options []grpc.ServerOption
	if secure {
		certificate, err := selfSigned()
		if err != nil {
			return err
		}
		options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf(":%d", runner.GrpcPort))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s := grpc.NewServer(options...)
	extprocv3.RegisterExternalProcessorServer(s, picker{inner: handlers.NewStreamingServer(runner.Datastore)})
	go func() {
		<-ctx.Done()
		s.GracefulStop()
	}()
	return s.Serve(listener)
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0), DNSNames: []string{"lwepp"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
