package app

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/cobra"
)

// Options are the flags of the control plane.
type Options struct {
	Namespace      string
	ServiceAccount string
	TokenFile      string
	XDSAddress     string
	HealthAddress  string
	MetricsAddress string
	ProxyImage     string
	Image          string
	ClusterDomain  string
	// WatchNamespaces are the namespaces that are watched, none for all.
	WatchNamespaces []string
	LeaderElect     bool
	// Files says that delivery by files is offered.
	Files     bool
	LogLevel  string
	LogFormat string
	// Instance is the name of this replica.
	Instance string
}

// logLevels are all there are. Below debug, client libraries would log whole requests and answers, Secrets and tokens among them.
var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// Command is the command line.
func Command() *cobra.Command {
	o := Options{Namespace: os.Getenv("POD_NAMESPACE")}
	command := &cobra.Command{
		Use:           "gatewright",
		Short:         "The Gatewright control plane: Gateway API objects in, configured Envoy proxies out",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			log, err := o.complete()
			if err != nil {
				return err
			}
			return Run(c.Context(), o, log)
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace that Gatewright runs in (default $POD_NAMESPACE)")
	flags.StringVar(&o.ServiceAccount, "service-account", "gatewright", "ServiceAccount, in that namespace, of every replica of Gatewright")
	flags.StringVar(&o.TokenFile, "token-file", "/var/run/secrets/gatewright.dev/xds/token", "file with the token of that ServiceAccount, by which other replicas know this one")
	flags.StringVar(&o.XDSAddress, "xds-address", ":18000", "address that proxies get their configuration from, over TLS")
	flags.StringVar(&o.HealthAddress, "health-address", ":8081", "address of /healthz and /readyz")
	flags.StringVar(&o.MetricsAddress, "metrics-address", ":8080", "address of /metrics, 0 for none")
	flags.StringVar(&o.ProxyImage, "proxy-image", "docker.io/envoyproxy/envoy:distroless-v1.40.0", "image of the proxies")
	flags.StringVar(&o.Image, "image", "", "image of this program, which each proxy runs to finish before it ends (default: none, proxies only pause)")
	flags.StringVar(&o.ClusterDomain, "cluster-domain", "", "DNS domain of the cluster (default: read from /etc/resolv.conf)")
	flags.StringSliceVar(&o.WatchNamespaces, "watch-namespaces", nil, "namespaces to watch, and to read and write in (default: all)")
	flags.BoolVar(&o.LeaderElect, "leader-elect", true, "let one of several replicas write status and run fleets")
	flags.BoolVar(&o.Files, "files", false, "offer delivery Files, which needs the right to write Secrets and to patch pods in the namespaces of Gateways")
	flags.StringVar(&o.LogLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&o.LogFormat, "log-format", "json", "json or text")
	command.AddCommand(drainCommand(), installCommand())
	return command
}

// placement is the namespace for proxies that are not to run beside their Gateway: Gatewright's own, if it is watched.
func (o *Options) placement() string {
	if len(o.WatchNamespaces) > 0 && !slices.Contains(o.WatchNamespaces, o.Namespace) {
		return ""
	}
	return o.Namespace
}

// complete checks the flags and fills in what can be found out.
func (o *Options) complete() (*slog.Logger, error) {
	if o.Namespace == "" {
		return nil, errors.New("the namespace is not known; set --namespace or the environment variable POD_NAMESPACE")
	}
	o.Instance, _ = os.Hostname() // in a pod, its name
	if o.ClusterDomain == "" {
		o.ClusterDomain = detectClusterDomain(resolvConf)
	}
	level, ok := logLevels[o.LogLevel]
	if !ok {
		return nil, fmt.Errorf("--log-level %q is not debug, info, warn or error", o.LogLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	switch o.LogFormat {
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, options)), nil
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, options)), nil
	default:
		return nil, fmt.Errorf("--log-format %q is not json or text", o.LogFormat)
	}
}
